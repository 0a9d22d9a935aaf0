"""How many gates are open in each cluster, and when one was opened there last.

A turn counts from the moment when it is given: the next Workload that asks knows of it, although its gate is not open
yet. It counts until its cluster has carried it out: the copy holds quota, or its gate is closed, or it is gone. A gate
of a copy that holds quota stays open, and preempts for nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TypeVar

from api.clock import Clock
from api.workloads import QUOTA_RESERVED
from controllers.multikueue.life.seen import Copy

__all__ = ["OpenGates", "Queue"]

K = TypeVar("K")
Queue = tuple[str, str]
"""A cluster and its ClusterQueue; empty: of any."""


class OpenGates:
    """Of all Workloads, in one term. Times are microseconds since 1970."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, set[str]] = {}
        """By cluster: keys of Workloads whose gate is open there. A cluster without one is not in it."""
        self._given: dict[str, str] = {}
        """By key of a Workload: the cluster whose turn it is, until the gate is seen open or the turn is over."""
        self._about: Counter[str] = Counter()
        """By cluster: how many of them."""
        self._turns: dict[str, Queue] = {}
        """By key of a Workload: where its turn is, until that is carried out or over."""
        self._busy: Counter[Queue] = Counter()
        """How many of them."""
        self._last: dict[Queue, int] = {}
        """When a gate was opened there last, or such a turn was carried out."""

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
        queue = self._turns.get(key)
        is_mine = queue is not None and queue[0] == cluster
        is_gone = copy is None or copy.is_deleting or copy.is_true(QUOTA_RESERVED)
        if copy is not None and copy.gate == "Open" and not is_gone:
            self._open.setdefault(cluster, set()).add(key)
            if is_mine:
                self._seen_open(key)
            return
        was_open = self._no_longer_open(key, cluster)
        if is_mine and (is_gone or was_open) and queue is not None:
            self.over(key)
            self._last[queue] = max(round(self._clock.wall() * 1_000_000), self._last.get(queue, 0))

    def over(self, key: str) -> None:
        """The Workload has no turn any longer."""
        self._seen_open(key)
        if (queue := self._turns.pop(key, None)) is not None:
            _take(self._busy, queue)

    def gone(self, cluster: str) -> None:
        """There is no MultiKueueCluster of this name any longer. Another one of its name may be another cluster. A turn
        there lasts until it is over."""
        self._open.pop(cluster, None)
        for queue in [each for each in self._last if each[0] == cluster]:
            del self._last[queue]

    def keep(self, queues: Collection[Queue]) -> None:
        """Forget when gates were opened for other ClusterQueues than these: no Workload here has a copy in them. A turn
        counts until it is over."""
        kept = {*queues, *self._turns.values()}
        for queue in [each for each in self._last if each[1] and each not in kept]:
            del self._last[queue]

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
            _take(self._about, cluster)

    def _no_longer_open(self, key: str, cluster: str) -> bool:
        """Returns whether it was."""
        keys = self._open.get(cluster)
        if keys is None or key not in keys:
            return False
        keys.discard(key)
        if not keys:
            del self._open[cluster]
        return True


def _take(counts: Counter[K], of: K) -> None:
    """One less. What none is left of is not in it."""
    counts[of] -= 1
    if not counts[of]:
        del counts[of]
