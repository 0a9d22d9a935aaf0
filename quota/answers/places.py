"""The places of Workloads in their ClusterQueues."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from api.workloads import Workload
from quota.cycle.queues import Precedence, is_queued, precedence
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot

__all__ = ["Places"]


class Places:
    """Who waits in each ClusterQueue, in order. One whose times cannot be read is not counted."""

    def __init__(self, snapshot: QuotaSnapshot, workloads: Iterable[Workload]) -> None:
        self._snapshot = snapshot
        self._waiting: dict[str, list[Precedence]] = {}
        for each in workloads:
            if (found := self._found(each)) is not None:
                self._waiting.setdefault(found[0], []).append(found[1])
        for waiting in self._waiting.values():
            waiting.sort()

    def _found(self, workload: Workload) -> tuple[str, Precedence] | None:
        """The ClusterQueue in which it waits, and its precedence there; None if it waits nowhere."""
        if not is_queued(workload):
            return None
        try:
            return self._snapshot.queue_of(workload).name, precedence(workload)
        except QuotaError:
            return None

    def replace(self, before: Workload | None, after: Workload) -> None:
        """A Workload is another one now, or has come (`before` is None). The queues are as they were."""
        if before is not None and (found := self._found(before)) is not None:
            waiting = self._waiting[found[0]]
            del waiting[bisect_left(waiting, found[1])]
        if (found := self._found(after)) is not None:
            insort(self._waiting.setdefault(found[0], []), found[1])

    def of(self, workload: Workload, queue: str) -> tuple[int, int]:
        """The place of the Workload in this ClusterQueue, from 1, and how many wait there with it. Raises QuotaError
        if its times cannot be read."""
        mine, waiting = precedence(workload), self._waiting.get(queue, [])
        before = bisect_left(waiting, mine)
        there = before < len(waiting) and waiting[before] == mine
        return before + 1, len(waiting) + (not there)
