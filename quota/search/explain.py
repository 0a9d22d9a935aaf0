"""Why a decision is as it is: the result for each candidate, and why other workloads were no candidates. Data,
not text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, NamedTuple

from api.workloads import JOB_UID_LABEL, PreemptionReason, Workload
from native import codes
from native.quota.quotas import Ask, Found
from quota.search.assignment import Assignment, FlavorSearch
from quota.search.candidates import NonCandidates, PassedOver
from quota.state.snapshot import Holder, Queue, QuotaSnapshot
from quota.state.workloads import effective_priority

__all__ = [
    "REASONS",
    "Candidate",
    "Explanation",
    "SearchAttempt",
    "Step",
    "explained",
    "preempted_message",
    "preemption_message",
]

Step = Literal["Taken", "PutBack", "QueueWithinNominal", "CohortWithinQuota", "WouldBorrow", "ShareRefused"]
"""The result for a candidate.

PutBack: it was taken, but the workload also fits without it, so it may stay. QueueWithinNominal: its ClusterQueue
does not use more than its quota of what is contested, or no longer does. CohortWithinQuota: the same for a Cohort
above its ClusterQueue. WouldBorrow: it may be preempted only for a workload that stays within the nominal quota.
ShareRefused: the strategy of fair sharing does not let it be preempted.
"""

STEPS: Final[Mapping[int, Step]] = {
    codes.TAKEN: "Taken",
    codes.PUT_BACK: "PutBack",
    codes.QUEUE_WITHIN_NOMINAL: "QueueWithinNominal",
    codes.COHORT_WITHIN_QUOTA: "CohortWithinQuota",
    codes.WOULD_BORROW: "WouldBorrow",
    codes.SHARE_REFUSED: "ShareRefused",
}
REASONS: Final[Mapping[int, PreemptionReason]] = {
    codes.IN_CLUSTER_QUEUE: "InClusterQueue",
    codes.TIME_BASED: "InClusterQueueTimeBased",
    codes.RECLAMATION: "InCohortReclamation",
    codes.WHILE_BORROWING: "InCohortReclaimWhileBorrowing",
    codes.FAIR_SHARING: "InCohortFairSharing",
}
TEXTS: Final[Mapping[PreemptionReason, str]] = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InClusterQueueTimeBased": "time-based prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


class Candidate(NamedTuple):
    """A candidate in one turn. It can have another turn: when it is put back, or in the second pass of fair sharing.

    There can be thousands in each decision.
    """

    holder: Holder
    step: Step
    reason: PreemptionReason | None
    """The reason for its preemption if it is among the targets in the end. None if it was not taken, may stay, or the
    attempt failed."""


@dataclass(frozen=True, slots=True)
class SearchAttempt:
    """One attempt to make room. Its steps are in the order in which they happened."""

    borrowing: bool
    """Whether the workload may borrow in this attempt, once the candidates are gone."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of the search that led to a decision."""

    flavors: tuple[FlavorSearch, ...]
    """By pod set and group of resources."""
    attempts: tuple[SearchAttempt, ...]
    """Empty if no preemption was needed, or none was possible."""
    passed_over: tuple[PassedOver, ...]
    """By ClusterQueue and reason. Empty if no preemption was needed, or a preemption would not have helped."""


def explained(
    snapshot: QuotaSnapshot, queue: Queue, ask: Ask, assignment: Assignment, found: Found, fair_sharing: bool
) -> Explanation:
    """The explanation of what the search found for `ask`. `found` must have a trace."""
    passed_over: tuple[PassedOver, ...] = ()
    if assignment.mode == "Preempt":
        seen = {holder.key for _, _, holder, _ in found.trace if isinstance(holder, Holder)}
        passed_over = tuple(NonCandidates(snapshot, queue, ask, fair_sharing).counted(seen))
    return Explanation(assignment.searches, _attempts(found, fair_sharing), passed_over)


def preemption_message(
    preemptor: Workload, reason: PreemptionReason, preemptor_path: str, preemptee_path: str
) -> str:
    """The message of the conditions Preempted and Evicted, in Kueue's words.

    The paths are those of `QuotaSnapshot.path`.
    """
    job = (preemptor.metadata.labels or {}).get(JOB_UID_LABEL, "")
    return (
        f"Preempted to accommodate a workload (UID: {preemptor.metadata.uid or 'UNKNOWN'}, "
        f"JobUID: {job or 'UNKNOWN'}) due to {TEXTS[reason]}; "
        f"preemptor path: {preemptor_path}; preemptee path: {preemptee_path}"
    )


def preempted_message(preemptor: Workload, victim: Workload, queue: str) -> str:
    """What the preemptor's event says of a victim, in Kueue's words. `queue`: the ClusterQueue that the victim leaves.

    A Workload of another namespace is not named (docs/decisions/0037).
    """
    meta, priorities = victim.metadata, [effective_priority(each) for each in (preemptor, victim)]
    name = f" {meta.namespace}/{meta.name}" if meta.namespace == preemptor.metadata.namespace else ""
    said = [f"effective priority: {priority} (base: {priority}, boost: 0)" for priority in priorities]
    return (
        f"Preempted workload{name} (UID: {meta.uid}) in ClusterQueue {queue}; "
        f"preemptor {said[0]}; preemptee {said[1]}"
    )


def _attempts(found: Found, fair_sharing: bool) -> tuple[SearchAttempt, ...]:
    reasons = {holder.key: REASONS[reason] for holder, reason in found.targets if isinstance(holder, Holder)}
    last = found.trace[-1][0] if found.trace else 0
    attempts = []
    for (number, borrowing), steps in groupby(found.trace, key=lambda step: step[:2]):
        # The last attempt starts from nothing. With fair sharing, it continues with what the first pass has taken.
        counts = fair_sharing or number == last
        candidates = [
            Candidate(
                holder, STEPS[step], reasons.get(holder.key) if counts and step == codes.TAKEN else None
            )
            for _, _, holder, step in steps
            if isinstance(holder, Holder)
        ]
        attempts.append(SearchAttempt(borrowing, tuple(candidates)))
    return tuple(attempts)
