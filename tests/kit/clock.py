"""A clock that a test sets."""

from __future__ import annotations

from api.times import parse_rfc3339

__all__ = ["ManualClock"]

START = parse_rfc3339("2026-01-01T00:00:00Z")


class ManualClock:
    """Both times stand still until `advance`, or until they are set. Monotonic time begins at 1000."""

    def __init__(self, date: float = START) -> None:
        """`date`: the wall time in seconds since the epoch; by default the beginning of 2026."""
        self.now, self.date = 1000.0, date

    def monotonic(self) -> float:
        """See `Clock`."""
        return self.now

    def wall(self) -> float:
        """See `Clock`."""
        return self.date

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.now += seconds
        self.date += seconds
