"""Evictions in time, and who evicted one object."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from aiohttp import web

from answers.names import right
from answers.scheduler_marks import Mark
from answers.stored.gone import who_evicted
from answers.stored.history import history
from api.clock import Clock
from web.answering import Answering
from web.errors import forbidden
from web.lists import Asked, Lists
from web.questions import names_of, namespaces_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.sources.source import Seen
from web.wire.history import EvictedBy, Evictions

__all__ = ["HistoryView"]


class HistoryView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._lists = Lists(answering, executor, clock, _evictions)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/evictions",
                self.evictions,
                "The evictions of stored plans in time",
                Evictions,
                query=(NAMESPACE,),
            ),
            Route(
                "GET",
                "/who-evicted/{namespace}/{name}",
                self.who_evicted,
                "Who evicted an object: what `reprieve who-evicted -o json` prints",
                EvictedBy,
                query=(NAMESPACE,),
            ),
        )

    async def evictions(self, request: web.Request) -> web.StreamResponse:
        """GET evictions: by plans of the named namespaces if there are any. Raises Refused."""
        reader = await self._reading(request)
        return json_answer(await self._lists.answer(reader, namespaces_of(request.query)))

    async def who_evicted(self, request: web.Request) -> web.StreamResponse:
        """GET who-evicted. Raises Refused: for a missing right before anybody looks for evictions."""
        reader, asked = await self._reading(request), request.match_info
        source = self._answering.source
        namespace, name = names_of(asked["namespace"], asked["name"], is_live=source.is_live)

        async def made(granted: Granted) -> dict[str, Any]:
            if not _may_name(granted, namespace):
                raise forbidden(right("pods", namespace))
            self._answering.check_ready()
            with self._answering.question(reader):
                marks = await source.marks(namespace, name, granted, reader.login.get)
                make = partial(_who_evicted, source.picture(), namespace, name, marks, granted)
                return await self._answering.run(make)

        namespaces = {*namespaces_of(request.query), namespace}
        return json_answer(await self._answering.with_rights(reader, namespaces, made))


def _may_name(granted: Granted, namespace: str) -> bool:
    """Whether the reader may know names of victims of this namespace."""
    own = granted.lists("pods", namespace) or granted.lists("workloads", namespace)
    return own or granted.lists("clusterpreemptionplans")


def _evictions(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = history(seen.plans, asked.granted, asked.namespaces or None)
    return {**asked.head(moment), **found.plain()}


def _who_evicted(
    seen: Seen, namespace: str, name: str, marks: Sequence[Mark], granted: Granted
) -> dict[str, Any]:
    return who_evicted(seen.plans, namespace, name, marks, granted).plain()
