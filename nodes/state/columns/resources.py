"""The column of each resource. A new resource gets a new column, and no column ever goes away."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.requests import PODS
from nodes.state.columns.columns import Matrix

__all__ = ["Resources"]

BASE: Final = ("cpu", "memory", "ephemeral-storage", PODS)
"""Resources that every cluster has; their columns come first."""


class Resources:
    """Column numbers by resource name, for all matrices of one mirror."""

    def __init__(self) -> None:
        self._columns = {name: column for column, name in enumerate(BASE)}
        self._matrices: list[Matrix] = []

    def __len__(self) -> int:
        return len(self._columns)

    def columns(self) -> Mapping[str, int]:
        """The column of each resource. Good until the next event."""
        return self._columns

    def matrix(self) -> Matrix:
        """A new matrix with a column for each resource. It gets wider when resources are added."""
        matrix = Matrix(len(self))
        self._matrices.append(matrix)
        return matrix

    def get(self, name: str) -> int | None:
        """The resource's column. None for a resource that no node has had and no pod has requested."""
        return self._columns.get(name)

    def vector(self, amounts: Mapping[str, int]) -> NDArray[np.int64]:
        """The amounts [R] in the order of the columns. An unknown resource gets a column."""
        self._know(amounts.keys())
        vector = np.zeros(len(self), np.int64)
        for name, amount in amounts.items():
            vector[self._columns[name]] = amount
        return vector

    def put(self, amounts: Mapping[str, int], matrix: Matrix, row: int) -> None:
        """Write the amounts into a row that is zero. An unknown resource gets a column."""
        self._know(amounts.keys())
        cells = matrix.array.data
        for name, amount in amounts.items():
            cells[row, self._columns[name]] = amount

    def column(self, name: str) -> int:
        """The resource's column. An unknown resource gets a column."""
        self._know({name})
        return self._columns[name]

    def _know(self, names: Set[str]) -> None:
        if self._columns.keys() >= names:
            return
        for name in names:
            self._columns.setdefault(name, len(self._columns))
        for matrix in self._matrices:
            matrix.widen(len(self))

    def ordered(self) -> tuple[tuple[str, ...], NDArray[np.intp]]:
        """The names in an order that does not depend on when they were added, and the columns in that order."""
        names = (*BASE, *sorted(self._columns.keys() - set(BASE)))
        return names, np.array([self._columns[name] for name in names], np.intp)
