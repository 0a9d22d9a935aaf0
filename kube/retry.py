"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kube.client import ApiError

__all__ = ["Backoff", "Retry"]

MOST_PATIENT_SECONDS = 60.0
"""The longest wait that a server can ask for. A longer one is cut to this."""
MOST_DOUBLINGS = 64


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays in seconds. The first delay is `first`. Each further failure doubles it, up to `last`.

    Each delay is multiplied by a random factor between 1 - `jitter` and 1 + `jitter`. So clients that failed together
    do not come back together.
    """

    first: float = 0.5
    last: float = 30.0
    jitter: float = 0.5

    def delay(self, failures: int) -> float:
        """Seconds to wait after this many failures in a row. 0 if there was no failure."""
        if failures <= 0:
            return 0.0
        wait = min(self.first * 2.0 ** min(failures - 1, MOST_DOUBLINGS), self.last)
        return wait * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - spreads load, guards nothing


@dataclass(slots=True)
class Retry:
    """Counts the failures of requests in a row, and says how long to wait."""

    backoff: Backoff
    _failures: int = field(default=0)

    @property
    def failures(self) -> int:
        """The number of failures since the last success."""
        return self._failures

    def succeeded(self) -> None:
        """Note a success. The next wait is the first one again."""
        self._failures = 0

    def failed(self, error: ApiError | None = None) -> float:
        """Note a failure. Returns the seconds to wait, at least as long as the server asked (60 s at most)."""
        self._failures += 1
        asked = error.retry_after if error is not None and error.retry_after is not None else 0.0
        return max(self.backoff.delay(self._failures), min(asked, MOST_PATIENT_SECONDS))
