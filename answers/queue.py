"""All queues, or one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from answers.errors import InputError, UnreadError
from answers.names import ALL, Names
from answers.picture import Picture
from answers.queue_data import plain, plain_queue
from answers.withholding import Reader
from api.kueue import LocalQueue
from quota.answers.overview import Overview, QueueOverview, overview, queue_overview
from quota.answers.picture import QuotaPicture
from quota.answers.reclaims import HIGHEST
from quota.search.decision import Options
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.statuses import Tally

__all__ = ["AllQueues", "OneQueue", "all_queues", "check_counted", "one_queue"]

USUAL: Final = Options()


@dataclass(frozen=True, slots=True)
class AllQueues:
    """Every tree of Cohorts."""

    overview: Overview

    def plain(self, names: Names = ALL) -> dict[str, Any]:
        """For programs. `names`: what the reader may list; ClusterQueues are among it."""
        return plain(self.overview, Reader(names))


@dataclass(frozen=True, slots=True)
class OneQueue:
    """One ClusterQueue."""

    one: QueueOverview
    local: LocalQueue | None
    """The LocalQueue that was asked for, if it was one."""
    counts: Tally
    snapshot: QuotaSnapshot

    def plain(self, names: Names = ALL) -> dict[str, Any]:
        """For programs. `names`: what the reader may list; the LocalQueue or ClusterQueues are among it."""
        return plain_queue(self.one, self.local, self.counts, self.snapshot, Reader(names))


def check_counted(picture: Picture) -> None:
    """Raises UnreadError if nothing can be said of quota. It names no Workload."""
    if picture.without_quota:
        raise UnreadError(picture.without_quota)
    try:
        picture.quota.snapshot()
    except QuotaError:
        raise UnreadError("what a Workload asks for is too much to be counted") from None


def all_queues(picture: Picture, options: Options = USUAL, priority: int = HIGHEST) -> AllQueues:
    """How the quota of all queues is used. `priority`: of a Workload that takes quota back. Raises QuotaError."""
    workloads = picture.quota.workloads.values()
    return AllQueues(overview(picture.quota.snapshot(), workloads, picture.moment, options, priority))


def one_queue(picture: Picture, name: str, options: Options = USUAL, priority: int = HIGHEST) -> OneQueue:
    """The ClusterQueue NAME, or that of the LocalQueue NAMESPACE/NAME. `priority`: see `all_queues`.

    Raises InputError if there is no such queue, and QuotaError.
    """
    snapshot, workloads = picture.quota.snapshot(), picture.quota.workloads.values()
    queue, local = _named(name, picture.quota, snapshot)
    one = queue_overview(
        snapshot,
        queue,
        workloads,
        picture.moment,
        options,
        priority=priority,
        namespaces=picture.namespaces,
    )
    counts = Tally()
    for workload in workloads:
        counts.put(workload)
    return OneQueue(one, local, counts, snapshot)


def _named(name: str, picture: QuotaPicture, snapshot: QuotaSnapshot) -> tuple[Queue, LocalQueue | None]:
    """The ClusterQueue NAME, or that of the LocalQueue NAMESPACE/NAME, and that one."""
    local = picture.local_queues.get(name) if "/" in name else None
    if "/" in name and local is None:
        raise InputError(f"there is no LocalQueue {name}")
    queue = snapshot.queues.get(name if local is None else local.spec.cluster_queue)
    if queue is None and local is not None:
        raise InputError(
            f"LocalQueue {name}: spec.clusterQueue: there is no ClusterQueue {local.spec.cluster_queue!r}"
        )
    if queue is None:
        raise InputError(f"there is no ClusterQueue {name} (a LocalQueue is NAMESPACE/NAME)")
    return queue, local
