"""Dictionaries that a table changes in place, and that snapshots keep as they were."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

__all__ = ["SharedDict", "copied"]

K = TypeVar("K")
V = TypeVar("V")


class SharedDict(Generic[K, V]):
    """A dictionary that is copied before the first change after it was shared."""

    __slots__ = ("_is_shared", "items")

    def __init__(self) -> None:
        self.items: dict[K, V] = {}
        """To be read. Changes go through `own`."""
        self._is_shared = False

    def __len__(self) -> int:
        return len(self.items)

    def share(self) -> Mapping[K, V]:
        """The dictionary as it is now, for somebody to keep. This copies nothing."""
        self._is_shared = True
        return MappingProxyType(self.items)

    def own(self) -> dict[K, V]:
        """The dictionary, to be changed now: nobody else keeps it."""
        if self._is_shared:
            self.items, self._is_shared = self.items.copy(), False
        return self.items


def copied(items: Mapping[K, V]) -> dict[K, V]:
    """A copy. Of what is shared, `dict` would ask for each key: nothing else runs meanwhile, 20 times as long."""
    return items.copy() if isinstance(items, dict | MappingProxyType) else dict(items)
