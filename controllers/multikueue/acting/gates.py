"""How many gates are open in each cluster, and when one was opened there last.

A turn counts from the moment when it is given: the next Workload that asks knows of it, although its gate is not open
yet. It counts until its cluster has carried it out: the copy holds quota, or its gate is closed, or it is gone. A gate
of a copy that holds quota stays open, and preempts for nobody.
"""

from __future__ import annotations

from collections import Counter

from api.clock import Clock
from api.workloads import QUOTA_RESERVED
from controllers.multikueue.life.seen import Copy

__all__ = ["OpenGates"]

Queue = tuple[str, str]
"""A cluster and its ClusterQueue; empty: of any."""


class OpenGates:
    """Of all Workloads, in one term. Times are microseconds since 1970."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, set[str]] = {}
        """By cluster: keys of Workloads whose gate is open there."""
        self._given: dict[str, str] = {}
        """By key of a Workload: the cluster whose turn it is, until the gate is seen open or the turn is over."""
        self._about: Counter[str] = Counter()
        """By cluster: how many of them."""
        self._turns: dict[str, Queue] = {}
        """By key of a Workload: where its turn is, until that is carried out or over."""
        self._busy: Counter[Queue] = Counter()
        """How many of them."""
        self._last: dict[Queue, int] = {}

    def gave(self, key: str, cluster: str, cluster_queue: str, now: int) -> None:
        """A turn was given. `cluster_queue`: that of the copy there; empty if it is not known."""
        self.over(key)
        self._given[key] = cluster
        self._about[cluster] += 1
        queue = self._turns[key] = (cluster, cluster_queue)
        self._busy[queue] += 1
        self._last[queue] = max(now, self._last.get(queue, 0))

    def saw(self, key: str, cluster: str, copy: Copy | None) -> None:
        """The copy is so now."""
        keys = self._open.setdefault(cluster, set())
        queue = self._turns.get(key)
        is_mine = queue is not None and queue[0] == cluster
        is_gone = copy is None or copy.is_deleting or copy.is_true(QUOTA_RESERVED)
        if copy is not None and copy.gate == "Open" and not is_gone:
            keys.add(key)
            if is_mine:
                self._seen_open(key)
            return
        is_done = is_gone or key in keys
        keys.discard(key)
        if is_mine and is_done and queue is not None:
            self.over(key)
            self._last[queue] = max(round(self._clock.wall() * 1_000_000), self._last.get(queue, 0))

    def over(self, key: str) -> None:
        """The Workload has no turn any longer."""
        self._seen_open(key)
        if (queue := self._turns.pop(key, None)) is not None:
            self._busy[queue] -= 1

    def count(self, cluster: str) -> int:
        """How many gates are open there, with those that are about to be opened."""
        return len(self._open.get(cluster, ())) + self._about[cluster]

    def is_busy(self, key: str, cluster: str, cluster_queue: str) -> bool:
        """Whether a turn of another Workload is not carried out yet there, for the same ClusterQueue."""
        queue = cluster, cluster_queue
        return self._busy[queue] > (self._turns.get(key) == queue)

    def last(self, cluster: str, cluster_queue: str) -> int:
        """When a gate was opened there last for Workloads of the ClusterQueue, or such a turn was carried out."""
        return max(self._last.get((cluster, cluster_queue), 0), self._last.get((cluster, ""), 0))

    def _seen_open(self, key: str) -> None:
        if (cluster := self._given.pop(key, None)) is not None:
            self._about[cluster] -= 1
