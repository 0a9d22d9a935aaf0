"""Which victims change what members ask of other pods, and the choices among them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.search.problem import Built
from nodes.search.spreading.cells import Cells

__all__ = ["Choices"]

Int64s = NDArray[np.int64]

ALL: Final = 6
"""Up to this number of units that count, every choice among them is tried."""

MANY: Final = 50
"""Choices with more pods are not tried, if there are more than ALL units."""


class Choices:
    """The units of a problem that have a pod which some condition counts. Each of them goes, or it stays."""

    def __init__(self, cells: Cells, built: Built, planned: Collection[int]) -> None:
        """`planned`: pods of the victims of a plan that a filter has refused."""
        units, counted = built.units, set(cells.cluster.conditions.counted.tolist())
        pods = [pod for pod in units.pods.tolist() if pod in counted]
        self._units = [units.members(unit) for unit in units.of_pods(pods).tolist()]
        self._planned = frozenset(planned)
        self.pods: Int64s = np.array(sorted({pod for unit in self._units for pod in unit}), np.int64)
        """The pods of all of them."""

    @property
    def complete(self) -> bool:
        """Whether every choice is tried."""
        return len(self._units) <= ALL

    def among(self, going: Collection[int]) -> list[list[int]]:
        """The pods of each unit of a choice, the most important unit first."""
        named = frozenset(going)
        return [unit for unit in self._units if unit[0] in named]

    def __iter__(self) -> Iterator[list[int]]:
        """The pods of the units that go: the smallest choices first, and of those with the least important units."""
        units = self._units[::-1]
        if self.complete:
            for size in range(len(units) + 1):
                for chosen in combinations(units, size):
                    yield [pod for unit in chosen for pod in unit]
            return
        seen = set()
        planned = [unit for unit in units if self._planned.intersection(unit)]
        some = [[unit] for unit in units[:ALL]]
        first = [units[:size] for size in range(2, len(units), max(1, len(units) // ALL))]
        for each in ([], planned, *some, *first, units):
            pods = [pod for unit in each for pod in unit]
            if tuple(pods) not in seen and len(pods) <= MANY:
                seen.add(tuple(pods))
                yield pods
