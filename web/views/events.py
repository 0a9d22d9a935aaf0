"""Streams of events."""

from __future__ import annotations

from aiohttp import web

from web.questions import RESOURCE, TOPOLOGY_KEY, namespaces_of, topics_of
from web.route import NAMESPACE, Reading, Route
from web.streams import Streams
from web.wire.frames import Frame

__all__ = ["EventsView"]


class EventsView:
    """See `View`."""

    def __init__(self, reading: Reading, streams: Streams) -> None:
        self._reading, self._streams = reading, streams

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/events",
                self.events,
                "Server-sent events: each names a version, and what it is about has changed",
                query=("topics", NAMESPACE, TOPOLOGY_KEY, RESOURCE),
                media_type="text/event-stream",
                event=Frame,
            ),
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """GET events."""
        reader = await self._reading(request)
        topics, namespaces = topics_of(request.query), namespaces_of(request.query)
        return await self._streams.serve(request, reader, topics, namespaces)
