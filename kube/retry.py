"""How long to wait before the next request, after failures of the API server."""

from __future__ import annotations

from dataclasses import dataclass, field

from api.backoff import Backoff
from kube.errors import ApiError

__all__ = ["MOST_PATIENT_SECONDS", "Retry"]

MOST_PATIENT_SECONDS = 60.0
"""The longest wait that a server can ask for. A longer one is cut to this."""


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
