"""Who is parked with a Workload that does not get its quota: a walk over all that wait (see `quota.cycle.lines`)."""

from __future__ import annotations

from collections.abc import Iterable

from api.workloads import Workload
from quota.cycle.queues import PARKS_EQUALS, RequeueReason, is_queued, precedence, shape_of
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import key_of, local_queue_key

__all__ = ["equals"]


def equals(
    snapshot: QuotaSnapshot, workload: Workload, reason: RequeueReason, pending: Iterable[Workload]
) -> list[str]:
    """Keys of the Workloads that are parked together with this one, because they would get the same answer.

    They wait in the same ClusterQueue, have the same priority and ask for the same (gate SchedulingEquivalenceHashing
    of Kueue). Those that stand before it are not parked: they are older, so they might be allowed to preempt where it
    is not. Raises QuotaError for a time that cannot be read.
    """
    queue = _active_queue(snapshot, workload)
    if reason not in PARKS_EQUALS or queue is None or queue.spec.queueing_strategy != "BestEffortFIFO":
        return []
    return [
        key_of(other)
        for other in pending
        if is_queued(other) and _active_queue(snapshot, other) is queue
        if precedence(other) > precedence(workload) and shape_of(other) == shape_of(workload)
    ]


def _active_queue(snapshot: QuotaSnapshot, workload: Workload) -> Queue | None:
    try:
        queue = snapshot.queue_of(workload)
    except QuotaError:
        return None
    stops = snapshot.local_queues[local_queue_key(workload)].spec.stop_policy != "None"
    return None if queue.inactive or stops else queue
