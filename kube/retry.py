"""How long to wait before the API server is asked again."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kube.client import ApiError

__all__ = ["Backoff", "Retry"]

MOST_PATIENT_SECONDS = 60.0
"""A server that asks for more than this is asked again after this."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds: the first wait, doubled each time up to the last; each is multiplied by 0.5 to 1.5 at random."""

    first: float = 0.5
    last: float = 30.0


@dataclass(slots=True)
class Retry:
    """One run of failures."""

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
        wait = min(self.backoff.first * 2.0 ** min(self._failures, 32), self.backoff.last)
        self._failures += 1
        wait *= random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, guards nothing
        asked = error.retry_after if error is not None and error.retry_after is not None else 0.0
        return max(wait, min(asked, MOST_PATIENT_SECONDS))
