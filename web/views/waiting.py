"""What waits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

from answers.waiting import waiting
from api.clock import Clock
from api.times import rfc3339_micro
from web.answering import Answering
from web.questions import namespaces_of
from web.readers.door import Reader
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.shared import Shared
from web.sources.source import Seen
from web.versions import version_for
from web.wire.waiting import Waiting

__all__ = ["WaitingView"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which list of what waits. Equal ones are made once."""

    version: str
    trouble: str
    granted: Granted
    namespaces: tuple[str, ...]


class WaitingView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._lists = Shared[Asked, dict[str, Any]](executor, clock)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (Route("GET", "/waiting", self.waiting, "What waits", Waiting, query=(NAMESPACE,)),)

    async def waiting(self, request: web.Request) -> web.StreamResponse:
        """GET waiting: all that waits, of the named namespaces if there are any. Raises Refused."""
        reader = await self._reading(request)
        return json_answer(await self._waiting(reader, namespaces_of(request.query)))

    async def _waiting(self, reader: Reader, namespaces: tuple[str, ...]) -> dict[str, Any]:
        source = self._answering.source

        async def made(granted: Granted) -> dict[str, Any]:
            self._answering.check_ready()
            asked = Asked(source.version, source.trouble, granted, namespaces)
            return await self._lists.get(asked, self._list_of(asked))

        return await self._answering.with_rights(reader, namespaces, made)

    def _list_of(self, asked: Asked) -> Callable[[], dict[str, Any]]:
        """Makes the list, of what is there now."""
        source = self._answering.source
        return partial(_waiting, source.picture(), source.now(), asked)


def _waiting(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = waiting(seen.at(moment), seen.details, asked.granted, asked.namespaces or None)
    return {
        "version": version_for(asked.version, asked.granted),
        "moment": rfc3339_micro(moment / 1e6),
        "trouble": asked.trouble,
        **found.plain(),
    }
