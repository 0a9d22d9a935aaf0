"""Who is logged in."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aiohttp import web

from api.times import rfc3339
from serving.limits import Limits
from web.about import Place, session_answer
from web.answering import Answering
from web.configuration import PageConfiguration
from web.errors import Refused, bad_request, unauthorized
from web.metrics import LOGINS
from web.questions import namespaces_of
from web.readers.door import Door
from web.route import JSON, NAMESPACE, Reading, Route, json_answer
from web.wire.session import LogIn, NewSession, SessionAnswer

__all__ = ["SessionView"]


class SessionView:
    """See `View`."""

    def __init__(
        self, settings: PageConfiguration, door: Door, reading: Reading, answering: Answering, place: Place
    ) -> None:
        self._door, self._reading, self._answering, self._place = door, reading, answering, place
        self._limits = Limits(settings, _refused_body)

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
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
                query=(NAMESPACE,),
            ),
            Route("DELETE", "/session", self.log_out, "Log out", status=HTTPStatus.NO_CONTENT),
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
        return json_answer(NewSession(secret, user.name, rfc3339(session.ends_at)), HTTPStatus.CREATED)

    async def log_out(self, request: web.Request) -> web.StreamResponse:
        """DELETE session."""
        reader = await self._reading(request)
        if reader.session is None:
            raise unauthorized("a token that comes with each request has no session")
        self._door.sessions.end(reader.session)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def session(self, request: web.Request) -> web.StreamResponse:
        """GET session."""
        reader = await self._reading(request)
        granted = await self._answering.granted(reader, namespaces_of(request.query))
        return json_answer(session_answer(reader, granted, self._answering.source, self._place))


def _refused_body(status: int, message: str) -> web.Response:
    """The answer for a body that is not read. `serving.limits` raises nothing."""
    found = HTTPStatus(status)
    raise Refused(found, found.phrase.replace(" ", ""), message)
