"""Partial admission: the largest number of pods, not below minCount, for which a Workload gets quota.

The rule is Kueue's (pkg/scheduler/flavorassigner/podset_reducer.go, getInitialAssignments of pkg/scheduler). All pod
sets that have a minCount shrink together, each in proportion to what it may give up.

See docs/decisions/0089.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from api.podsets import PodSet

__all__ = ["can_shrink", "counts_at", "largest", "may_give_up"]

Found = TypeVar("Found")


def may_give_up(pods: PodSet) -> int:
    """How many of its pods a pod set can do without."""
    return max(0, pods.count - pods.min_count) if pods.min_count is not None else 0


def can_shrink(pod_sets: Iterable[PodSet]) -> bool:
    """Whether a Workload with these pod sets may be admitted with fewer pods than it asks for."""
    return any(may_give_up(each) > 0 for each in pod_sets)


def counts_at(pod_sets: Sequence[PodSet], given_up: int) -> tuple[int, ...]:
    """The number of pods of each pod set. `given_up`: from 0 (all pods) to the sum of `may_give_up` (minCount)."""
    total = sum(map(may_give_up, pod_sets))
    return tuple(each.count - may_give_up(each) * given_up // total for each in pod_sets)


def largest(pod_sets: Sequence[PodSet], attempt: Callable[[tuple[int, ...]], Found | None]) -> Found | None:
    """What `attempt` finds with the most pods; None if it finds nothing with any number that is tried.

    `attempt` gets the number of pods of each pod set. The search halves the range each time. It takes for granted that
    fewer pods fit wherever more do; where that does not hold, the answer is still Kueue's.
    """
    low, high = 0, sum(map(may_give_up, pod_sets)) + 1
    best: Found | None = None
    while low < high:
        middle = (low + high) // 2
        found = attempt(counts_at(pod_sets, middle))
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    return best
