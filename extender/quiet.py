"""Work that no scheduler waits for. It is done while no call comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from api.clock import Clock
from extender.metrics import CALLS_UNHEARD

__all__ = ["IDLE_SECONDS", "LIMIT_SECONDS", "MOST_BYTES", "QuietMoments", "Timer"]

IDLE_SECONDS: Final = 0.05
"""A scheduler that has not called for this long is busy with something else."""
LIMIT_SECONDS: Final = 1.0
"""How long work waits for such a moment."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of the calls that wait: the oldest ones are not heard."""


Timer = Callable[[float, Callable[[], None]], object]
"""Calls a function later: the seconds, the function."""


class _Work(NamedTuple):
    since: float
    size: int
    do: Callable[[], None]


class QuietMoments:
    """One piece of work for each key, the oldest first. Of each key the newest piece counts.

    A piece is done once no call has come for IDLE_SECONDS, or once it has waited for LIMIT_SECONDS. Between two pieces
    the loop answers calls.
    """

    def __init__(self, clock: Clock, timer: Timer | None = None) -> None:
        self._clock, self._timer = clock, timer or _call_later
        self._waiting: dict[str, _Work] = {}
        self._bytes = 0
        self._called = float("-inf")
        self._is_set = False

    def called(self) -> None:
        """A call has been answered."""
        self._called = self._clock.monotonic()

    def put(self, key: str, size: int, do: Callable[[], None]) -> None:
        """Do this later. `size`: how many bytes it keeps until then."""
        old = self._waiting.get(key)
        since = self._clock.monotonic() if old is None else old.since
        self._bytes += size - (0 if old is None else old.size)
        self._waiting[key] = _Work(since, size, do)
        while self._bytes > MOST_BYTES and len(self._waiting) > 1:
            self._take()
            CALLS_UNHEARD.inc()
        if not self._is_set:
            self._set(IDLE_SECONDS)

    def _take(self) -> _Work:
        work = self._waiting.pop(next(iter(self._waiting)))
        self._bytes -= work.size
        return work

    def _set(self, seconds: float) -> None:
        self._is_set = True
        self._timer(seconds, self._look)

    def _look(self) -> None:
        """Do the oldest piece if its time has come."""
        self._is_set = False
        if not self._waiting:
            return
        now, oldest = self._clock.monotonic(), next(iter(self._waiting.values()))
        wait = min(self._called + IDLE_SECONDS, oldest.since + LIMIT_SECONDS) - now
        if wait <= 0:
            self._take().do()
        if self._waiting:
            self._set(max(wait, 0.0))


def _call_later(seconds: float, what: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, what)
