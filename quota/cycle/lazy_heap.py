"""A heap whose entries may go out of date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

__all__ = ["LazyHeap"]

P = TypeVar("P", bound=tuple[Any, ...])
T = TypeVar("T")

SMALL: Final = 16
"""Up to this number of entries a heap is not searched for old ones."""


class LazyHeap(ABC, Generic[P, T]):
    """Items in the order of their places.

    An entry that no longer holds is dropped when it comes first, or when there are too many. So the heap needs memory
    for at most twice as many entries as ever held at the same time, and an item that leaves costs nothing.
    """

    __slots__ = ("_entries", "_limit")

    def __init__(self) -> None:
        self._entries: list[tuple[P, T]] = []
        self._limit = SMALL

    @abstractmethod
    def holds(self, place: P, item: T) -> bool:
        """Whether the item still has this place here."""

    def push(self, place: P, item: T) -> None:
        """Add an entry. Two different items must not have equal places."""
        heappush(self._entries, (place, item))
        if len(self._entries) > self._limit:
            # An item may have the same entry twice, if it left and came back.
            self._entries = list({entry for entry in self._entries if self.holds(*entry)})
            heapify(self._entries)
            self._limit = max(SMALL, 2 * len(self._entries))

    def first(self) -> tuple[P, T] | None:
        """The entry with the smallest place; None if the heap is empty."""
        entries = self._entries
        while entries:
            if self.holds(*entries[0]):
                return entries[0]
            heappop(entries)
        return None

    def clear(self) -> None:
        """Drop all entries."""
        self._entries.clear()

    def items(self) -> Iterator[T]:
        """All items in no certain order. An item may occur twice. Changes meanwhile are not allowed."""
        return (item for place, item in self._entries if self.holds(place, item))
