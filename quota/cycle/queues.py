"""Which workload is next in each ClusterQueue, and which is tried again at once (pkg/cache/queue of Kueue).

See docs/decisions/0010.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

import msgspec

from api.core import Container, PodSpec
from api.meta import Condition
from api.workloads import EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED, Workload
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import (
    effective_priority,
    has_closed_preemption_gate,
    key_of,
    local_queue_key,
    queue_timestamp,
    requeue_at,
)

__all__ = [
    "ADMISSION_GATED_BY",
    "FAILED_CHECKS",
    "PARKS_EQUALS",
    "Precedence",
    "Requeue",
    "RequeueReason",
    "backs_off",
    "comes_back",
    "heads",
    "held_back",
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
"""For these reasons, workloads of the same shape are parked together: they would get the same answer."""
FAILED_CHECKS: Final = frozenset({"Retry", "Rejected"})
"""States of an admission check. A workload with such a check is not decided about."""


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
    until = requeue_at(workload)
    return held_back(workload) or (until is not None and now < until)


def held_back(workload: Workload) -> bool:
    """Whether the condition Requeued is False. Then only a change of the workload brings it back."""
    return any(each.type == REQUEUED and each.status == "False" for each in workload.status.conditions or ())


def requeue(strategy: str, reason: RequeueReason, *, pending_flavors: bool, backing_off: bool) -> Requeue:
    """Whether a workload that was not admitted is tried in the next cycle, or only after a change.

    A parked workload comes back when quota of its tree is freed, or when it or its queues are updated.
    """
    if backing_off:
        return "parked"
    again = reason != "NamespaceMismatch" if strategy == "StrictFIFO" else reason in RETRIED
    return "immediate" if again or pending_flavors else "parked"


def comes_back(old: Workload, new: Workload) -> bool:
    """Whether a parked workload is tried again because it has changed (PushOrUpdate of Kueue).

    One difference: Kueue does not look at admission checks. So it forgets a workload that was parked because a check
    had failed, if the check is reset later and nothing else changes.
    """
    return (
        old.metadata.uid != new.metadata.uid
        or old.spec != new.spec
        or old.status.reclaimable_pods != new.status.reclaimable_pods
        or old.status.requeue_state != new.status.requeue_state
        or _condition(old, EVICTED) != _condition(new, EVICTED)
        or _condition(old, REQUEUED) != _condition(new, REQUEUED)
        or has_closed_preemption_gate(old) != has_closed_preemption_gate(new)
        or _has_failed_check(old) != _has_failed_check(new)
    )


def is_queued(workload: Workload) -> bool:
    """Whether it waits for quota: it is active, holds none, has not finished, and admission is not gated."""
    held_or_done = any(
        each.type in (QUOTA_RESERVED, FINISHED) and each.status == "True"
        for each in workload.status.conditions or ()
    )
    gated = bool((workload.metadata.annotations or {}).get(ADMISSION_GATED_BY))
    return workload.spec.active and not held_or_done and not gated


def shape_of(workload: Workload) -> bytes:
    """Everything in a workload that flavors and quota depend on, except its age. Equal shapes are equal bytes.

    The namespace matters because of its LimitRanges, and because a ClusterQueue may not take it.
    """
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
    key = workload.metadata.namespace, effective_priority(workload), pod_sets
    return msgspec.json.encode(key, order="deterministic")


def _active_queue(snapshot: QuotaSnapshot, workload: Workload) -> Queue | None:
    try:
        queue = snapshot.queue_of(workload)
    except QuotaError:
        return None
    local = snapshot.local_queues[local_queue_key(workload)]
    return queue if not queue.inactive and local.spec.stop_policy == "None" else None


def _pod_shape(spec: PodSpec) -> tuple[object, ...]:
    return (
        [_container_shape(container) for container in spec.init_containers or ()],
        [_container_shape(container) for container in spec.containers or ()],
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.overhead,
        spec.runtime_class_name,
        spec.resource_claims,
        spec.topology_spread_constraints,
    )


def _container_shape(container: Container) -> tuple[object, ...]:
    return container.resources, container.restart_policy, container.ports


def _condition(workload: Workload, kind: str) -> Condition | None:
    return next((each for each in workload.status.conditions or () if each.type == kind), None)


def _has_failed_check(workload: Workload) -> bool:
    return any(check.state in FAILED_CHECKS for check in workload.status.admission_checks or ())
