"""What a reader of an answer about quota may know of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from api.may_name import OTHER_NAMESPACE, MayName, anybody
from api.words import counted
from quota.state.snapshot import Holder, Queue

__all__ = ["EVERYTHING", "Told"]


def _yes() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Told:
    """Names of Workloads by namespace, and of ClusterQueues."""

    may_name: MayName = anybody
    knows_queues: Callable[[], bool] = _yes
    """Whether the reader may know ClusterQueues and Cohorts besides the Workload's own ClusterQueue."""
    counts_all: Callable[[], bool] = _yes
    """Whether the reader may know how many Workloads there are, of whatever namespace."""

    def holder(self, holder: Holder, own: Queue) -> str:
        """A Workload that holds quota. `own`: the ClusterQueue of the Workload that waits."""
        where = f" of {self.queue(holder.queue, own)}"
        if self.may_name("Workload", holder.workload.metadata.namespace):
            return f"Workload {holder.key}{where}, priority {holder.priority}"
        return f"Workload {OTHER_NAMESPACE}{where}"

    def queue(self, name: str, own: Queue) -> str:
        """A ClusterQueue."""
        return f"ClusterQueue {name}" if name == own.name or self.knows_queues() else "another ClusterQueue"

    def workloads(self, count: int) -> str:
        """This number of Workloads, or only the word if the reader may not know the number."""
        return counted(count, "Workload") if self.counts_all() else "Workloads"


EVERYTHING: Final = Told()
