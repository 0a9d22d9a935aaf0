"""Every code in the input or output of a kernel, by engine. native/codes.pxd has the same codes for the kernels.

A test compares the two files, and the copies in the twins.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ANY",
    "COHORT_WITHIN_QUOTA",
    "EXHAUSTED",
    "FAIR_SHARING",
    "FEASIBLE",
    "FINAL_SHARE",
    "FITS",
    "INFEASIBLE",
    "INITIAL_SHARE",
    "IN_CLUSTER_QUEUE",
    "LOWER_OR_NEWER",
    "LOWER_PRIORITY",
    "NEVER",
    "NO_CANDIDATES",
    "PREEMPT",
    "PREEMPTS",
    "PUT_BACK",
    "QUEUE_WITHIN_NOMINAL",
    "RECLAIM",
    "RECLAMATION",
    "SHARE_REFUSED",
    "SPENT",
    "TAKEN",
    "TIME_BASED",
    "UNSCHEDULABLE",
    "UNSET",
    "WHILE_BORROWING",
    "WOULD_BORROW",
]

# ---- nodes

FITS: Final = 0
PREEMPTS: Final = 1
UNSCHEDULABLE: Final = 2
EXHAUSTED: Final = 3
"""The outcomes of a domain: no eviction is needed; victims make room; impossible; unknown within the search budget."""

INFEASIBLE: Final = 0
FEASIBLE: Final = 1
SPENT: Final = -1
"""The results of a packing: the members do not fit; the members fit; unknown within the search budget."""

# ---- quota

UNSET: Final = -1
"""No borrowing or lending limit."""

NEVER: Final = 0
LOWER_PRIORITY: Final = 1
LOWER_OR_NEWER: Final = 2
ANY: Final = 3
"""Preemption policies. LOWER_OR_NEWER is LowerOrNewerEqualPriority."""

IN_CLUSTER_QUEUE: Final = 0
TIME_BASED: Final = 1
RECLAMATION: Final = 2
WHILE_BORROWING: Final = 3
FAIR_SHARING: Final = 4
"""The reasons why a workload is a target of preemption."""

NO_CANDIDATES: Final = 0
PREEMPT: Final = 1
RECLAIM: Final = 2
"""The results of a simulated preemption: there is no candidate; a workload of the own ClusterQueue is
preempted; only workloads of other ClusterQueues are preempted."""

FINAL_SHARE: Final = 0
INITIAL_SHARE: Final = 1
"""Fair sharing strategies: LessThanOrEqualToFinalShare, LessThanInitialShare."""

TAKEN: Final = 0
PUT_BACK: Final = 1
QUEUE_WITHIN_NOMINAL: Final = 2
COHORT_WITHIN_QUOTA: Final = 3
WOULD_BORROW: Final = 4
SHARE_REFUSED: Final = 5
"""What the search does with a candidate."""
