"""Sequences of members and cells in which every filter takes every member: a depth-first search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.search.spreading.bounds import Range, Shortfall, shortfall
from nodes.search.spreading.cells import Cells

__all__ = ["Sequence", "Sequences", "Steps", "at_once"]

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

GREEDY: Final = 2000
"""Steps to find out how many members can run, where not all of them can."""

Sequence = list[tuple[int, int]]
"""Pairs of (kind, cell), in the order in which the members come."""


class Steps:
    """How many more members may be put into a cell, over all searches of one decision."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self) -> bool:
        """Whether there was one left."""
        self.left -= 1
        return self.left >= 0


def at_once(cells: Cells, counts: Int64s, room: Int64s, needed: Int64s) -> int:
    """How many members one attempt places together, where not all of them can run. Arguments as for `Sequences`."""
    sequences = Sequences(cells, counts, room, needed, room, Steps(GREEDY))
    next(iter(sequences), None)
    return sequences.deepest


class Sequences:
    """All ways to deal members to cells for which there is an order. It looks at each state once."""

    def __init__(
        self, cells: Cells, counts: Int64s, room: Int64s, needed: Int64s, prefer: Int64s, steps: Steps
    ) -> None:
        """`counts` [C, Q] before the first member; `room` [K, C], how many of each kind fit; `needed` [K], how many are
        to be placed; `prefer` [K, C]: cells with more come first, less what is placed there."""
        self._cells, self._steps = cells, steps
        self._counts, self._left = counts.copy(), needed.copy()
        self._room, self._prefer = room, prefer
        self._placed = np.zeros(room.shape, np.int64)
        size = len(cells)
        self._held, self._barred = np.zeros((2, len(cells.wide), size), np.int64)
        self.ended = True
        """Whether the search has come to its end, if it has."""
        self.deepest = 0
        """The most members that were placed."""

    def why_none(self) -> Shortfall | None:
        """Why there is none, from the bounds alone; None if that is not known."""
        return shortfall(self._cells, self._range)

    def __iter__(self) -> Iterator[tuple[Sequence, Int64s]]:
        """The sequences, and how many members of each kind they put into each cell [K, C]."""
        if not self._left.any():
            yield [], self._placed.copy()
            return
        path: Sequence = []
        seen = {self._placed.tobytes()}
        moves, has_failed = [self._moves()], False
        while moves:
            move = next(moves[-1], None)
            if move is None:
                moves.pop()
                has_failed = True
                if path:
                    self._put(*path.pop(), -1)
                continue
            self._put(*move, 1)
            key = self._placed.tobytes()
            if key in seen:
                self._put(*move, -1)
                continue
            if not self._steps.take():
                self._put(*move, -1)
                self.ended = False
                return
            seen.add(key)
            path.append(move)
            self.deepest = max(self.deepest, len(path))
            if not self._left.any():
                yield list(path), self._placed.copy()
            if not self._left.any() or (has_failed and shortfall(self._cells, self._range) is not None):
                self._put(*path.pop(), -1)
                continue
            moves.append(self._moves())

    @property
    def _range(self) -> Range:
        return Range(
            self._counts,
            self._counts,
            self._left,
            np.maximum(self._room - self._placed, 0),
            self._held > 0,
            self._barred > 0,
        )

    def _moves(self) -> Iterator[tuple[int, int]]:
        """What may come next, the best first. Kinds without conditions come first: the others can come after them."""
        kinds = self._cells.kinds
        for number in sorted(range(len(kinds)), key=lambda number: bool(kinds[number].conditions)):
            if not self._left[number]:
                continue
            taking = np.flatnonzero(self._takes(number))
            if not len(taking):
                continue
            value = self._prefer[number, taking] - self._placed[:, taking].sum(axis=0)
            best = int(np.argmax(value))
            yield number, int(taking[best])
            for place in np.argsort(-value, kind="stable").tolist():
                if place != best:
                    yield number, int(taking[place])

    def _takes(self, number: int) -> Bools:
        """[C], the cells that take the next member of the kind."""
        kind, cells = self._cells.kinds[number], self._cells
        takes: Bools = self._placed[number] < self._room[number]
        if len(cells.wide):
            blocked = (kind.forbidden[:, None] & (self._held > 0)) | (
                kind.brought[:, None] & (self._barred > 0)
            )
            takes &= ~blocked.any(axis=0)
        for condition, columns in kind.conditions:
            takes &= condition.admits(cells.nodes, self._counts[:, columns])
        return takes

    def _put(self, number: int, cell: int, members: int) -> None:
        """Put the member there (1), or take it away again (-1)."""
        kind, cells = self._cells.kinds[number], self._cells
        self._placed[number, cell] += members
        self._left[number] -= members
        self._counts[cell] += members * kind.brings
        for token in np.flatnonzero(kind.brought | kind.forbidden).tolist():
            places = cells.token_places[token]
            same = places == places[cell] if places[cell] >= 0 else np.zeros(len(places), np.bool_)
            self._held[token, same] += members * kind.brought[token]
            self._barred[token, same] += members * kind.forbidden[token]
