"""Which workload is next in each ClusterQueue, and which is tried again at once (pkg/cache/queue of Kueue).

See docs/decisions/0010.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

import msgspec

from api.core import Container, PodSpec
from api.workloads import FINISHED, QUOTA_RESERVED, REQUEUED, Workload
from quota.amounts import QuotaError
from quota.snapshot import Queue, QuotaSnapshot
from quota.workloads import effective_priority, key_of, queue_timestamp, requeue_at

__all__ = [
    "ADMISSION_GATED_BY",
    "PARKS_EQUALS",
    "Precedence",
    "Requeue",
    "RequeueReason",
    "backs_off",
    "equals",
    "heads",
    "is_queued",
    "precedence",
    "requeue",
    "shape_of",
]

ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
"""A Workload with this annotation is not queued, unless the value is empty."""

Precedence = tuple[int, int, str, str]
Requeue = Literal["immediate", "parked"]
RequeueReason = Literal[
    "Generic",
    "NamespaceMismatch",
    "NoFit",
    "PreemptionNoCandidates",
    "PreemptionGated",
    "PendingPreemption",
    "FailedAfterNomination",
]
"""The names are Kueue's; Generic is the empty name there. PendingMigration and PreemptionFailed cannot occur in a pure
function."""

RETRIED: Final = frozenset({"FailedAfterNomination", "PendingPreemption"})
PARKS_EQUALS: Final[frozenset[RequeueReason]] = frozenset({"NoFit", "PreemptionNoCandidates"})
"""For these reasons, Workloads of the same shape are parked together: they would get the same answer."""


def heads(
    snapshot: QuotaSnapshot,
    pending: Iterable[Workload],
    now: int,
    *,
    parked: Collection[str] = (),
    sticky: Mapping[str, str] | None = None,
) -> list[Workload]:
    """The first workload of each active ClusterQueue, sorted by the name of the ClusterQueue.

    `parked`: keys ("namespace/name") of workloads that wait for a change. `sticky`: for a BestEffortFIFO
    ClusterQueue, the key of the workload that waits for its own preemptions; it stays first. A workload is passed
    over if it holds quota, has finished, is not active, backs off, or has no active queue. Times are in microseconds.
    Raises QuotaError for a time that cannot be read.
    """
    first: dict[str, tuple[tuple[bool, Precedence], Workload]] = {}
    for workload in pending:
        key = key_of(workload)
        if key in parked or not is_queued(workload) or backs_off(workload, now):
            continue
        queue = _active_queue(snapshot, workload)
        if queue is None:
            continue
        stays = (sticky or {}).get(queue.name) == key and queue.spec.queueing_strategy == "BestEffortFIFO"
        place = (not stays, precedence(workload))
        if queue.name not in first or place < first[queue.name][0]:
            first[queue.name] = place, workload
    return [first[name][1] for name in sorted(first)]


def precedence(workload: Workload) -> Precedence:
    """Sort key: higher priority, then earlier queue timestamp, then smaller UID, then the key if UIDs are missing."""
    return -effective_priority(workload), queue_timestamp(workload), workload.metadata.uid, key_of(workload)


def backs_off(workload: Workload, now: int) -> bool:
    """Whether the workload must wait before it is tried again: until requeueAt, or while Requeued is False."""
    if any(each.type == REQUEUED and each.status == "False" for each in workload.status.conditions or ()):
        return True
    until = requeue_at(workload)
    return until is not None and now < until


def requeue(strategy: str, reason: RequeueReason, *, pending_flavors: bool, backing_off: bool) -> Requeue:
    """Whether a workload that was not admitted is tried in the next cycle, or only after a change.

    A parked workload comes back when quota of its tree is freed, or when it or its queues are updated.
    """
    if backing_off:
        return "parked"
    again = reason != "NamespaceMismatch" if strategy == "StrictFIFO" else reason in RETRIED
    return "immediate" if again or pending_flavors else "parked"


def equals(
    snapshot: QuotaSnapshot, workload: Workload, reason: RequeueReason, pending: Iterable[Workload]
) -> list[str]:
    """Keys of the workloads that are parked together with this one, because they would get the same answer.

    They wait in the same ClusterQueue, have the same priority and ask for the same (gate
    SchedulingEquivalenceHashing).
    """
    if reason not in PARKS_EQUALS:
        return []
    queue = _active_queue(snapshot, workload)
    if queue is None or queue.spec.queueing_strategy != "BestEffortFIFO":
        return []
    shape, key = shape_of(workload), key_of(workload)
    return [
        key_of(other)
        for other in pending
        if key_of(other) != key
        and is_queued(other)
        and _active_queue(snapshot, other) is queue
        and shape_of(other) == shape
    ]


def is_queued(workload: Workload) -> bool:
    """Whether it waits for quota, now or after a backoff: it is active, not finished, and nothing holds it back."""
    held_or_done = any(
        each.type in (QUOTA_RESERVED, FINISHED) and each.status == "True"
        for each in workload.status.conditions or ()
    )
    gated = bool((workload.metadata.annotations or {}).get(ADMISSION_GATED_BY))
    return workload.spec.active and not held_or_done and not gated


def _active_queue(snapshot: QuotaSnapshot, workload: Workload) -> Queue | None:
    try:
        queue = snapshot.queue_of(workload)
    except QuotaError:
        return None
    local = snapshot.local_queues[f"{workload.metadata.namespace}/{workload.spec.queue_name}"]
    return queue if not queue.inactive and local.spec.stop_policy == "None" else None


def shape_of(workload: Workload) -> bytes:
    """Everything in a workload that flavors and quota depend on, except its age."""
    gone = {pods.name: pods.count for pods in workload.status.reclaimable_pods or ()}
    pod_sets = [
        (
            pods.name,
            max(0, pods.count - gone.get(pods.name, 0)),
            pods.min_count,
            pods.topology_request,
            _pod_shape(pods.template.spec),
        )
        for pods in workload.spec.pod_sets
    ]
    return msgspec.json.encode((effective_priority(workload), pod_sets), order="deterministic")


def _pod_shape(spec: PodSpec) -> tuple[object, ...]:
    return (
        [_container_shape(container) for container in spec.init_containers or ()],
        [_container_shape(container) for container in spec.containers or ()],
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.overhead,
        spec.resource_claims,
        spec.topology_spread_constraints,
    )


def _container_shape(container: Container) -> tuple[object, ...]:
    return container.resources, container.restart_policy, container.ports
