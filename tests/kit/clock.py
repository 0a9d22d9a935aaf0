"""A clock that a test sets."""

from __future__ import annotations

from api.times import parse_rfc3339

__all__ = ["ManualClock"]

START = parse_rfc3339("2026-01-01T00:00:00Z")


class ManualClock:
    """Both times stand still until `advance`. Wall time begins at 2026-01-01, monotonic time at 1000."""

    def __init__(self) -> None:
        self.now, self.date = 1000.0, START

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
