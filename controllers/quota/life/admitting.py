"""Admission: a Workload gets quota, waits for its checks, and is admitted; or it waits, and says for what."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from api.podsets import PodSetAssignment
from api.workloads import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    PREEMPTED,
    QUOTA_RESERVED,
    Admission,
)
from controllers.quota.life.draft import Counted, Draft
from controllers.quota.life.retries import all_ready, forget_retries, sync_checks
from quota.search.decision import Decision
from quota.state.amounts import shown
from quota.state.workloads import queue_timestamp

__all__ = ["admission_of", "reserve", "sync_admitted", "wait"]

ENDED: Final = (EVICTED, PREEMPTED, BLOCKED_ON_PREEMPTION_GATES)
SECOND: Final = 1_000_000


def admission_of(decision: Decision) -> Admission:
    """The quota that the decision gives."""
    return Admission(
        decision.queue,
        [
            PodSetAssignment(
                name=pods.name,
                flavors={resource: each.flavor for resource, each in pods.flavors.items()},
                resource_usage={
                    resource: shown(resource, pods.requests[resource]) for resource in pods.flavors
                },
                count=pods.count,
            )
            for pods in decision.assignment.pod_sets
        ],
    )


def reserve(draft: Draft, decision: Decision, required: Collection[str]) -> None:
    """The Workload gets its quota. `required`: its admission checks. Without any it is admitted at once, and one event
    says both."""
    waited = max(0, draft.now - queue_timestamp(draft.workload)) // SECOND
    draft.status.admission = admission_of(decision)
    draft.status.requeue_state = draft.status.resource_requests = None
    message = f"Quota reserved in ClusterQueue {decision.queue}"
    draft.set(QUOTA_RESERVED, True, QUOTA_RESERVED, message)
    for kind in ENDED:
        before = draft.condition(kind)
        if before is not None and before.status == "True":
            draft.set(kind, False, QUOTA_RESERVED, f"Previously: {before.message}")
    draft.count(Counted("QuotaReserved", decision.queue))
    sync_admitted(draft, required, f", wait time since queued was {waited}s")
    if not draft.is_true(ADMITTED):
        draft.event("Normal", QUOTA_RESERVED, f"{message}, wait time since queued was {waited}s")


def sync_admitted(draft: Draft, required: Collection[str], waited: str = "") -> None:
    """A Workload with quota is admitted while all its checks are Ready. `waited`: what the event says of its wait; by
    default for how long it has waited with quota."""
    sync_checks(draft, required)
    if not all_ready(draft, required):
        draft.set(ADMITTED, False, "UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
        return
    if draft.is_true(ADMITTED):
        return
    if not waited:
        seconds = max(0, draft.now - draft.since(QUOTA_RESERVED)) // SECOND
        waited = f", wait time since reservation was {seconds}s"
    draft.set(ADMITTED, True, ADMITTED, "The workload is admitted")
    forget_retries(draft)
    queue = draft.status.admission.cluster_queue if draft.status.admission is not None else ""
    draft.event("Normal", ADMITTED, f"Admitted by ClusterQueue {queue}{waited}")
    draft.count(Counted("Admitted", queue))


def wait(draft: Draft, reason: str, message: str, *, gated: bool) -> None:
    """The Workload waits. `gated`: it would need a preemption, and a preemption gate is closed (KEP-8303)."""
    draft.set(QUOTA_RESERVED, False, reason, message)
    draft.set(ADMITTED, False, "NoReservation", "The workload has no reservation")
    if gated:
        draft.set(BLOCKED_ON_PREEMPTION_GATES, True, "PreemptionGated", message)
    elif draft.is_true(BLOCKED_ON_PREEMPTION_GATES):
        draft.set(BLOCKED_ON_PREEMPTION_GATES, False, reason, message)
