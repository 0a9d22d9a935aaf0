"""Evictions: what a Workload's status says from the eviction until the Workload is queued again.

The source is pkg/workload/evict of Kueue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from api.workloads import (
    ADMISSION_CHECK,
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    PreemptionGateState,
    PreemptionReason,
    SchedulingStats,
    SchedulingStatsEviction,
    Workload,
)
from controllers.quota.life.draft import Counted, Draft
from controllers.quota.life.retries import reset_checks, show_wait
from quota.search.explain import preempted_message
from quota.state.workloads import holds_quota

__all__ = [
    "EXECUTION_TIME",
    "QUOTA_EXCEEDED",
    "Preemption",
    "evict",
    "give_back",
    "preempt",
    "sync_not_admitted",
    "until_written",
]

EXECUTION_TIME: Final = "MaximumExecutionTimeExceeded"
"""Why a Workload is deactivated that was admitted for too long."""
QUOTA_EXCEEDED: Final = "QuotaExceeded"
"""Reason of Evicted: a process that no longer leads admitted it, and its quota was given to others."""
COMES_BACK: Final = frozenset({PREEMPTED, "NodeFailures", QUOTA_EXCEEDED})
"""After an eviction for one of these reasons, a Workload is queued again as soon as it has given its quota back."""
HOLDS: Final = frozenset({QUOTA_RESERVED, ADMITTED})
"""Conditions of a Workload that holds quota."""
MOST_STATS: Final = 256
SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Preemption:
    """What a plan wants of one of its victims."""

    plan: str
    """NAMESPACE/NAME of the PreemptionPlan."""
    uid: str
    """The victim's."""
    reason: PreemptionReason
    message: str
    """In Kueue's words."""
    preempting_queue: str
    """The preemptor's ClusterQueue."""
    preemptor: Workload | None = None
    """None: it gets no event."""


def preempt(draft: Draft, preemption: Preemption) -> None:
    """Another Workload gets the quota."""
    draft.set(PREEMPTED, True, preemption.reason, preemption.message)
    draft.event("Normal", "Preempted", f"{preemption.message}; plan: {preemption.plan}")
    draft.count(Counted("Preempted", preemption.preempting_queue, preemption.reason))
    admission, preemptor = draft.status.admission, preemption.preemptor
    if preemptor is not None and admission is not None:
        note = preempted_message(preemptor, draft.workload, admission.cluster_queue)
        draft.event("Normal", "PreemptedWorkload", note, about=preemptor, series=preemption.plan)
    evict(draft, PREEMPTED, preemption.message)


def evict(draft: Draft, reason: str, message: str, cause: str = "") -> None:
    """The Workload must end. `cause`: the underlying cause of a deactivation.

    Conditions and events name the cause in the reason. Metrics and the status count it beside the reason. The quota is
    given back when nothing of it runs, and until then it keeps its clusterName.
    """
    full = f"{reason}DueTo{cause}" if cause else reason
    draft.set(EVICTED, True, full, message)
    if reason not in COMES_BACK:
        draft.set(REQUEUED, False, full, message)
    if reason == ADMISSION_CHECK:
        show_wait(draft)
    else:
        reset_checks(draft, also_retry=False)
    if draft.is_true(BLOCKED_ON_PREEMPTION_GATES):
        draft.set(BLOCKED_ON_PREEMPTION_GATES, False, full, message)
    _close_gates(draft)
    is_first = _note(draft, reason, cause)
    status = draft.status
    status.nominated_cluster_names = status.unhealthy_nodes = None
    draft.event("Normal", f"EvictedDueTo{full}", message)
    if status.admission is not None:
        draft.count(Counted("Evicted", status.admission.cluster_queue, reason, cause, is_first))


def give_back(draft: Draft, message: str) -> None:
    """Nothing of the Workload runs any longer: its quota is free."""
    draft.set(QUOTA_RESERVED, False, "PendingEvaluation", message)
    sync_not_admitted(draft)


def sync_not_admitted(draft: Draft) -> None:
    """A Workload without quota is not admitted, and in no cluster. The time that it was admitted is kept.

    If that time has deactivated it, it begins anew: whoever activates it again gives it the whole time.
    """
    status = draft.status
    status.admission = status.cluster_name = status.nominated_cluster_names = None
    if draft.is_true(ADMITTED) and not draft.reason(EVICTED).endswith(EXECUTION_TIME):
        ran = max(0, (draft.now - draft.since(ADMITTED)) // SECOND)
        past = status.accumulated_past_execution_time_seconds or 0
        status.accumulated_past_execution_time_seconds = min(past + ran, 2**31 - 1)
    draft.set(ADMITTED, False, "NoReservation", "The workload has no reservation")
    evicted = draft.condition(EVICTED)
    if evicted is not None and evicted.status == "True" and evicted.reason in COMES_BACK:
        draft.set(REQUEUED, True, evicted.reason, evicted.message)


def until_written(before: Workload, after: Workload) -> Workload:
    """How the Workload counts while its change from one state to the other is being written.

    Quota that the change gives back is not free yet: the write may fail, or come later than that of whoever got the
    quota. That is also so if the Workload has finished, or if some of its pods are reclaimable.
    """
    if not holds_quota(before):
        return after
    status = msgspec.structs.replace(after.status, reclaimable_pods=before.status.reclaimable_pods)
    if not holds_quota(after):
        kept = [each for each in before.status.conditions or () if each.type in HOLDS]
        others = [each for each in after.status.conditions or () if each.type not in {*HOLDS, FINISHED}]
        status = msgspec.structs.replace(
            status, conditions=[*others, *kept], admission=before.status.admission
        )
    return msgspec.structs.replace(after, status=status)


def _close_gates(draft: Draft) -> None:
    gates = draft.status.preemption_gates
    if gates and any(gate.position != "Closed" for gate in gates):
        draft.status.preemption_gates = [
            gate
            if gate.position == "Closed"
            else PreemptionGateState(gate.name, "Closed", _not_before(gate, draft))
            for gate in gates
        ]


def _not_before(gate: PreemptionGateState, draft: Draft) -> str:
    """Now, or when the gate was opened: the API server takes no earlier time, and the clock of who opened it, such as a
    manager of several clusters, may be ahead."""
    return gate.last_transition_time if draft.at(gate.last_transition_time) > draft.now else draft.time


def _note(draft: Draft, reason: str, cause: str) -> bool:
    """Count the eviction in the status. Returns whether it is the first one for this reason and cause."""
    stats = draft.status.scheduling_stats
    evictions = list(stats.evictions or ()) if stats is not None else []
    is_first = False
    for at, each in enumerate(evictions):
        if (each.reason, each.underlying_cause) == (reason, cause):
            evictions[at] = msgspec.structs.replace(each, count=min(each.count + 1, 2**31 - 1))
            break
    else:
        is_first = len(evictions) < MOST_STATS
        if is_first:
            evictions.append(SchedulingStatsEviction(reason, cause, 1))
    draft.status.scheduling_stats = SchedulingStats(evictions)
    return is_first
