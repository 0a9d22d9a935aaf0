"""How long a cluster that fails, but does not refuse, is tried: a webhook there that never answers must not hold a
Workload for ever."""

from __future__ import annotations

from typing import Final

from api.clock import Clock
from controllers.multikueue.life.seen import Seen

__all__ = ["PATIENCE_SECONDS", "Patience"]

PATIENCE_SECONDS: Final = 60.0
"""For how long the same attempt of a Workload may fail in a cluster. Tries come at least every 45 s."""


class Patience:
    """Since when acts fail, in one term."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: dict[tuple[str, str], tuple[str, float, float]] = {}
        """By key of the Workload and cluster: the attempt, and the first and the last failure in a row, in monotonic
        seconds."""

    def is_over(self, seen: Seen, cluster: str) -> bool:
        """Note a failure. Returns whether the cluster has failed for long enough."""
        now, place = self._clock.monotonic(), (seen.key, cluster)
        attempt, first, last = self._failing.get(place, (seen.attempt, now, now))
        if attempt != seen.attempt or now - last > PATIENCE_SECONDS:
            first = now
        self._failing[place] = seen.attempt, first, now
        return now - first >= PATIENCE_SECONDS

    def succeeded(self, seen: Seen, cluster: str) -> bool:
        """The cluster did what was asked, or said no. Returns whether it had failed before."""
        return self._failing.pop((seen.key, cluster), None) is not None
