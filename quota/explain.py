"""Why a decision is as it is: what became of each candidate, and why other workloads were no candidates. Data, not
text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from api.workloads import JOB_UID_LABEL, PreemptionReason, Workload
from native import codes
from native.codes import LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from native.quota.quotas import Ask, Found
from quota.assignment import Assignment, FlavorSearch
from quota.snapshot import Holder, Queue, QuotaSnapshot

__all__ = [
    "REASONS",
    "Candidate",
    "Explanation",
    "NotCandidate",
    "PassedOver",
    "SearchAttempt",
    "Step",
    "explained",
    "preemption_message",
]

Step = Literal["Taken", "PutBack", "QueueWithinNominal", "CohortWithinQuota", "WouldBorrow", "ShareRefused"]
"""What became of a candidate.

PutBack: it was taken, but the workload also fits without it, so it may stay. QueueWithinNominal: its ClusterQueue
does not use more than its quota of what is contested, or no longer does. CohortWithinQuota: the same for a Cohort
above its ClusterQueue. WouldBorrow: it goes only for a workload that stays within the nominal quota. ShareRefused:
the strategy of fair sharing does not let it go.
"""

NotCandidate = Literal[
    "Policy",
    "QueueInactive",
    "OtherFlavors",
    "QueueWithinNominal",
    "CohortWithinQuota",
    "Priority",
    "NotNewer",
    "NotReached",
]
"""Why a holder of the same tree was no candidate.

Policy: withinClusterQueue or reclaimWithinCohort is Never. QueueInactive: its ClusterQueue is not active.
OtherFlavors: it uses nothing of what is contested. QueueWithinNominal, CohortWithinQuota: as for a candidate.
Priority: its priority is not lower, as the policy requires. NotNewer: its priority is equal, it is not newer, and its
time is not over. NotReached: it was a candidate, but its turn did not come. The search ended before, or fair sharing
was done with its queue.
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate in one turn. It can have another turn: when it is put back, or in the second pass of fair sharing."""

    holder: Holder
    step: Step
    reason: PreemptionReason | None
    """The reason for its preemption if it must go in the end. None if it was not taken, may stay, or the attempt
    failed."""


@dataclass(frozen=True, slots=True)
class SearchAttempt:
    """One attempt to make room. Its steps are in the order in which they happened."""

    borrowing: bool
    """Whether the workload may borrow in this attempt, once the candidates are gone."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Holders of one ClusterQueue that were no candidates, for one reason."""

    queue: str
    reason: NotCandidate
    count: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of the search that led to a decision."""

    flavors: tuple[FlavorSearch, ...]
    """By pod set and group of resources."""
    attempts: tuple[SearchAttempt, ...]
    """Empty if no workload had to go, or none could."""
    passed_over: tuple[PassedOver, ...]
    """By ClusterQueue and reason. Empty if no workload had to go, or a preemption would not have helped."""


def explained(
    snapshot: QuotaSnapshot, queue: Queue, ask: Ask, assignment: Assignment, found: Found, fair_sharing: bool
) -> Explanation:
    """The explanation of what the search found for `ask`. `found` must have a trace."""
    passed_over: tuple[PassedOver, ...] = ()
    if assignment.mode == "Preempt":
        seen = {holder.key for _, _, holder, _ in found.trace if isinstance(holder, Holder)}
        passed_over = tuple(_NonCandidates(snapshot, queue, ask, fair_sharing).counted(seen))
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


class _NonCandidates:
    """The holders that were no candidates. The rules are the search's own, applied to one holder at a time."""

    def __init__(self, snapshot: QuotaSnapshot, queue: Queue, ask: Ask, fair_sharing: bool) -> None:
        self._snapshot = snapshot
        self._queue = queue
        self._ask = ask
        self._fair_sharing = fair_sharing
        self._parent = snapshot.layout.quotas.parent.tolist()
        self._above = frozenset(self._ancestors(queue.node))
        names = {number: pair for pair, number in snapshot.layout.frs.items()}
        contested = [fr for fr, is_contested in zip(ask.frs, ask.contested, strict=True) if is_contested]
        self._contested = contested
        self._pairs = frozenset(names[fr] for fr in contested)

    def counted(self, seen: set[str]) -> Iterator[PassedOver]:
        """All holders that are not in `seen`, by ClusterQueue and reason. The workload's own
        ClusterQueue comes first."""
        others = (each for each in self._snapshot.queues.values() if self._in_tree(each.node))
        for queue in sorted(others, key=lambda each: (each is not self._queue, each.name)):
            shut = self._shut(queue)
            counts = Counter(
                shut or self._why(holder, own=queue is self._queue)
                for holder in self._snapshot.ledger.holders(queue.node)
                if isinstance(holder, Holder) and holder.key not in seen
            )
            for reason, count in sorted(counts.items()):
                yield PassedOver(queue.name, reason, count)

    def _shut(self, queue: Queue) -> NotCandidate | None:
        """Why no holder of the ClusterQueue is a candidate; None if each holder has a reason of its own."""
        if queue is self._queue:
            return "Policy" if self._ask.within == NEVER else None
        if self._ask.reclaim == NEVER:
            return "Policy"
        if queue.inactive:
            return "QueueInactive"
        if self._within_quota(queue.node):
            return "QueueWithinNominal"
        cohorts = [node for node in self._ancestors(queue.node) if node not in self._above]
        if not self._fair_sharing and any(map(self._within_quota, cohorts)):
            return "CohortWithinQuota"
        return None

    def _why(self, holder: Holder, *, own: bool) -> NotCandidate:
        ask = self._ask
        policy = ask.within if own else ask.reclaim
        if self._pairs.isdisjoint(holder.usage):
            return "OtherFlavors"
        if policy in (LOWER_PRIORITY, LOWER_OR_NEWER) and holder.priority >= ask.priority:
            if holder.priority > ask.priority or policy == LOWER_PRIORITY:
                return "Priority"
            expired = ask.min_admit is not None and ask.now - holder.reserved > ask.min_admit
            if holder.queued <= ask.queued and not expired:
                return "NotNewer"
        return "NotReached"

    def _within_quota(self, node: int) -> bool:
        ledger = self._snapshot.ledger
        return all(ledger.usage(node, fr) <= ledger.quota(node, fr) for fr in self._contested)

    def _in_tree(self, node: int) -> bool:
        return node == self._queue.node or not self._above.isdisjoint(self._ancestors(node))

    def _ancestors(self, node: int) -> Iterator[int]:
        while (node := self._parent[node]) >= 0:
            yield node
