"""The input and output of the quota search: a workload's request, the tree of quotas, and the preemption targets.

Nodes are the ClusterQueues, then the Cohorts, each sorted by name. An FR is a pair of flavor and resource. Amounts are
in canonical units (cpu in thousandths, everything else in whole units). Times are in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNLIMITED", "Ask", "Found", "Quotas"]

UNLIMITED: Final = 2**63 - 1
"""Stands for a quota that does not fit 64 bits. Usage does not reduce it."""

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Quotas:
    """The tree of N ClusterQueues and Cohorts, and the quota of each node for F FRs."""

    parent: Int32s
    """[N], the parent node, or -1 for a root. There are no cycles."""
    queues: int
    """The number of ClusterQueues. Nodes below this number are ClusterQueues, the others are Cohorts."""

    defined: Flags
    """[N, F], 1 where the node's own spec names the FR."""
    nominal: Int64s
    borrowing_limit: Int64s
    lending_limit: Int64s
    """[N, F], 0 or more, or UNSET if there is no limit."""

    resource: Int32s
    """[F], the resource of the FR."""
    weight: NDArray[np.float64]
    """[N], the weight in fair sharing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a workload requests from its ClusterQueue, and which workloads the ClusterQueue lets it preempt."""

    queue: int
    priority: int
    queued: int
    """The workload's queue timestamp."""
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
    """The FRs that the workload requests, each once."""
    amounts: tuple[int, ...]
    """The amount of each of `frs`. 0 for an FR that is contested but that the result need not provide: Kueue's search
    ignores the count of pods."""
    contested: tuple[bool, ...]
    """For each of `frs`, whether the workload gets it only by preemption."""
    closed: tuple[int, ...] = ()
    """Other ClusterQueues that are not active. Their workloads are no candidates."""


@dataclass(frozen=True, slots=True)
class Found:
    """The workloads to preempt. Without targets, preemption cannot help."""

    targets: list[tuple[object, int]]
    """Pairs of (holder, reason)."""
    trace: list[tuple[int, bool, object, int]]
    """The steps of the search in order: (number of the attempt, whether it may borrow, holder, result)."""
