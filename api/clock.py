"""The clock: everything that looks at the time is given one, so that tests can set it."""

from __future__ import annotations

import time
from typing import Final, Protocol

__all__ = ["SYSTEM_CLOCK", "Clock"]


class Clock(Protocol):
    """Two times: one that only moves forward, and the one that people agree on."""

    def monotonic(self) -> float:
        """Seconds since some moment. Deadlines and delays are counted with it."""

    def wall(self) -> float:
        """Seconds since the epoch. Objects and events carry it; it may jump."""


class _SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()


SYSTEM_CLOCK: Final[Clock] = _SystemClock()
"""This machine's clock."""
