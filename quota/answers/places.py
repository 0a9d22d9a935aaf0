"""The places of Workloads in their ClusterQueues."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from api.workloads import Workload
from quota.cycle.queues import Precedence, is_queued, precedence
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot

__all__ = ["Places"]


class Places:
    """Who waits in each ClusterQueue, in order. One whose times cannot be read is not counted."""

    def __init__(self, snapshot: QuotaSnapshot, workloads: Iterable[Workload]) -> None:
        self._waiting: dict[str, list[Precedence]] = {}
        for each in workloads:
            if not is_queued(each):
                continue
            try:
                queue, place = snapshot.queue_of(each).name, precedence(each)
            except QuotaError:
                continue
            self._waiting.setdefault(queue, []).append(place)
        for waiting in self._waiting.values():
            waiting.sort()

    def of(self, workload: Workload, queue: str) -> tuple[int, int]:
        """The place of the Workload in this ClusterQueue, from 1, and how many wait there with it. Raises QuotaError
        if its times cannot be read."""
        mine, waiting = precedence(workload), self._waiting.get(queue, [])
        before = bisect_left(waiting, mine)
        there = before < len(waiting) and waiting[before] == mine
        return before + 1, len(waiting) + (not there)
