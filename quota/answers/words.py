"""Decisions about quota in words: what a flavor lacks, and why a workload is preempted."""

from __future__ import annotations

from itertools import dropwhile
from typing import Final

from api.workloads import Workload
from quota.search.assignment import Check, NoFitReason, QuotaRule
from quota.search.decision import Target
from quota.state.amounts import shown
from quota.state.snapshot import Queue

__all__ = ["NOT_COVERED", "NO_FIT", "backs_off", "because", "duration", "rule_text", "tried_again"]

NO_FIT: Final[dict[NoFitReason, str]] = {
    "": "There is no room for it.",
    "WaitingForQuota": "There is no room for it. Others may not be preempted for as much as it asks for.",
    "ExceedsMaxQuota": "It asks for more than there would be if no quota was in use.",
    "NoMatchingFlavor": "There is no flavor that suits it.",
}

RULES: Final[dict[QuotaRule, str]] = {
    "WithinAvailable": "free",
    "ExceedsMaxQuota": "more than there would be if no quota was in use",
    "ExceedsNominalQuota": "{short} more needed, and preemption cannot take more than the nominal quota",
    "NotSimulated": "{short} more needed",
    "PreemptionReclaims": "{short} more needed: others give back what they borrow",
    "PreemptionSuffices": "{short} more needed: workloads in {queue} can be preempted",
    "NoPreemptionCandidates": "{short} more needed, and no workload may be preempted for it",
}

NOT_COVERED: Final = "the ClusterQueue has no quota for it"
UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
MAX_UNITS: Final = 3


def rule_text(check: Check, queue: str) -> str:
    """Why a flavor has the resource for the workload, or has not. `queue`: the workload's ClusterQueue."""
    short = shown(check.resource, check.earlier + check.asked - check.available)
    return RULES[check.rule].format(short=short, queue=queue)


def because(target: Target, priority: int, queue: Queue) -> str:
    """The rule by which the target is preempted. `priority` and `queue` are those of the preemptor."""
    match target.reason:
        case "InClusterQueue" if target.holder.priority < priority:
            return "lower priority in the same ClusterQueue"
        case "InClusterQueue":
            return "same priority in the same ClusterQueue, and newer"
        case "InClusterQueueTimeBased":
            return f"same priority, held for longer than {duration(queue.min_admit or 0)}"
        case "InCohortReclamation":
            return "its ClusterQueue borrows what others have a right to"
        case "InCohortReclaimWhileBorrowing":
            threshold = queue.spec.preemption.borrow_within_cohort.max_priority_threshold
            limit = "" if threshold is None else f", not above {threshold}"
            return f"lower priority{limit}, and its ClusterQueue borrows"
        case "InCohortFairSharing":
            return "its ClusterQueue has the greater share"


def tried_again(workload: Workload) -> str:
    """When a Workload that backs off is tried again."""
    state = workload.status.requeue_state
    until = state.requeue_at if state is not None else None
    return f"not before {until}" if until else "when its condition Requeued becomes True"


def backs_off(again: str) -> str:
    """A clause about a Workload that backs off. `again`: see `tried_again`."""
    return f"it was evicted, and is in no queue for a while: it is tried again {again}"


def duration(microseconds: int) -> str:
    """The largest units, such as `1d4h` or `4h0m1s`. If the clock is behind, the answer is `0s`."""
    rest, counts = max(0, microseconds) // 1_000_000, []
    for unit, seconds in UNITS:
        count, rest = divmod(rest, seconds)
        counts.append((count, unit))
    counts = list(dropwhile(_is_zero, counts))[:MAX_UNITS]
    while counts and _is_zero(counts[-1]):
        counts.pop()
    return "".join(f"{count}{unit}" for count, unit in counts) or "0s"


def _is_zero(count: tuple[int, str]) -> bool:
    return not count[0]
