"""The map of nodes, and one node of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
from aiohttp import hdrs, web

from answers.map.panel import node_of
from answers.map.whole import map_of
from answers.names import right
from api.clock import Clock
from web.answering import Answering
from web.errors import forbidden, not_found
from web.lists import Asked
from web.questions import RESOURCE, TOPOLOGY_KEY, choice_of, name_of, namespaces_of
from web.readers.door import Reader
from web.readers.rights import Granted
from web.route import JSON, NAMESPACE, Reading, Route, json_answer
from web.shared import Shared
from web.sources.source import Seen
from web.wire.map import Map, NodeRoom

__all__ = ["MapView"]

KEPT: Final = 8
"""Maps that are kept for others who may see the same: one of a large cluster has hundreds of kilobytes."""
LEVEL: Final = 4
"""Of gzip. It takes a third of the time of the usual one."""


@dataclass(frozen=True, slots=True)
class MapAsked(Asked):
    """Which map. Equal ones are made once."""

    topology_key: str
    resource: str


class MapView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._maps = Shared[MapAsked, bytes](executor, clock, KEPT)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/map",
                self.map,
                "The nodes, and who holds their room",
                Map,
                query=(NAMESPACE, TOPOLOGY_KEY, RESOURCE),
            ),
            Route("GET", "/nodes/{name}", self.node, "One node", NodeRoom, query=(NAMESPACE,)),
        )

    async def map(self, request: web.Request) -> web.StreamResponse:
        """GET map. Raises Refused."""
        reader, query = await self._reading(request), request.query
        namespaces, source = namespaces_of(query), self._answering.source
        key, resource = choice_of(query, TOPOLOGY_KEY), choice_of(query, RESOURCE)

        async def made(granted: Granted) -> bytes:
            self._check(granted)
            asked = MapAsked(source.version, source.trouble, granted, namespaces, key, resource)
            return await self._answering.listed(reader, self._maps, asked, self._map_of(asked))

        packed = await self._answering.with_rights(reader, namespaces, made)
        return _unpacked(packed, request)

    async def node(self, request: web.Request) -> web.StreamResponse:
        """GET nodes. Raises Refused."""
        reader = await self._reading(request)
        is_live = self._answering.source.is_live
        name = name_of("", request.match_info["name"], is_live=is_live)
        namespaces = namespaces_of(request.query)
        return json_answer(await self._node(reader, name, namespaces))

    async def _node(self, reader: Reader, name: str, namespaces: tuple[str, ...]) -> dict[str, Any]:
        source = self._answering.source

        async def made(granted: Granted) -> dict[str, Any]:
            self._check(granted)
            asked = Asked.of(source, granted, namespaces)
            make = partial(_node, source.picture(), source.now(), asked, name)
            found = await self._answering.run(make)
            if found is None:
                raise not_found(f"there is no node {name}")
            return found

        return await self._answering.with_rights(reader, namespaces, made)

    def _check(self, granted: Granted) -> None:
        """Raises Refused."""
        if not granted.lists("nodes"):
            raise forbidden(right("nodes"))
        self._answering.check_ready()

    def _map_of(self, asked: MapAsked) -> Callable[[], bytes]:
        """Makes the map, of what is there now."""
        source = self._answering.source
        return partial(_map, source.picture(), source.now(), asked)


def _map(seen: Seen, moment: int, asked: MapAsked) -> bytes:
    """Packed by gzip, once for all who get it."""
    found = map_of(
        seen.at(moment), asked.granted, asked.namespaces or None, asked.topology_key, asked.resource
    )
    return gzip.compress(msgspec.json.encode({**asked.head(moment), **found.plain()}), LEVEL)


def _node(seen: Seen, moment: int, asked: Asked, name: str) -> dict[str, Any] | None:
    found = node_of(seen.at(moment), seen.details, asked.granted, name, asked.namespaces or None)
    return {**asked.head(moment), **found.plain()} if found is not None else None


def _unpacked(packed: bytes, request: web.Request) -> web.Response:
    """As it is for a browser, and plain for who takes nothing packed."""
    headers: dict[str, str] = {hdrs.VARY: hdrs.ACCEPT_ENCODING}
    if "gzip" not in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
        return web.Response(body=gzip.decompress(packed), content_type=JSON, headers=headers)
    headers[hdrs.CONTENT_ENCODING] = "gzip"
    return web.Response(body=packed, content_type=JSON, headers=headers)
