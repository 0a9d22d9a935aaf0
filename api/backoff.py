"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

__all__ = ["Backoff", "Patience"]

MOST_DOUBLINGS: Final = 64


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
class Patience:
    """Counts attempts. Each one puts off the next."""

    times: int = 0
    until: float = float("-inf")
    """There is no attempt before this time, in monotonic seconds."""

    def put_off(self, now: float, backoff: Backoff) -> None:
        """There was one more attempt."""
        self.times += 1
        self.until = now + backoff.delay(self.times)
