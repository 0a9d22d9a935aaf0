"""The parts of a Workload that the quota search reads (pkg/workload of Kueue). Times are microseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.core import PodSpec, Quantities, ResourceRequirements
from api.meta import Condition
from api.podsets import PodSet, PodSetAssignment
from api.times import instant
from api.workloads import (
    ADMISSION_CHECK,
    EVICTED,
    FINISHED,
    IN_CLUSTER_QUEUE_TIME_BASED,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    QUOTA_RESERVED,
    Workload,
)
from quota.state.amounts import TOO_MUCH, QuotaError, request_amount
from schema.defaults.amounts import template_requests

__all__ = [
    "PodSetRequest",
    "attempt_of",
    "effective_priority",
    "has_closed_preemption_gate",
    "holds_quota",
    "is_evicting",
    "is_true",
    "key_of",
    "pod_set_requests",
    "queue_timestamp",
    "requeue_at",
    "reserved_at",
    "scaled",
    "subject_of",
    "time_us",
    "true_condition",
    "usage",
]

ZERO_TIME: Final = -62_135_596_800 * 1_000_000
"""The first of January of the year 1. Go reads a missing time as this one."""
MOST: Final = 2**62 - 1
"""The most that a Workload may ask for of one resource. The sum with what others hold must fit 64 bits."""
QUEUED_AGAIN: Final = frozenset({PODS_READY_TIMEOUT, ADMISSION_CHECK})
"""After an eviction for one of these reasons, a Workload queues again behind the others."""


@dataclass(frozen=True, slots=True)
class PodSetRequest:
    """The request of a pod set that holds no quota."""

    name: str
    count: int
    """The number of pods, without the reclaimable ones."""
    requests: Mapping[str, int]
    """By resource, for all pods together, in canonical units; zeros are included. The number of pods is not a resource
    here."""


def key_of(workload: Workload) -> str:
    """`namespace/name`."""
    return f"{workload.metadata.namespace}/{workload.metadata.name}"


def attempt_of(workload: Workload) -> str:
    """Which quota the Workload holds: the time when it was reserved. Empty without quota."""
    reserved = true_condition(workload, QUOTA_RESERVED)
    return (reserved.last_transition_time or "") if reserved is not None else ""


def local_queue_key(workload: Workload) -> str:
    """`namespace/name` of the LocalQueue that it names. The name is empty if it names none."""
    return f"{workload.metadata.namespace}/{workload.spec.queue_name}"


def subject_of(workload: Workload) -> str:
    """The Workload's name in errors."""
    return f"Workload {key_of(workload)}"


def effective_priority(workload: Workload) -> int:
    """spec.priority; 0 if it is not set."""
    return workload.spec.priority or 0


def holds_quota(workload: Workload) -> bool:
    """Whether its usage counts: quota is reserved, and the Workload has not finished.

    The usage of an evicted Workload counts until its reservation is gone. So does that of a deactivated one: something
    of it may still run. Kueue does not count a deactivated one (`QuotaState`).
    """
    return is_true(workload, QUOTA_RESERVED) and not is_true(workload, FINISHED)


def is_evicting(workload: Workload) -> bool:
    """Whether the condition Evicted is True. It also stays True after the Workload has given its quota back."""
    return is_true(workload, EVICTED)


def reserved_at(workload: Workload) -> int:
    """When it got the quota that it holds, in microseconds. Raises QuotaError if it holds none, or the time is
    invalid."""
    condition = true_condition(workload, QUOTA_RESERVED)
    if condition is None:
        raise QuotaError(subject_of(workload), "status.conditions", f"{QUOTA_RESERVED} is not True")
    return _transition(workload, condition)


def queue_timestamp(workload: Workload) -> int:
    """Since when it waits in its queue, in microseconds. Raises QuotaError.

    This is Kueue's rule (GetQueueOrderTimestamp with requeuingStrategy.timestamp Eviction) with one difference. A
    Workload that was preempted because its time was over (KEP-8522) waits since that preemption. By its creation time
    it would be older than its preemptor, and would take its place back at once.
    """
    preempted = true_condition(workload, PREEMPTED)
    if preempted is not None and preempted.reason == IN_CLUSTER_QUEUE_TIME_BASED:
        return _transition(workload, preempted)
    evicted = true_condition(workload, EVICTED)
    if evicted is not None and evicted.reason in QUEUED_AGAIN:
        return _transition(workload, evicted)
    created = workload.metadata.creation_timestamp
    if created is None:
        return ZERO_TIME
    return time_us(created, "metadata.creationTimestamp", subject_of(workload))


def requeue_at(workload: Workload) -> int | None:
    """Until when it must not be tried again, in microseconds; None if it need not wait. Raises QuotaError."""
    state = workload.status.requeue_state
    if state is None or state.requeue_at is None:
        return None
    return time_us(state.requeue_at, "status.requeueState.requeueAt", subject_of(workload))


def has_closed_preemption_gate(workload: Workload) -> bool:
    """Whether a preemption gate of its spec is not reported as open (KEP-8303)."""
    states = {state.name: state.position for state in workload.status.preemption_gates or ()}
    return any(states.get(gate.name) != "Open" for gate in workload.spec.preemption_gates or ())


def usage(workload: Workload) -> dict[tuple[str, str], int]:
    """What a holder uses, by flavor and resource, without reclaimable pods. Zeros are included. Raises QuotaError."""
    subject = subject_of(workload)
    if workload.status.admission is None:
        raise QuotaError(subject, "status.admission", f"must be set while {QUOTA_RESERVED} is True")
    counts = {pods.name: pods.count for pods in workload.spec.pod_sets}
    needed = _needed(workload)
    used: dict[tuple[str, str], int] = {}
    for i, assignment in enumerate(workload.status.admission.pod_set_assignments or ()):
        field = f"status.admission.podSetAssignments[{i}]"
        if assignment.name not in counts:
            raise QuotaError(subject, f"{field}.name", f"the Workload has no pod set {assignment.name!r}")
        count = counts[assignment.name] if assignment.count is None else assignment.count
        _add_usage(used, assignment, count, needed[assignment.name], subject, field)
    return used


def pod_set_requests(workload: Workload) -> list[PodSetRequest]:
    """What each pod set asks for, in the order of the spec. Raises QuotaError."""
    needed = _needed(workload)
    for i, pods in enumerate(workload.spec.pod_sets):
        if any(pods.name == other.name for other in workload.spec.pod_sets[:i]):
            raise QuotaError(subject_of(workload), f"spec.podSets[{i}].name", f"{pods.name!r} occurs twice")
    requests = [
        PodSetRequest(pods.name, needed[pods.name], _requests(workload, i, pods, needed[pods.name]))
        for i, pods in enumerate(workload.spec.pod_sets)
    ]
    _check_total(requests, subject_of(workload))
    return requests


def scaled(requests: Sequence[PodSetRequest], counts: Sequence[int], subject: str) -> list[PodSetRequest]:
    """The requests for other numbers of pods. A pod set that asks for no pod stays as it is.

    Raises QuotaError if it is too much. `subject` is the Workload's name in the error.
    """
    result = [
        PodSetRequest(
            each.name, count, {name: amount // each.count * count for name, amount in each.requests.items()}
        )
        if each.count not in (0, count)
        else each
        for each, count in zip(requests, counts, strict=True)
    ]
    _check_total(result, subject)
    return result


def time_us(text: str, field: str, subject: str = "") -> int:
    """An RFC 3339 time in microseconds since 1970, rounded down. Raises QuotaError."""
    nanoseconds = instant(text)
    if nanoseconds is None:
        raise QuotaError(subject, field, f"{text[:40]!r} is not a time such as 2026-01-31T12:00:00Z")
    return nanoseconds // 1000 + ZERO_TIME


def is_true(workload: Workload, kind: str) -> bool:
    """Whether the condition of this type is True."""
    return true_condition(workload, kind) is not None


def true_condition(workload: Workload, kind: str) -> Condition | None:
    """The condition of this type if it is True, otherwise None."""
    for condition in workload.status.conditions or ():
        if condition.type == kind:
            return condition if condition.status == "True" else None
    return None


# ---- conditions


def _transition(workload: Workload, condition: Condition) -> int:
    field, subject = f"status.conditions[{condition.type}].lastTransitionTime", subject_of(workload)
    if condition.last_transition_time is None:
        raise QuotaError(subject, field, "is missing")
    return time_us(condition.last_transition_time, field, subject)


# ---- amounts


def _needed(workload: Workload) -> dict[str, int]:
    """The number of pods by pod set, without the reclaimable ones.

    After scaling down, there may be more reclaimable pods than pods. Then the number is 0.
    """
    gone = {pods.name: pods.count for pods in workload.status.reclaimable_pods or ()}
    return {pods.name: max(0, pods.count - gone.get(pods.name, 0)) for pods in workload.spec.pod_sets}


def _add_usage(
    used: dict[tuple[str, str], int],
    assignment: PodSetAssignment,
    count: int,
    needed: int,
    subject: str,
    field: str,
) -> None:
    amounts = assignment.resource_usage or {}
    for resource, flavor in (assignment.flavors or {}).items():
        amount = request_amount(
            resource, amounts.get(resource), subject, f"{field}.resourceUsage[{resource}]"
        )
        if needed < count:
            # The usage of one pod, times the pods that are needed. After a partial admission there are fewer pods than
            # in the pod set.
            amount = amount // count * needed
        used[flavor, resource] = used.get((flavor, resource), 0) + amount


def _requests(workload: Workload, index: int, pods: PodSet, count: int) -> dict[str, int]:
    subject, field = subject_of(workload), f"spec.podSets[{index}].template.spec"
    spec = pods.template.spec
    for place, quantities in _written(spec):
        for resource, quantity in (quantities or {}).items():
            request_amount(resource, quantity, subject, f"{field}.{place}[{resource}]")
    requests = {}
    for resource, summed in template_requests(spec).items():
        requests[resource] = request_amount(resource, summed, subject, f"{field}, {resource}") * count
    return requests


def _written(spec: PodSpec) -> Iterator[tuple[str, Quantities | None]]:
    """All quantities of a pod, each with its path."""
    for kind, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            yield from _of_resources(f"{kind}[{index}].resources", container.resources)
    yield from _of_resources("resources", spec.resources)
    yield "overhead", spec.overhead


def _of_resources(
    place: str, resources: ResourceRequirements | None
) -> Iterator[tuple[str, Quantities | None]]:
    if resources is not None:
        yield f"{place}.requests", resources.requests
        yield f"{place}.limits", resources.limits


def _check_total(requests: Iterable[PodSetRequest], subject: str) -> None:
    totals: dict[str, int] = {}
    for each in requests:
        for resource, amount in each.requests.items():
            totals[resource] = totals.get(resource, 0) + amount
            if totals[resource] > MOST:
                raise QuotaError(subject, "spec.podSets", f"{resource} {TOO_MUCH}")
