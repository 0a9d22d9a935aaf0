"""The health of pods. It changes often, and concerns only decisions that respect budgets."""

from __future__ import annotations

from typing import Final

import numpy as np

from api.core import PodStatus
from nodes.state.columns.columns import Column
from nodes.state.columns.flags import TERMINATING
from nodes.state.groups.budgets import LabelSets
from nodes.state.groups.uncounted import health_of, is_uncounted
from nodes.state.pods.pod_facts import NOWHERE, Change, Facts

__all__ = ["PodHealth"]

NOTHING: Final = Change.NOTHING


class PodHealth:
    """A column of its own: nothing else in the tables follows from the health of a pod."""

    def __init__(self, labels: LabelSets) -> None:
        self._labels = labels
        self.column = Column(np.uint8)
        """READY and PENDING of `nodes.state.groups.uncounted`."""
        self.let_go = 0
        """Grows when the API server would evict a pod without counting it that it counted before."""

    def note(self, row: int, facts: Facts, status: PodStatus) -> Change:
        """Follow the health of a pod. It decides something if the API server now counts the pod, or no longer does."""
        health, before = health_of(status), self.column.cells[row]
        if health == before:
            return NOTHING
        self.column.cells[row] = health
        if facts.node == NOWHERE or facts.flags & TERMINATING or not self._labels.selected_by[facts.labels]:
            return NOTHING
        lets = self._labels.let_unready_go(facts.labels)
        did, does = (is_uncounted(each, lets_unready_go=lets) for each in (before, health))
        self.let_go += does and not did
        return NOTHING if did == does else Change.DECISION

    def forget(self, row: int) -> None:
        """The pod is gone."""
        self.column.cells[row] = 0
