"""An address of the API, and what its handlers share."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from aiohttp import web

from web.readers.door import Reader

__all__ = ["JSON", "NAMESPACE", "PREFIX", "Handler", "Reading", "Route", "View", "json_answer", "json_text"]

PREFIX: Final = "/api/v1"
JSON: Final = "application/json"
NAMESPACE: Final = "namespace"
"""The parameter that names namespaces."""
VARIABLE: Final = re.compile(r"{(\w+)}")
"""A part of a path that the caller chooses."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Reading = Callable[[web.Request], Awaitable[Reader]]
"""The reader of a request. It counts the request. Raises Refused."""


class Route(NamedTuple):
    """An address of the API."""

    method: str
    path: str
    """Below PREFIX, as aiohttp writes it."""
    handler: Handler
    summary: str
    answer: type[msgspec.Struct] | None = None
    """What the JSON of an answer is; None if there is none."""
    status: HTTPStatus = HTTPStatus.OK
    query: tuple[str, ...] = ()
    """The parameters of the address."""
    body: type[msgspec.Struct] | None = None
    text_body: str = ""
    """The media type of a body that is no JSON of ours; empty if there is none."""
    media_type: str = JSON
    event: type[msgspec.Struct] | None = None
    """What the data of an event has, if there are events with data of their own."""
    is_open: bool = False
    """Whether it needs no login."""

    @property
    def pattern(self) -> str:
        """The path for aiohttp, whose `{name}` alone matches no name with braces."""
        return VARIABLE.sub(r"{\1:[^/]+}", self.path)

    @property
    def variables(self) -> list[str]:
        """The names of those parts of the path."""
        found: list[str] = VARIABLE.findall(self.path)
        return found


class View(Protocol):
    """Addresses that belong together."""

    def table(self) -> tuple[Route, ...]:
        """All of them. It may be called on an object that was not initialized, for a description."""


def json_answer(value: msgspec.Struct | dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """The value as JSON."""
    return json_text(msgspec.json.encode(value), status)


def json_text(body: bytes, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """JSON that is encoded already."""
    return web.Response(body=body, status=status, content_type=JSON)
