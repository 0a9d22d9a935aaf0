"""How many pods each group has: of all groups at once, so that a list of many groups looks at each pod once."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.groups.registry import GroupKey
from nodes.state.columns.flags import GATED, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["GroupCounts", "PodCounts"]


class PodCounts(NamedTuple):
    """The pods of one group that have not ended."""

    exist: int = 0
    """They neither terminate nor have a scheduling gate of another program."""
    bound: int = 0
    """Those of them that have a node."""
    gated: int = 0
    """They have a scheduling gate of another program, and do not terminate."""
    terminating: int = 0


class GroupCounts:
    """The groups of a snapshot, by key and in numbers."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def row(self, key: GroupKey) -> int:
        """The row of the group; -1 if neither an object nor a pod names it."""
        return self._row_of.get(key, -1)

    def of(self, row: int) -> PodCounts:
        """The pods of the group in this row."""
        return PodCounts(*self._counts[:, row].tolist()) if row >= 0 else PodCounts()

    def pods(self, row: int) -> list[int]:
        """Rows of the group's pods that have not ended, in the order of rows."""
        rows, first = self._sorted
        found: list[int] = rows[first[row] : first[row + 1]].tolist()
        return found

    @cached_property
    def _row_of(self) -> dict[GroupKey, int]:
        return {key: row for row, key in enumerate(self.snapshot.group_keys)}

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """[4, G], in the order of `PodCounts`."""
        rows, _ = self._sorted
        of, flags = self.snapshot.pod_group[rows], self.snapshot.pod_flags[rows]
        state = flags & (TERMINATING | GATED)
        kinds = (
            state == 0,
            (state == 0) & (self.snapshot.pod_node[rows] >= 0),
            state == GATED,
            flags & TERMINATING != 0,
        )
        groups = len(self.snapshot.group_keys)
        return np.array([np.bincount(of[each], minlength=groups) for each in kinds], np.int64)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows of all pods of groups, sorted by group, and where those of each group begin, [G + 1]."""
        snapshot = self.snapshot
        rows = np.flatnonzero(snapshot.pod_live & (snapshot.pod_group >= 0))
        rows = rows[np.argsort(snapshot.pod_group[rows], kind="stable")]
        first = np.searchsorted(snapshot.pod_group[rows], np.arange(len(snapshot.group_keys) + 1))
        return rows, first
