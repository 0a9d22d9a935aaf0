"""How much one user may ask for, and all of them together. Pure, but for the clock."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from api.clock import Clock
from web.errors import too_many

__all__ = ["AtOnce", "Rate"]

K = TypeVar("K", bound=Hashable)

FORGET_ABOVE: Final = 1024
"""Keys. From this number on, those that have not asked for a while are forgotten now and then."""


class Rate(Generic[K]):
    """At most `count` requests in `seconds` for each key, in the long run. Who was quiet may send `count` at once."""

    def __init__(self, what: str, count: int, seconds: float, clock: Clock) -> None:
        self._what, self._clock = what, clock
        self._gap, self._seconds = seconds / count, seconds
        self._paid_until: dict[K, float] = {}
        """By key: when nothing of its requests counts any longer, in monotonic seconds."""
        self._forget_at = FORGET_ABOVE

    def take(self, key: K) -> None:
        """Count a request. Raises Refused if it is one too many."""
        now = self._clock.monotonic()
        if len(self._paid_until) >= self._forget_at:
            self._paid_until = {each: until for each, until in self._paid_until.items() if until > now}
            self._forget_at = max(FORGET_ABOVE, 2 * len(self._paid_until))
        until = max(self._paid_until.get(key, now), now) + self._gap
        if (over := until - now - self._seconds) > 1e-9:
            raise too_many(f"too many {self._what}", over)
        self._paid_until[key] = until


class AtOnce(Generic[K]):
    """At most `most` at once for each key."""

    def __init__(self, what: str, most: int, after: float) -> None:
        """`after`: in how many seconds to ask again."""
        self._what, self._most, self._after = what, most, after
        self._held: dict[K, int] = {}

    @contextmanager
    def hold(self, key: K) -> Iterator[None]:
        """Have one until the end of the block. Raises Refused if there are too many."""
        if self._held.get(key, 0) >= self._most:
            raise too_many(f"too many {self._what} at once", self._after)
        self._held[key] = self._held.get(key, 0) + 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]
