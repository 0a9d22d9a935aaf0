"""How many pods each group has: of all groups at once, so that a list of many groups looks at each pod once."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

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


NO_PODS: Final = PodCounts()


class GroupCounts:
    """The groups of a snapshot, by key and in numbers."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def row(self, key: GroupKey) -> int:
        """The row of the group; -1 if neither an object nor a pod names it."""
        return self._row_of.get(key, -1)

    def of(self, row: int) -> PodCounts:
        """The pods of the group in this row."""
        return self._counts[row] if row >= 0 else NO_PODS

    def pods(self, row: int) -> list[int]:
        """Rows of the group's pods that have not ended, in the order of rows."""
        rows, first = self._sorted
        return rows[first[row] : first[row + 1]]

    @cached_property
    def _row_of(self) -> dict[GroupKey, int]:
        return {key: row for row, key in enumerate(self.snapshot.group_keys)}

    @cached_property
    def _counts(self) -> list[PodCounts]:
        """By row of the group."""
        snapshot = self.snapshot
        rows = np.flatnonzero(snapshot.pod_live & (snapshot.pod_group >= 0))
        of, flags = snapshot.pod_group[rows], snapshot.pod_flags[rows]
        state = flags & (TERMINATING | GATED)
        kinds = (
            state == 0,
            (state == 0) & (snapshot.pod_node[rows] >= 0),
            state == GATED,
            flags & TERMINATING != 0,
        )
        groups = len(snapshot.group_keys)
        columns = [np.bincount(of[each], minlength=groups).tolist() for each in kinds]
        return [PodCounts(*each) for each in zip(*columns, strict=True)]

    @cached_property
    def _sorted(self) -> tuple[list[int], list[int]]:
        """The rows of all pods of groups, sorted by group, and where those of each group begin, [G + 1]."""
        snapshot = self.snapshot
        rows = np.flatnonzero(snapshot.pod_live & (snapshot.pod_group >= 0))
        rows = rows[np.argsort(snapshot.pod_group[rows], kind="stable")]
        first = np.searchsorted(snapshot.pod_group[rows], np.arange(len(snapshot.group_keys) + 1))
        return rows.tolist(), first.tolist()
