"""The pods in the order of their names, kept from event to event."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["NameOrder"]

Rows = NDArray[np.int32]

FEW: Final = 8
"""If more than one pod in `FEW` is new, all names are sorted again."""


class NameOrder:
    """The rows of the pods, sorted by (namespace, name). New rows wait until somebody asks for the order."""

    def __init__(self, namespaces: Sequence[str], names: Sequence[str]) -> None:
        """The lists belong to the caller, who says which rows change. A row without a name is dead."""
        self._namespaces, self._names = namespaces, names
        self._order: Rows = np.zeros(0, np.int32)
        self._ranks: Rows = np.zeros(0, np.int32)
        self._changed: set[int] = set()

    def change(self, row: int) -> None:
        """Another pod has the row, or none."""
        self._changed.add(row)

    def ranks(self) -> Rows:
        """[P], the place of each row in the order. Nobody may change this array. That of a dead row means nothing."""
        if self._changed:
            self._merge()
            self._ranks = np.zeros(len(self._names), np.int32)
            self._ranks[self._order] = np.arange(len(self._order), dtype=np.int32)
            self._changed.clear()
        return self._ranks

    def _merge(self) -> None:
        if len(self._changed) * FEW > len(self._names):
            names = [*zip(self._namespaces, self._names, strict=True)]
            rows = (row for row, (_, name) in enumerate(names) if name)
            self._order = np.array(sorted(rows, key=names.__getitem__), np.int32)
            return
        changed = np.zeros(len(self._names), np.bool_)
        changed[list(self._changed)] = True
        kept = self._order[~changed[self._order]]
        new = sorted((row for row in self._changed if self._names[row]), key=self._name)
        places = [bisect_left(kept, self._name(row), key=self._name) for row in new]
        self._order = np.insert(kept, places, np.array(new, np.int32))

    def _name(self, row: int) -> tuple[str, str]:
        return self._namespaces[row], self._names[row]
