"""How often something was tried in vain, and when it may be tried again."""

from __future__ import annotations

from dataclasses import dataclass

from kube.retry import Backoff

__all__ = ["Patience"]


@dataclass(slots=True)
class Patience:
    """Counts attempts. Each one puts off the next."""

    times: int = 0
    until: float = float("-inf")
    """There is no attempt before this time, in monotonic seconds."""

    def put_off(self, now: float, backoff: Backoff) -> None:
        """There was one more attempt."""
        self.times += 1
        self.until = now + backoff.delay(self.times)
