"""Objects by a part of their name."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from answers.search import Searched, search
from nodes.answers.pod_names import PodNames
from web.answering import Answering
from web.questions import MOST_FOUND, namespaces_of, search_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.wire.search import Found, FoundObject

__all__ = ["SearchView"]


class SearchView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering) -> None:
        self._reading, self._answering, self._pod_names = reading, answering, PodNames()

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/search",
                self.search,
                "Objects that have a view, by a part of their name",
                Found,
                query=("q", NAMESPACE),
            ),
        )

    async def search(self, request: web.Request) -> web.StreamResponse:
        """GET search: objects with the text in their name or their namespace. Raises Refused."""
        reader = await self._reading(request)
        text, namespaces = search_of(request.query), namespaces_of(request.query)

        async def made(granted: Granted) -> Found:
            self._answering.check_ready()
            seen = self._answering.source.picture()
            where = Searched(seen.picture, seen.details, seen.plans, self._pod_names)
            found, more = await self._answering.run(
                partial(search, where, text, granted, namespaces or None, MOST_FOUND)
            )
            return Found([FoundObject(each.kind, each.namespace, each.name) for each in found], more)

        return json_answer(await self._answering.with_rights(reader, namespaces, made))
