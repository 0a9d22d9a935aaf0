"""The parts of every table: numpy columns that grow, and keys that own a row while they are in use.

See docs/decisions/0002.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "Columns", "Matrix", "Register", "Rows", "grown"]

D = TypeVar("D", bound=np.generic)
K = TypeVar("K", bound=Hashable)

FIRST_CAPACITY = 64


class Column(Generic[D]):
    """One value per row. `array` is replaced when the table grows: hold the column, never the array.

    `cells` is the same memory. It reads and writes single values, as Python's own, in half the time.
    """

    __slots__ = ("_fill", "array", "cells")

    def __init__(self, dtype: type[D], fill: int = 0) -> None:
        self._fill = fill
        self.array: NDArray[D] = np.full(0, fill, dtype)
        self.cells = self.array.data

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows. New rows hold the fill value."""
        grown = np.full(capacity, self._fill, self.array.dtype)
        grown[: len(self.array)] = self.array
        self.array, self.cells = grown, grown.data


class Matrix:
    """One int64 per row and resource, zero until set."""

    __slots__ = ("array",)

    def __init__(self, width: int) -> None:
        self.array: NDArray[np.int64] = np.zeros((0, width), np.int64)

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        grown = np.zeros((capacity, self.array.shape[1]), np.int64)
        grown[: len(self.array)] = self.array
        self.array = grown

    def widen(self, width: int) -> None:
        """Make room for `width` resources."""
        if width > self.array.shape[1]:
            wide = np.zeros((len(self.array), width), np.int64)
            wide[:, : self.array.shape[1]] = self.array
            self.array = wide


class Columns:
    """The columns of one table, which grow together."""

    def __init__(
        self, *columns: Column[np.bool_] | Column[np.uint8] | Column[np.int32] | Column[np.int64] | Matrix
    ):
        self._columns = columns
        self._capacity = 0

    def reach(self, size: int) -> None:
        """Make room for `size` rows. The capacity at least doubles each time it grows."""
        if size > self._capacity:
            self._capacity = max(size, 2 * self._capacity, FIRST_CAPACITY)
            for column in self._columns:
                column.grow(self._capacity)


class Rows:
    """Row numbers. A freed row is taken again, and the last freed row comes first."""

    __slots__ = ("_free", "size")

    def __init__(self) -> None:
        self.size = 0
        """One more than the highest row ever taken."""
        self._free: list[int] = []

    def take(self) -> int:
        """A row that nobody has."""
        if self._free:
            return self._free.pop()
        self.size += 1
        return self.size - 1

    def give_back(self, row: int) -> None:
        """Free the row, so that it can be taken again."""
        self._free.append(row)

    @property
    def used(self) -> int:
        """Rows that are taken."""
        return self.size - len(self._free)


class Register(Generic[K]):
    """A row per key for as long as somebody refers to it."""

    __slots__ = ("_counts", "_free", "_rows", "keys")

    def __init__(self) -> None:
        self.keys: list[K | None] = []
        """The key of each row; None for a free row."""
        self._rows: dict[K, int] = {}
        self._counts: list[int] = []
        self._free = Rows()

    def __len__(self) -> int:
        """Keys in use."""
        return len(self._rows)

    @property
    def size(self) -> int:
        """The number of rows, including free rows."""
        return self._free.size

    def get(self, key: K) -> int | None:
        """The key's row, None if nobody refers to it."""
        return self._rows.get(key)

    def hold(self, key: K) -> tuple[int, bool]:
        """Count one more reference to the key. Returns its row, and whether the key is new."""
        row = self._rows.get(key)
        if row is not None:
            self._counts[row] += 1
            return row, False
        row = self._free.take()
        self._rows[key] = row
        if row == len(self.keys):
            self.keys.append(key)
            self._counts.append(1)
        else:
            self.keys[row], self._counts[row] = key, 1
        return row, True

    def drop(self, row: int) -> bool:
        """Count one reference less. Returns whether the row is free now. LookupError if it was free before."""
        self._counts[row] -= 1
        if self._counts[row]:
            return False
        key = self.keys[row]
        if key is None:
            raise LookupError(f"row {row} is free already")
        del self._rows[key]
        self.keys[row] = None
        self._free.give_back(row)
        return True


def grown(array: NDArray[D], *shape: int) -> NDArray[D]:
    """The array if it reaches as far as this shape. Otherwise a larger copy of it, filled with zeros."""
    if all(have >= want for have, want in zip(array.shape, shape, strict=True)):
        return array
    larger = [
        have if have >= want else max(want, 2 * have) for have, want in zip(array.shape, shape, strict=True)
    ]
    copy = np.zeros(larger, array.dtype)
    copy[tuple(slice(have) for have in array.shape)] = array
    return copy
