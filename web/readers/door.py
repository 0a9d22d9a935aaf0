"""Finds the reader of a request, by a session or by a token of the API server. No header names a user: anybody could
write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from api.clock import Clock
from kube.client import ApiClient
from kube.errors import ApiError
from kube.identity import User
from web.errors import unauthorized, unavailable
from web.limits import Rate
from web.readers.authority import Authority
from web.readers.codes import Codes
from web.readers.logins import Login, Logins
from web.readers.rights import Granted
from web.readers.sessions import PREFIX, Session, Sessions
from web.wire.session import LogIn

__all__ = ["Door", "Reader", "cluster_door", "laptop_door"]

BEARER: Final = re.compile(r"bearer +(?P<secret>[!-~]+)", re.IGNORECASE)
LOGINS_PER_SECOND: Final = 10
LOG_IN: Final = "log in first"
AGAIN: Final = "the session is over, or of another process: log in again"


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a request."""

    login: Login
    user: User
    session: Session | None
    """None for a token that comes with each request."""


class Door:
    """Lets readers in. One process has one."""

    def __init__(self, clock: Clock, *, recheck_seconds: float, session_seconds: float) -> None:
        self.sessions = Sessions(session_seconds, clock)
        self.authority = Authority(recheck_seconds, clock, self._refused)
        self._attempts = Rate[None]("attempts to log in", LOGINS_PER_SECOND, 1.0, clock)
        self.codes: Codes | None = None
        self.owner: Login | None = None
        """Who printed the codes."""
        self.logins: Logins | None = None
        """None where no token is accepted."""

    async def log_in(self, given: LogIn) -> tuple[str, Session, User]:
        """A new session: its secret, and whose it is. Raises Refused."""
        self._attempts.take(None)
        if given.code and not given.token:
            login = self._by_code(given.code)
        elif given.token and not given.code:
            login = await self._by_token(given.token)
        else:
            raise unauthorized("either a code or a token is needed")
        user = await self.authority.user(login)
        secret, session = self.sessions.begin(login)
        return secret, session, user

    async def reader(self, authorization: Sequence[str]) -> Reader:
        """Whose request has these headers `Authorization`. Raises Refused."""
        found = BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
        if found is None:
            raise unauthorized(LOG_IN)
        secret, session = found["secret"], None
        if secret.startswith(PREFIX):
            session = self.sessions.find(secret)
            if session is None:
                raise unauthorized(AGAIN)
            login = session.login
        else:
            login = await self._by_header(secret)
        return Reader(login, await self.authority.user(login), session)

    async def still(self, reader: Reader, *, early: bool = False) -> None:
        """Returns if the reader is still logged in. `early`: see `Authority.user`. Raises Refused."""
        session = reader.session
        if session is not None and self.sessions.is_over(session):
            raise unauthorized(AGAIN)
        await self.authority.user(reader.login, early=early)

    def known(self, reader: Reader, namespaces: Sequence[str], *, early: bool = False) -> Granted | None:
        """What the reader may list, if that is known; None if the API server has to be asked. `early`: see
        `Authority.user`. Raises Refused."""
        if reader.session is not None and self.sessions.is_over(reader.session):
            raise unauthorized(AGAIN)
        return self.authority.known(reader.login, reader.user, namespaces, early=early)

    def _by_code(self, code: str) -> Login:
        if self.codes is None or self.owner is None or not self.codes.use(code):
            raise unauthorized("the code does not work: each works once, within five minutes")
        return self.owner

    async def _by_header(self, token: str) -> Login:
        """A token in a header is not an attempt each time."""
        known = self.logins.known(token) if self.logins is not None else None
        if known is not None:
            return known
        if self.logins is None:
            raise unauthorized(LOG_IN)
        self._attempts.take(None)
        return await self._by_token(token)

    async def _by_token(self, token: str) -> Login:
        if self.logins is None:
            raise unauthorized("log in with a code: this page takes no tokens")
        login = self.logins.known(token)
        if login is not None:
            return login
        try:
            login = self.logins.new(token)
        except ApiError as error:
            raise unavailable(error.message) from None
        if login is None:
            raise unauthorized("this is no token")
        await self.authority.user(login)
        self.logins.accept(token, login)
        return login

    def _refused(self, login: Login) -> None:
        self.sessions.end_all(login)
        if self.logins is not None:
            self.logins.forget(login)


def laptop_door(
    owner: Login, clock: Clock, *, recheck_seconds: float, session_seconds: float
) -> tuple[Door, Codes]:
    """For whoever runs the command: they log in by a code, and are `owner`."""
    door = Door(clock, recheck_seconds=recheck_seconds, session_seconds=session_seconds)
    door.codes, door.owner = Codes(clock), owner
    return door, door.codes


def cluster_door(client: ApiClient, clock: Clock, *, recheck_seconds: float, session_seconds: float) -> Door:
    """For a process in a cluster: users log in with their tokens."""
    door = Door(clock, recheck_seconds=recheck_seconds, session_seconds=session_seconds)
    door.logins = Logins(client)
    return door
