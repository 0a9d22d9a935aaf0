"""Whether a cycle may decide about a workload at all."""

from __future__ import annotations

from collections.abc import Mapping

from api.core import NAMESPACE_NAME_LABEL
from api.meta import LabelSelector
from api.selectors import matches
from api.workloads import QUOTA_RESERVED, Workload
from quota.cycle.entries import Entry
from quota.cycle.queues import FAILED_CHECKS, RequeueReason, backs_off, requeue
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import is_true

__all__ = ["admissible_in", "inadmissible"]


def admissible_in(
    world: QuotaSnapshot, workload: Workload, now: int, namespaces: Mapping[str, Mapping[str, str]]
) -> Queue | Entry:
    """The workload's ClusterQueue, or an entry that says why there is no decision. `namespaces`: see `cycle`."""
    if is_true(workload, QUOTA_RESERVED):
        return Entry(workload, "Inadmissible", None, "it holds quota already", "")
    namespace = workload.metadata.namespace
    try:
        queue = world.queue_of(workload)
    except QuotaError as error:
        return Entry(workload, "Inadmissible", None, str(error), "Misconfigured")
    local = world.local_queues[f"{namespace}/{workload.spec.queue_name}"]
    if local.spec.stop_policy != "None":
        return Entry(
            workload, "Inadmissible", None, f"LocalQueue {local.metadata.name} is inactive", "Suspended"
        )
    if any(check.state in FAILED_CHECKS for check in workload.status.admission_checks or ()):
        message = "The workload has failed admission checks"
        return inadmissible(queue, workload, now, message, "PendingEvaluation")
    if queue.inactive:
        message = f"ClusterQueue {queue.name} is inactive: {queue.inactive}"
        return inadmissible(queue, workload, now, message, "Suspended")
    if not _selects(queue.spec.namespace_selector, namespace, namespaces):
        message = "Workload namespace doesn't match ClusterQueue selector"
        return inadmissible(queue, workload, now, message, "Misconfigured", "NamespaceMismatch")
    return queue


def inadmissible(
    queue: Queue,
    workload: Workload,
    now: int,
    message: str,
    quota_reserved_reason: str,
    why: RequeueReason = "Generic",
) -> Entry:
    """The entry of a workload about which there is no decision."""
    backing_off = backs_off(workload, now)
    when = requeue(queue.spec.queueing_strategy, why, pending_flavors=False, backing_off=backing_off)
    return Entry(workload, "Inadmissible", None, message, quota_reserved_reason, when, why)


def _selects(
    selector: LabelSelector | None, namespace: str, namespaces: Mapping[str, Mapping[str, str]]
) -> bool:
    return matches(selector, {NAMESPACE_NAME_LABEL: namespace, **namespaces.get(namespace, {})})
