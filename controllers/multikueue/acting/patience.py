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
        self._failing: dict[str, dict[str, tuple[str, float, float]]] = {}
        """By key of the Workload, and by cluster: the attempt, and the first and the last failure in a row, in
        monotonic seconds."""

    def is_over(self, seen: Seen, cluster: str) -> bool:
        """Note a failure. Returns whether the cluster has failed for long enough."""
        now, failing = self._clock.monotonic(), self._failing.setdefault(seen.key, {})
        attempt, first, last = failing.get(cluster, (seen.attempt, now, now))
        if attempt != seen.attempt or now - last > PATIENCE_SECONDS:
            first = now
        failing[cluster] = seen.attempt, first, now
        return now - first >= PATIENCE_SECONDS

    def succeeded(self, seen: Seen, cluster: str) -> bool:
        """The cluster did what was asked, or said no. Returns whether it had failed before."""
        return self._failing.get(seen.key, {}).pop(cluster, None) is not None

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        self._failing.pop(key, None)
