"""What a workload asks of the search: its place in the order, which workloads it may preempt, and the amounts it
needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from api.requests import PODS
from api.workloads import Workload
from native.codes import ANY, FINAL_SHARE, INITIAL_SHARE, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from native.quota.quotas import Ask
from quota.search.assignment import Assignment
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import effective_priority, queue_timestamp

__all__ = ["Options", "ask_for", "ask_of"]

POLICIES: Final[Mapping[str, int]] = {
    "Never": NEVER,
    "LowerPriority": LOWER_PRIORITY,
    "LowerOrNewerEqualPriority": LOWER_OR_NEWER,
    "Any": ANY,
}


@dataclass(frozen=True, slots=True)
class Options:
    """The part of Kueue's configuration that decisions depend on."""

    fair_sharing: bool = False
    strategies: tuple[int, ...] = (FINAL_SHARE, INITIAL_SHARE)
    """fairSharing.preemptionStrategies."""
    time_based: bool = True
    """Feature gate TimeBasedSamePriorityPreemption (KEP-8522)."""

    @property
    def search(self) -> tuple[int, ...] | None:
        """The strategies for the search; None without fair sharing."""
        return self.strategies if self.fair_sharing else None


def ask_of(snapshot: QuotaSnapshot, queue: Queue, workload: Workload, now: int, options: Options) -> Ask:
    """The workload's question to the search, without amounts. `now` is in microseconds. Raises QuotaError."""
    preemption = queue.spec.preemption
    borrow = preemption.borrow_within_cohort
    return Ask(
        queue=queue.node,
        priority=effective_priority(workload),
        queued=queue_timestamp(workload),
        now=now,
        within=POLICIES[preemption.within_cluster_queue],
        reclaim=POLICIES[preemption.reclaim_within_cohort],
        borrow=borrow.policy != "Never",
        threshold=borrow.max_priority_threshold,
        min_admit=queue.min_admit if options.time_based else None,
        frs=(),
        amounts=(),
        contested=(),
        closed=snapshot.closed,
    )


def ask_for(
    snapshot: QuotaSnapshot,
    queue: Queue,
    workload: Workload,
    now: int,
    options: Options,
    assignment: Assignment,
) -> Ask:
    """The workload's question to the search, with all amounts that it would use. `now` is in microseconds. Raises
    QuotaError.

    As in Kueue, the number of pods may be contested, but the search does not check that it fits once the targets are
    gone.
    """
    amounts = {pair: 0 if pair[1] == PODS else amount for pair, amount in assignment.usage.items()}
    pairs = sorted(pair for pair, amount in amounts.items() if amount or pair in assignment.contested)
    return replace(
        ask_of(snapshot, queue, workload, now, options),
        frs=tuple(snapshot.layout.frs[pair] for pair in pairs),
        amounts=tuple(amounts[pair] for pair in pairs),
        contested=tuple(pair in assignment.contested for pair in pairs),
    )
