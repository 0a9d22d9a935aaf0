"""A clock that only a test moves."""

from __future__ import annotations

from typing import Final

from api.times import parse_rfc3339

__all__ = ["PATIENCE_SECONDS", "ManualClock"]

PATIENCE_SECONDS: Final = 120.0
"""How long a test waits for what must come: what takes longer on a busy machine hangs."""

START: Final = parse_rfc3339("2026-01-01T00:00:00Z")
"""Wall time of a new clock."""


class ManualClock:
    """An `api.clock.Clock`: both times stand still until `advance`. Monotonic time starts at 1000, not at zero."""

    def __init__(self, *, monotonic: float = 1000.0, wall: float = START) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return self._monotonic

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for a negative duration: monotonic time never goes back."""
        if seconds < 0:
            raise ValueError(f"{seconds} s would go back in time")
        self._monotonic += seconds
        self._wall += seconds

    def set_wall(self, wall: float) -> None:
        """Correct the wall clock, as an NTP step does; monotonic time stays."""
        self._wall = wall
