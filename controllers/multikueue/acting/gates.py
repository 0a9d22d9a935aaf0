"""How many gates are open in each cluster, and when one was opened there last.

A turn counts from the moment when it is given: the next Workload that asks knows of it, although its gate is not open
yet.
"""

from __future__ import annotations

from collections import Counter

from controllers.multikueue.life.seen import Copy

__all__ = ["OpenGates"]


class OpenGates:
    """Of all Workloads, in one term. Times are microseconds since 1970."""

    def __init__(self) -> None:
        self._open: dict[str, set[str]] = {}
        """By cluster: keys of Workloads whose gate is open there."""
        self._given: dict[str, str] = {}
        """By key of a Workload: the cluster whose turn it is, until the gate is seen open or the turn is over."""
        self._about: Counter[str] = Counter()
        """By cluster: how many of them."""
        self._last: dict[tuple[str, str], int] = {}
        """By cluster and its ClusterQueue (empty: of any)."""

    def gave(self, key: str, cluster: str, cluster_queue: str, now: int) -> None:
        """A turn was given. `cluster_queue`: that of the copy there; empty if it is not known."""
        self.over(key)
        self._given[key] = cluster
        self._about[cluster] += 1
        self._last[cluster, cluster_queue] = max(now, self._last.get((cluster, cluster_queue), 0))

    def saw(self, key: str, cluster: str, copy: Copy | None) -> None:
        """The copy is so now."""
        keys = self._open.setdefault(cluster, set())
        if copy is not None and copy.gate == "Open":
            keys.add(key)
            if self._given.get(key) == cluster:
                self.over(key)
        else:
            keys.discard(key)

    def over(self, key: str) -> None:
        """The Workload has no turn any longer."""
        if (cluster := self._given.pop(key, None)) is not None:
            self._about[cluster] -= 1

    def count(self, cluster: str) -> int:
        """How many gates are open there, with those that are about to be opened."""
        return len(self._open.get(cluster, ())) + self._about[cluster]

    def last(self, cluster: str, cluster_queue: str) -> int:
        """When a gate was opened there last for Workloads of the ClusterQueue."""
        return max(self._last.get((cluster, cluster_queue), 0), self._last.get((cluster, ""), 0))
