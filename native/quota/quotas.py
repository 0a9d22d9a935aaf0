"""What the quota search is given and what it answers: who wants quota, whose it may take, and whose it took.

Nodes are the ClusterQueues, then the Cohorts, each by name. An FR is a pair of flavor and resource. Amounts are in
canonical units (cpu in thousandths, everything else whole), times in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNLIMITED", "Ask", "Found", "Quotas"]

UNLIMITED: Final = 2**63 - 1
"""A quota that does not fit 64 bits: whatever is taken of it, it stays."""

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Quotas:
    """The tree of N ClusterQueues and Cohorts, and the quota of each for F flavor-resources."""

    parent: Int32s
    """[N], -1 for a root. No cycles."""
    queues: int
    """Nodes below this are ClusterQueues, the others Cohorts."""

    defined: Flags
    """[N, F], 1 where the node's own spec names the FR."""
    nominal: Int64s
    borrowing_limit: Int64s
    lending_limit: Int64s
    """[N, F], 0 or more; UNSET where there is no limit."""

    resource: Int32s
    """[F], the resource of the FR."""
    weight: NDArray[np.float64]
    """[N], the weight in fair sharing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a workload wants of its ClusterQueue, and whom that ClusterQueue lets it preempt."""

    queue: int
    priority: int
    queued: int
    """Its queue timestamp."""
    now: int

    within: int
    """withinClusterQueue: NEVER, LOWER_PRIORITY or LOWER_OR_NEWER."""
    reclaim: int
    """reclaimWithinCohort: NEVER, LOWER_PRIORITY or ANY."""
    borrow: bool
    """Whether borrowWithinCohort.policy is other than Never (KEP-1337)."""
    threshold: int | None
    """borrowWithinCohort.maxPriorityThreshold."""
    min_admit: int | None
    """withinClusterQueueConfig.minAdmitDuration (KEP-8522)."""

    frs: tuple[int, ...]
    """The FRs that it wants some of, each once."""
    amounts: tuple[int, ...]
    """As many. 0 of what is contested, but need not be there in the end: Kueue's search forgets the count of pods."""
    contested: tuple[bool, ...]
    """As many: those that it gets only by preemption."""
    closed: tuple[int, ...] = ()
    """Other ClusterQueues whose holders stay: those that are not active."""


@dataclass(frozen=True, slots=True)
class Found:
    """Who must go. No targets: it cannot be done."""

    targets: list[tuple[object, int]]
    """Holder and reason."""
    trace: list[tuple[int, bool, object, int]]
    """Number of the attempt, whether it may borrow, holder, what became of it; in the order in which it happened."""
