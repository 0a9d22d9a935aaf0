"""The health of pods. It changes often, and concerns only decisions that respect budgets."""

from __future__ import annotations

from typing import Final

import numpy as np

from api.core import PodStatus
from nodes.state.columns.columns import Column
from nodes.state.columns.flags import TERMINATING
from nodes.state.groups.budgets import LabelSets
from nodes.state.groups.exempt import health_of, is_exempt
from nodes.state.pods.pod_facts import NOWHERE, Change, Facts

__all__ = ["PodHealth"]

NOTHING: Final = Change.NOTHING


class PodHealth:
    """A column of its own: nothing else in the tables follows from the health of a pod."""

    def __init__(self, labels: LabelSets) -> None:
        self._labels = labels
        self.column = Column(np.uint8)
        """READY and PENDING of `nodes.state.groups.exempt`."""
        self.exempted = 0
        """Grows when a pod becomes exempt from the budgets that select it."""

    def note(self, row: int, facts: Facts, status: PodStatus) -> Change:
        """Follow the health of a pod. A change matters if the pod becomes exempt from its budgets, or no longer is."""
        health, before = health_of(status), self.column.cells[row]
        if health == before:
            return NOTHING
        self.column.cells[row] = health
        if facts.node == NOWHERE or facts.flags & TERMINATING or not self._labels.selected_by[facts.labels]:
            return NOTHING
        unready = self._labels.exempts_unready(facts.labels)
        was, now = (is_exempt(each, exempts_unready=unready) for each in (before, health))
        self.exempted += now and not was
        return NOTHING if was == now else Change.DECISION

    def forget(self, row: int) -> None:
        """The pod is gone."""
        self.column.cells[row] = 0
