"""Waves: the members of one wave may come in any order, once all members of the earlier waves are there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nodes.search.spreading.cells import Cells

__all__ = ["waves"]

Int64s = NDArray[np.int64]


def waves(cells: Cells, counts: Int64s, placed: Sequence[tuple[int, int]]) -> list[int]:
    """The wave of each member, from 0. `counts` [C, Q]: what is counted before the first one comes.

    `placed`: pairs of (pod, node), in an order in which every filter takes each pod.
    """
    if not cells.asks or _holds_whole(cells, counts, placed):
        return [0] * len(placed)
    counts, found, first, wave = counts.copy(), list[int](), 0, 0
    coming = _Coming(cells)
    for place, (pod, node) in enumerate(placed):
        coming.add(pod, node, 1)
        if place > first and not coming.hold(counts):
            coming.add(pod, node, -1)
            counts += coming.counts
            coming = _Coming(cells)
            coming.add(pod, node, 1)
            first, wave = place, wave + 1
        found.append(wave)
    return found


def _holds_whole(cells: Cells, counts: Int64s, placed: Sequence[tuple[int, int]]) -> bool:
    """Whether all of these may come in any order."""
    coming = _Coming(cells)
    for pod, node in placed:
        coming.add(pod, node, 1)
    return coming.hold(counts)


class _Coming:
    """Members that are to come in any order."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._members = np.zeros((len(cells.kinds), len(cells)), np.int64)
        self.counts = np.zeros((len(cells), len(cells.cluster.conditions)), np.int64)

    def add(self, pod: int, node: int, members: int) -> None:
        """Add the member (1), or take it away (-1)."""
        kind, cell = self._cells.kind_of[pod], self._cells.of[node]
        self._members[kind, cell] += members
        self.counts[cell] += members * self._cells.kinds[kind].brings

    def hold(self, counts: Int64s) -> bool:
        """Whether the filters take each of them, whichever of the others come first. `counts`: what is there."""
        for number, kind in enumerate(self._cells.kinds):
            here = self._members[number] > 0
            if not here.any():
                continue
            for condition, columns in kind.conditions:
                admits = condition.admits_amid(
                    self._cells.nodes, counts[:, columns], self.counts[:, columns], kind.brings[columns]
                )
                if not admits[here].all():
                    return False
        return True
