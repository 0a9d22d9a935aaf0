"""When a gang that could not be placed is planned again."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays of `first` seconds, doubling to `last`."""

    first: float
    last: float

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        return min(self.last, self.first * 2.0 ** min(failures - 1, 32)) if failures else 0.0
