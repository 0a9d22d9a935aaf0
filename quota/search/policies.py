"""Whether a rule of preemption still lets a workload go: for a decision that was made some time ago.

The search (`native/quota`) makes decisions. Here is only what can be said of one victim alone: policies, priorities and
times. Whether somebody borrows, and how much is needed, is not looked at.
"""

from __future__ import annotations

from api.workloads import PreemptionReason, Workload
from quota.search.asks import Options
from quota.state.snapshot import Queue
from quota.state.workloads import effective_priority, queue_timestamp, reserved_at

__all__ = ["still_goes"]


def still_goes(
    preemptor: Workload, queue: Queue, victim: Workload, reason: PreemptionReason, now: int, options: Options
) -> bool:
    """Whether the policies of the preemptor's ClusterQueue (`queue`) let the victim go by this rule.

    The victim holds quota. `now` is in microseconds. Raises QuotaError for a time that cannot be read.
    """
    admission = victim.status.admission
    is_own = admission is not None and admission.cluster_queue == queue.name
    match reason:
        case "InClusterQueue":
            return is_own and _goes_within(preemptor, queue, victim)
        case "InClusterQueueTimeBased":
            return is_own and options.time_based and _has_expired(preemptor, queue, victim, now)
        case "InCohortReclamation" | "InCohortFairSharing":
            return not is_own and _is_reclaimed(preemptor, queue, victim)
        case "InCohortReclaimWhileBorrowing":
            return (
                not is_own
                and _is_reclaimed(preemptor, queue, victim)
                and _preempted_for_a_loan(preemptor, queue, victim)
            )


def _goes_within(preemptor: Workload, queue: Queue, victim: Workload) -> bool:
    policy = queue.spec.preemption.within_cluster_queue
    ours, theirs = effective_priority(preemptor), effective_priority(victim)
    if policy == "Never" or theirs > ours:
        return False
    is_newer = queue_timestamp(preemptor) < queue_timestamp(victim)
    return theirs < ours or (policy == "LowerOrNewerEqualPriority" and is_newer)


def _has_expired(preemptor: Workload, queue: Queue, victim: Workload, now: int) -> bool:
    """KEP-8522: it has held its quota for longer than minAdmitDuration."""
    if queue.spec.preemption.within_cluster_queue != "LowerOrNewerEqualPriority" or queue.min_admit is None:
        return False
    is_equal = effective_priority(victim) == effective_priority(preemptor)
    return is_equal and now - reserved_at(victim) > queue.min_admit


def _is_reclaimed(preemptor: Workload, queue: Queue, victim: Workload) -> bool:
    policy = queue.spec.preemption.reclaim_within_cohort
    is_lower = effective_priority(victim) < effective_priority(preemptor)
    return policy == "Any" or (policy == "LowerPriority" and is_lower)


def _preempted_for_a_loan(preemptor: Workload, queue: Queue, victim: Workload) -> bool:
    """KEP-1337: borrowWithinCohort."""
    borrow, priority = queue.spec.preemption.borrow_within_cohort, effective_priority(victim)
    if borrow.policy == "Never" or priority >= effective_priority(preemptor):
        return False
    return borrow.max_priority_threshold is None or priority <= borrow.max_priority_threshold
