"""How long to wait before something is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kube.client import ApiError

__all__ = ["Backoff", "Retry"]

MOST_PATIENT_SECONDS = 60.0
"""A server that asks for more than this is asked again after this."""
MOST_DOUBLINGS = 64


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds: the first delay, doubled with each further failure up to the last one.

    Each delay is multiplied by a random factor between 1 - `jitter` and 1 + `jitter`, so that many who failed together
    do not come back together.
    """

    first: float = 0.5
    last: float = 30.0
    jitter: float = 0.5

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        wait = min(self.first * 2.0 ** min(failures - 1, MOST_DOUBLINGS), self.last)
        return wait * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - spreads load, guards nothing


@dataclass(slots=True)
class Retry:
    """One run of failures of requests."""

    backoff: Backoff
    _failures: int = field(default=0)

    @property
    def failures(self) -> int:
        """Since the last success."""
        return self._failures

    def succeeded(self) -> None:
        """The next wait is the first one again."""
        self._failures = 0

    def failed(self, error: ApiError | None = None) -> float:
        """Seconds to wait now; not less than the server asked for."""
        self._failures += 1
        asked = error.retry_after if error is not None and error.retry_after is not None else 0.0
        return max(self.backoff.delay(self._failures), min(asked, MOST_PATIENT_SECONDS))
