"""The Workloads that wait in one ClusterQueue, in lines of equal shape.

A line parks and returns without a walk over it: the smaller one of its heaps goes into the larger one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from api.workloads import Workload
from quota.queues import Precedence

__all__ = ["Item", "Lines"]

SMALL: Final = 64
"""A heap of fewer entries is never cleaned."""
TURNS: Final = count()
"""No two entries have the same number, so items are never compared."""


@dataclass(slots=True, eq=False)
class Item:
    """A Workload that waits. Without a heap it is asleep: it backs off, or its LocalQueue is stopped or missing."""

    workload: Workload
    local_queue: str
    precedence: Precedence
    shape: bytes
    heap: _Heap | None = None
    turn: int = -1
    """Which of its entries in heaps counts."""

    @property
    def is_parked(self) -> bool:
        """Whether it waits for a change."""
        return self.heap is not None and self.heap.is_parked


class _Heap:
    """Items by precedence. Entries that count no longer stay until they come to the top, or are too many."""

    def __init__(self, *, is_parked: bool) -> None:
        self.is_parked = is_parked
        self._entries: list[tuple[Precedence, int, Item]] = []
        self.counts: Counter[str] = Counter()
        """Items by LocalQueue."""
        self.size = 0

    def push(self, item: Item) -> None:
        item.heap, item.turn = self, next(TURNS)
        heapq.heappush(self._entries, (item.precedence, item.turn, item))
        self.counts[item.local_queue] += 1
        self.size += 1

    def drop(self, item: Item) -> None:
        item.heap, item.turn = None, -1
        self.counts[item.local_queue] -= 1
        self.size -= 1
        if len(self._entries) > max(SMALL, 2 * self.size):
            self._entries = [entry for entry in self._entries if entry[1] == entry[2].turn]
            heapq.heapify(self._entries)

    def top(self) -> Item | None:
        entries = self._entries
        while entries and entries[0][1] != entries[0][2].turn:
            heapq.heappop(entries)
        return entries[0][2] if entries else None

    def items(self) -> list[Item]:
        return [item for _, turn, item in self._entries if turn == item.turn]


@dataclass(slots=True)
class _Line:
    queued: _Heap = field(default_factory=lambda: _Heap(is_parked=False))
    parked: _Heap = field(default_factory=lambda: _Heap(is_parked=True))

    def move_all(self, *, park: bool) -> None:
        """All of the line wait in one heap. The items of the smaller heap move, and the larger one is renamed."""
        small, large = sorted((self.queued, self.parked), key=lambda heap: heap.size)
        for item in small.items():
            small.drop(item)
            large.push(item)
        large.is_parked, small.is_parked = park, not park
        self.queued, self.parked = (small, large) if park else (large, small)


class Lines:
    """All that wait in one ClusterQueue and are not asleep."""

    def __init__(self) -> None:
        self._lines: dict[bytes, _Line] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def put(self, item: Item, *, parked: bool) -> None:
        """An item that is asleep waits here now."""
        line = self._lines.setdefault(item.shape, _Line())
        (line.parked if parked else line.queued).push(item)

    def take(self, item: Item) -> None:
        """The item, which waits here, falls asleep."""
        if item.heap is None:
            return
        item.heap.drop(item)
        line = self._lines[item.shape]
        if not line.queued.size and not line.parked.size:
            del self._lines[item.shape]

    def head(self) -> Item | None:
        """The item that comes first, of those that are not parked."""
        tops = [top for line in self._lines.values() if (top := line.queued.top()) is not None]
        return min(tops, key=lambda item: item.precedence, default=None)

    def first_parked(self) -> Item | None:
        """The item that comes first, of those that are parked."""
        tops = [top for line in self._lines.values() if (top := line.parked.top()) is not None]
        return min(tops, key=lambda item: item.precedence, default=None)

    def park_line(self, shape: bytes) -> None:
        """Park all items of this shape."""
        line = self._lines.get(shape)
        if line is not None:
            line.move_all(park=True)

    def release(self) -> None:
        """Nothing is parked any longer."""
        for line in self._lines.values():
            if line.parked.size:
                line.move_all(park=False)

    def counts(self, local_queue: str | None = None) -> tuple[int, int]:
        """Items that are not parked and that are; only those of one LocalQueue if it is given."""
        queued = parked = 0
        for line in self._lines.values():
            queued += line.queued.size if local_queue is None else line.queued.counts[local_queue]
            parked += line.parked.size if local_queue is None else line.parked.counts[local_queue]
        return queued, parked
