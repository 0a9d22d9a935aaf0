"""What waits."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from aiohttp import web

from answers.waiting import waiting
from api.clock import Clock
from web.answering import Answering
from web.lists import Asked, Lists
from web.questions import namespaces_of
from web.route import NAMESPACE, Reading, Route, json_answer
from web.sources.source import Seen
from web.wire.waiting import Waiting

__all__ = ["WaitingView"]


class WaitingView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._lists = reading, Lists(answering, executor, clock, _waiting)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (Route("GET", "/waiting", self.waiting, "What waits", Waiting, query=(NAMESPACE,)),)

    async def waiting(self, request: web.Request) -> web.StreamResponse:
        """GET waiting: all that waits, of the named namespaces if there are any. Raises Refused."""
        reader = await self._reading(request)
        return json_answer(await self._lists.answer(reader, namespaces_of(request.query)))


def _waiting(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = waiting(seen.at(moment), seen.details, asked.granted, asked.namespaces or None)
    return {**asked.head(moment), **found.plain()}
