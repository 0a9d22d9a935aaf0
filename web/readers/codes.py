"""Codes by which somebody at this computer logs in. Each works once, and not for long."""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from typing import Final

from api.clock import Clock
from web.readers.digests import SECRET_BYTES, Digests

__all__ = ["CODE_SECONDS", "Codes"]

CODE_SECONDS: Final = 300.0
MOST: Final = 16
"""Codes that work at the same time. The oldest ones give way."""


class Codes:
    """The codes of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._digests = clock, Digests()
        self._known: deque[tuple[bytes, float]] = deque(maxlen=MOST)
        """The digest of a code, and when it ends, in monotonic seconds."""

    def new(self) -> str:
        """A code of 128 random bits."""
        code = secrets.token_urlsafe(SECRET_BYTES)
        self._known.append((self._digests.of(code), self._clock.monotonic() + CODE_SECONDS))
        return code

    def use(self, code: str) -> bool:
        """Whether the code works. It does not work again."""
        given, now, found = self._digests.of(code), self._clock.monotonic(), None
        for each in self._known:
            if hmac.compare_digest(each[0], given):
                found = each
        if found is None:
            return False
        self._known.remove(found)
        return now < found[1]
