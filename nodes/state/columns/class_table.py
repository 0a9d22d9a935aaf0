"""The table of pod classes. Pods refer to their class by its row."""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from api.requests import PODS
from nodes.filters.registry import COUNTING_FILTERS, POD_FILTERS
from nodes.state.columns.classes import PodClass
from nodes.state.columns.columns import Columns, Register
from nodes.state.columns.resources import Resources

__all__ = ["ClassTable"]

APART: Final = [place for place, _ in (*POD_FILTERS, *COUNTING_FILTERS)]
"""Places in the registry of the filters by which pods keep other pods off nodes, or count other pods."""
NEEDS_APART: Final = itemgetter(*APART)
NONE_APART: Final = (None,) * len(APART)


class ClassTable:
    """Pod classes by row, and what each class requests [C, R]."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self.classes: Register[PodClass] = Register()
        self.requests = resources.matrix()
        self._columns = Columns(self.requests)
        self.keeping_apart: set[int] = set()
        """Rows of the classes of pods that may keep other pods off nodes, by host ports or anti-affinity, or that count
        other pods."""
        self.choosing_namespaces: set[int] = set()
        """Rows of the classes of pods that choose namespaces by their labels."""

    def hold(self, pod_class: PodClass) -> int:
        """Count one more reference to the class. Returns its row."""
        row, new = self.classes.hold(pod_class)
        if new:
            self._columns.reach(self.classes.size)
            self._resources.put({**pod_class.requests, PODS: 1}, self.requests, row)
            if _keeps_apart(pod_class):
                self.keeping_apart.add(row)
            if pod_class.chooses_namespaces:
                self.choosing_namespaces.add(row)
        return row

    def drop(self, row: int) -> None:
        """Count one reference less to the class."""
        pod_class = self.classes.keys[row]
        if self.classes.drop(row) and pod_class is not None:
            self.requests.array[row] = 0
            self.keeping_apart.discard(row)
            self.choosing_namespaces.discard(row)


def _keeps_apart(pod_class: PodClass) -> bool:
    return bool(NEEDS_APART(pod_class.needs) != NONE_APART)
