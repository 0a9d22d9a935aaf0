"""Filters that count pods on all nodes, not only on the one that is asked about: their interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.filters.filter import EVERYWHERE, Filter, N, NodeShape, Tenant
from nodes.filters.terms import Term

__all__ = ["MANY", "Condition", "Counter", "CountingFilter", "Nodes", "Share"]

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

MANY: Final = 2**31
"""As many pods as there may ever be."""

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

    def value(self, key: str, node: int) -> str:
        """The node's value of the label; empty without the label."""
        shape = self.shapes[node]
        return shape.labels.get(key, "") if shape is not None else ""

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


class Share(NamedTuple):
    """How many more members a condition lets into each place of one topology key, at the most."""

    key: str
    """The topology key."""
    places: NDArray[np.intp]
    """[N], the place of each node; -1 without one."""
    most: Int64s
    """[places], for all members together that have the condition and are counted by it."""
    counter: int
    """The place of the condition's counter, which counts them."""
    shortest: int
    """The place that bounds the others; -1 if none does."""
    name: str
    """What refuses more of them, in words."""


class Condition(ABC):
    """What a pod asks of the pods that are on the nodes."""

    counts_promised: ClassVar[bool] = True
    """Whether pods count that are not there yet, but for which room is promised."""
    counters: Sequence[Counter]
    """Q pods to count."""
    keys: Sequence[str]
    """The topology keys of the domains in which they are counted."""
    reason: ClassVar[str]
    """Why the scheduler refuses a node, in its own words."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """What it asks for, in words."""

    @abstractmethod
    def admits(self, nodes: Nodes, counts: Int64s) -> Bools:
        """[N], which nodes take the pod. `counts` [N, Q]: how many pods on each node each counter counts."""

    @abstractmethod
    def admits_amid(self, nodes: Nodes, counts: Int64s, coming: Int64s, own: Int64s) -> Bools:
        """[N], which nodes take the pod, whichever of the members in `coming` [N, Q] come before it.

        The pod is one of them, and adds `own` [Q] on its node. What is said of other nodes means nothing.
        """

    @abstractmethod
    def could_admit(self, nodes: Nodes, counts: Int64s, members: Int64s) -> Bools:
        """[N], which nodes could take the pod if some pods go and members are placed.

        `members` [Q]: how many of the pods that wait for a node each counter counts, this pod among them.
        """

    def reaches(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s) -> Bools:
        """[N], which nodes could take the pod at all while the counts [N, Q] are between `fewest` and `most`.

        Other members may come first where `coming` [N, Q] has some.
        """
        return np.ones(len(nodes.names), np.bool_)

    def shares(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s) -> list[Share]:
        """What bounds the members with this condition while the counts [N, Q] are between `fewest` and `most`, and at
        most `coming` [N, Q] more are counted."""
        return []

    def gathers(self, nodes: Nodes, counts: Int64s) -> bool:
        """Whether all pods with the condition have to be in one place of each key: the first one has nobody to be
        beside, and the others have only those that come. `counts` [N, Q]: pods that may be there."""
        return False

    def splits(self, nodes: Nodes) -> list[Bools]:
        """[N] each: nodes in the same places may differ for the condition by these values, and by no others."""
        return []

    def why_not(self, nodes: Nodes, counts: Int64s, node: int) -> str:
        """What the condition counts, for a node that it does not admit, in words."""
        return ", ".join(self.names)


class CountingFilter(Filter[N], ABC):
    """A filter whose verdict on a node depends on pods on other nodes."""

    @abstractmethod
    def condition(self, member: Tenant) -> Condition | None:
        """The member's condition; None if it has none. `member.needs` is what this filter needs of it."""
