"""Filters that count pods on all nodes, not only on the one that is asked about: their interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nodes.filters.filter import EVERYWHERE, Filter, N, NodeShape, Tenant
from nodes.filters.terms import Term

__all__ = ["Condition", "Counter", "CountingFilter", "Nodes"]

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

Counter = tuple[Term, ...]
"""Counts the pods that all terms select. Every term has its namespaces."""


class Nodes:
    """All N nodes, and where they are."""

    def __init__(self, shapes: Sequence[NodeShape | None], names: Sequence[str]) -> None:
        self.shapes = shapes
        """None for a node that does not exist."""
        self.names = names
        self._places: dict[str, NDArray[np.intp]] = {}

    def places(self, key: str) -> NDArray[np.intp]:
        """[N], the number of the node's value of the label, in the order of the values; -1 without the label.

        EVERYWHERE: all 0.
        """
        known = self._places.get(key)
        if known is None and key == EVERYWHERE:
            known = self._places[key] = np.zeros(len(self.shapes), np.intp)
        elif known is None:
            labels = [shape.labels.get(key) if shape is not None else None for shape in self.shapes]
            values = sorted({value for value in labels if value is not None})
            numbers = {value: number for number, value in enumerate(values)}
            rows = [-1 if value is None else numbers[value] for value in labels]
            known = self._places[key] = np.array(rows, np.intp)
        return known

    def sums(self, key: str, counts: Int64s) -> Int64s:
        """[places], the sum over the nodes of each place. The last one is 0, for nodes without the label."""
        places = self.places(key)
        sums = np.bincount(places + 1, weights=counts, minlength=2).astype(np.int64)
        sums[0] = 0
        return np.roll(sums, -1)

    def together(self, key: str, counts: Int64s) -> Int64s:
        """[N], for each node the sum over the nodes with its value of the label; 0 without the label."""
        found: Int64s = self.sums(key, counts)[self.places(key)]
        return found


class Condition(ABC):
    """What a pod asks of the pods that are on the nodes."""

    counters: Sequence[Counter]
    """Q pods to count."""
    keys: Sequence[str]
    """The topology keys of the domains in which they are counted."""
    reason: ClassVar[str]
    """Why the scheduler refuses a node, in its own words."""
    unmodelled: ClassVar[str]
    """What a plan names that breaks the condition: the search does not look at how members change the counts."""

    @abstractmethod
    def admits(self, nodes: Nodes, counts: Int64s) -> Bools:
        """[N], which nodes take the pod. `counts` [N, Q]: how many pods on each node each counter counts."""

    def admits_amid(self, nodes: Nodes, counts: Int64s, coming: Int64s) -> Bools:
        """[N], which nodes take the pod now, and also if other members come first: any of those in `coming` [N, Q]."""
        found: Bools = self.admits(nodes, counts) & self.admits(nodes, counts + coming)
        return found

    @abstractmethod
    def could_admit(self, nodes: Nodes, counts: Int64s, members: Int64s) -> Bools:
        """[N], which nodes could take the pod if some pods go and members are placed.

        `members` [Q]: how many of the pods that wait for a node each counter counts, this pod among them.
        """


class CountingFilter(Filter[N], ABC):
    """A filter whose verdict on a node depends on pods on other nodes."""

    @abstractmethod
    def condition(self, member: Tenant) -> Condition | None:
        """The member's condition; None if it has none. `member.needs` is what this filter needs of it."""
