"""Who is logged in. Sessions are in memory alone, and each belongs to one login."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import Final

from api.clock import Clock
from web.readers.digests import SECRET_BYTES, Digests
from web.readers.logins import Login

__all__ = ["PREFIX", "Session", "Sessions"]

PREFIX: Final = "reprieve-"
"""How the secret of a session begins. So it is never taken for a token, which the API server would get."""
MOST_OF_LOGIN: Final = 32
MOST: Final = 4096
"""Sessions. The oldest ones give way."""


@dataclass(eq=False, slots=True)
class Session:
    """A browser that is logged in."""

    login: Login
    end: float
    """In monotonic seconds."""
    ends_at: float
    """The same in seconds since the epoch."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody logs out, and when the token is refused."""


class Sessions:
    """The sessions of a process."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        """`seconds`: how long a session lasts at most."""
        self._seconds, self._clock, self._digests = seconds, clock, Digests()
        self._known: dict[bytes, Session] = {}
        """By the digest of the secret, the oldest first."""

    def begin(self, login: Login) -> tuple[str, Session]:
        """A new session, and its secret of 128 random bits."""
        self._forget()
        own = [digest for digest, each in self._known.items() if each.login is login]
        for digest in own[: max(0, len(own) + 1 - MOST_OF_LOGIN)]:
            self._end(digest)
        if len(self._known) >= MOST:
            self._end(next(iter(self._known)))
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        now, wall = self._clock.monotonic(), self._clock.wall()
        session = Session(login, now + self._seconds, wall + self._seconds)
        self._known[self._digests.of(secret)] = session
        return secret, session

    def find(self, secret: str) -> Session | None:
        """The session of this secret; None if it is not known, or over."""
        session = self._known.get(self._digests.of(secret))
        return session if session is not None and not self.is_over(session) else None

    def is_over(self, session: Session) -> bool:
        """Whether somebody has logged out, the token was refused, or its time has passed."""
        return session.over.is_set() or self._clock.monotonic() >= session.end

    def end(self, session: Session) -> None:
        """Somebody logs out."""
        for digest in [digest for digest, each in self._known.items() if each is session]:
            self._end(digest)

    def end_all(self, login: Login) -> None:
        """The token of the login is not valid any longer."""
        for digest in [digest for digest, each in self._known.items() if each.login is login]:
            self._end(digest)

    def _end(self, digest: bytes) -> None:
        self._known.pop(digest).over.set()

    def _forget(self) -> None:
        now = self._clock.monotonic()
        for digest in [digest for digest, each in self._known.items() if each.end <= now]:
            self._end(digest)
