"""Which units would break a disruption budget if they were evicted, by kube-scheduler's count.

Upstream: `FilterVictimsWithPDBViolation` in pkg/scheduler/framework/preemption/util.go. Budgets are drawn on in the
order of importance, by all units in the cluster that could be evicted. Of a budget that allows two disruptions, the two
most important units do not break it, and all others do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from nodes.search.steering.candidates import Candidates, ties
from nodes.state.columns.flags import UNSELECTED
from nodes.state.snapshot import Snapshot

__all__ = ["Protected", "protected"]


class Protected(NamedTuple):
    """The units that break a budget."""

    breaking: frozenset[int]
    uncertain: frozenset[int]
    """Units for which upstream leaves this open. It depends on which of two equally important units comes first, or on
    the order in which the budgets of one pod are read."""


def protected(seen: Snapshot, found: Candidates) -> Protected:
    """The units of `found` that would break a budget."""
    drawing = _drawing(seen, found)
    counts = _Budgets(seen)
    breaking: set[int] = set()
    uncertain: set[int] = set()
    for equals in ties(found, drawing):
        drew = {unit for unit in equals if counts.selects(found.members(unit))}
        over = {unit for unit in equals if counts.draw(found.members(unit))}
        breaking |= over
        if counts.several or (over and over != drew):
            uncertain |= drew
    return Protected(frozenset(breaking), frozenset(uncertain))


def _drawing(seen: Snapshot, found: Candidates) -> list[int]:
    """The units with a pod that some budget selects, in order."""
    selected = seen.label_budget[seen.pod_labels[found.pods]] != UNSELECTED
    units: list[int] = np.unique(found.units_of_pods()[selected]).tolist()
    return units


class _Budgets:
    """What is left of the budgets."""

    def __init__(self, seen: Snapshot) -> None:
        self._seen = seen
        self._left = [each.allowed if each is not None else 0 for each in seen.budgets]
        self.several = False
        """Whether a pod of several budgets has broken one. Upstream then does not draw on those that come later, and
        reads budgets in no order."""

    def draw(self, pods: Collection[int]) -> bool:
        """Evict the pods. Whether one of them breaks a budget."""
        over = [self._draw(pod) for pod in pods]
        return any(over)

    def selects(self, pods: Collection[int]) -> bool:
        """Whether a budget counts one of the pods."""
        return any(self._counting(pod) for pod in pods)

    def _draw(self, pod: int) -> bool:
        budgets = self._counting(pod)
        for budget in budgets:
            self._left[budget] -= 1
            if self._left[budget] < 0:
                self.several |= len(budgets) > 1
                return True
        return False

    def _counting(self, pod: int) -> list[int]:
        """The budgets that count the pod. None counts one without labels, and none with an empty selector counts."""
        seen, row = self._seen, int(self._seen.pod_labels[pod])
        held, name = seen.label_sets[row], seen.pod_names[pod]
        if held is None or not held[1]:
            return []
        rows = ((budget, seen.budgets[budget]) for budget in seen.label_budgets[row])
        return [
            budget
            for budget, each in rows
            if each is not None and not each.selects_all and name not in each.disrupted
        ]
