"""The addresses of the page, and what each answers. `web.openapi` describes the same table."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from aiohttp import web

from api.times import rfc3339
from serving.limits import Limits
from web.about import Place, session_answer
from web.answering import Answering
from web.configuration import PageConfiguration
from web.errors import Refused, bad_request, unauthorized
from web.metrics import LOGINS
from web.questions import namespaces_of, object_of, search_of, topics_of
from web.readers.door import Door, Reader
from web.streams import Streams
from web.wire import Answer, Found, LogIn, NewSession, SessionAnswer, Waiting

__all__ = ["PREFIX", "Route", "Routes"]

PREFIX: Final = "/api/v1"
JSON: Final = "application/json"
VARIABLE: Final = re.compile(r"{(\w+)}")
"""A part of a path that the caller chooses."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
    media_type: str = JSON
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


class Routes:
    """The handlers."""

    def __init__(
        self,
        settings: PageConfiguration,
        door: Door,
        answering: Answering,
        streams: Streams,
        place: Place,
        users: Callable[[Reader], None],
    ) -> None:
        """`users` counts a request of a reader. It raises Refused."""
        self._door, self._answering, self._streams = door, answering, streams
        self._place, self._count = place, users
        self._limits = Limits(settings, _refused_body)

    @classmethod
    def described(cls) -> tuple[Route, ...]:
        """All of them, for a description. Their handlers cannot be called."""
        return cls.__new__(cls).table()

    def table(self) -> tuple[Route, ...]:
        """All of them."""
        namespace = ("namespace",)
        return (
            Route(
                "POST",
                "/session",
                self.log_in,
                "Log in with a code or with a token of the API server",
                NewSession,
                HTTPStatus.CREATED,
                body=LogIn,
                is_open=True,
            ),
            Route(
                "GET",
                "/session",
                self.session,
                "Who is logged in, and what they see",
                SessionAnswer,
                query=namespace,
            ),
            Route("DELETE", "/session", self.log_out, "Log out", status=HTTPStatus.NO_CONTENT),
            Route("GET", "/waiting", self.waiting, "What waits", Waiting, query=namespace),
            Route(
                "GET",
                "/why/{kind}/{namespace}/{name}",
                self.why,
                "Why an object waits: what `reprieve why -o json` prints",
                Answer,
                query=namespace,
            ),
            Route(
                "GET",
                "/search",
                self.search,
                "What waits, by a part of its name",
                Found,
                query=("q", *namespace),
            ),
            Route(
                "GET",
                "/events",
                self.events,
                "Server-sent events: each names a version, and what it is about has changed",
                query=("topics", *namespace),
                media_type="text/event-stream",
            ),
        )

    async def log_in(self, request: web.Request) -> web.StreamResponse:
        """POST session."""
        if request.content_type != JSON:
            raise Refused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", f"the body must be {JSON}"
            )
        body = await self._limits.body(request)
        if isinstance(body, web.Response):
            return body
        try:
            given = msgspec.json.decode(body, type=LogIn)
        except msgspec.DecodeError:
            # What the decoder says of the body could have the secret.
            raise bad_request('the body must be {"code": "..."} or {"token": "..."}') from None
        try:
            secret, session, user = await self._door.log_in(given)
        except Refused:
            LOGINS.labels("refused").inc()
            raise
        LOGINS.labels("accepted").inc()
        return _json(NewSession(secret, user.name, rfc3339(session.ends_at)), HTTPStatus.CREATED)

    async def log_out(self, request: web.Request) -> web.StreamResponse:
        """DELETE session."""
        reader = await self._reader(request)
        if reader.session is None:
            raise unauthorized("a token that comes with each request has no session")
        self._door.sessions.end(reader.session)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def session(self, request: web.Request) -> web.StreamResponse:
        """GET session."""
        reader = await self._reader(request)
        granted = await self._answering.granted(reader, namespaces_of(request.query))
        return _json(session_answer(reader, granted, self._answering.source, self._place))

    async def waiting(self, request: web.Request) -> web.StreamResponse:
        """GET waiting."""
        reader = await self._reader(request)
        return _json(await self._answering.waiting(reader, namespaces_of(request.query)))

    async def why(self, request: web.Request) -> web.StreamResponse:
        """GET why."""
        reader, asked = await self._reader(request), request.match_info
        about = object_of(
            asked["kind"], asked["namespace"], asked["name"], is_live=self._answering.source.is_live
        )
        return _json_text(await self._answering.why(reader, namespaces_of(request.query), *about))

    async def search(self, request: web.Request) -> web.StreamResponse:
        """GET search."""
        reader = await self._reader(request)
        text, namespaces = search_of(request.query), namespaces_of(request.query)
        return _json(await self._answering.search(reader, namespaces, text))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """GET events."""
        reader = await self._reader(request)
        topics, namespaces = topics_of(request.query), namespaces_of(request.query)
        return await self._streams.serve(request, reader, topics, namespaces)

    async def _reader(self, request: web.Request) -> Reader:
        reader = await self._door.reader(request.headers.getall("Authorization", ()))
        self._count(reader)
        return reader


def _json(value: msgspec.Struct | dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return _json_text(msgspec.json.encode(value), status)


def _json_text(body: bytes, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(body=body, status=status, content_type=JSON)


def _refused_body(status: int, message: str) -> web.Response:
    """The answer for a body that is not read. `serving.limits` raises nothing."""
    found = HTTPStatus(status)
    raise Refused(found, found.phrase.replace(" ", ""), message)
