"""The clock. Code that needs the time gets a clock as an argument, so that tests can set the time."""

from __future__ import annotations

import time
from typing import Final, Protocol

__all__ = ["SYSTEM_CLOCK", "Clock"]


class Clock(Protocol):
    """A clock with two times: one that only moves forward, and the time of day."""

    def monotonic(self) -> float:
        """Seconds since an unspecified moment. Deadlines and delays use it."""

    def wall(self) -> float:
        """Seconds since the epoch. Objects and events carry it. It may jump."""


class _SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()


SYSTEM_CLOCK: Final[Clock] = _SystemClock()
"""The clock of this machine."""
