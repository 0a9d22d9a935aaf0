"""The room that a node could have for a preemptor: what is free, and what pods below the preemptor's priority hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.priority import UnknownPriorityClass
from nodes.groups.forms import victim_priority
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.tables import Tables

__all__ = ["NOBODY", "Potential", "potential"]

Int64s = NDArray[np.int64]

NOBODY: Final = -(2**63)
"""The priority below which nobody is evicted."""


@dataclass(frozen=True, slots=True)
class Potential:
    """The room of one node by priority. Amounts are in the tables' columns, and may be negative."""

    levels: Int64s
    """[L], the priorities at which somebody on the node may be evicted, ascending."""
    amounts: Int64s
    """[L + 1, R], what is free once everybody of the first l levels is gone. Terminating pods count as gone already."""

    def below(self, priorities: Int64s) -> Int64s:
        """[len(priorities), R], the room once everybody below each of these priorities is gone."""
        rooms: Int64s = self.amounts[np.searchsorted(self.levels, priorities)]
        return rooms


def potential(tables: Tables, node: int) -> Potential:
    """The room of the node in this row, as the tables are now.

    It is never less than what a search may use. Budgets, promised room and pods on other nodes are not counted.
    """
    nodes, pods = tables.nodes, tables.pods
    free = nodes.allocatable.array[node] - nodes.used.array[node] + nodes.leaving.array[node]
    held = sorted((level, row) for row in pods.on(node) if (level := _level(tables, row)) is not None)
    if not held:
        return Potential(np.zeros(0, np.int64), free[np.newaxis])
    last = {level: index for index, (level, _) in enumerate(held)}
    classes = pods.pod_class.array[[row for _, row in held]]
    gone = tables.classes.requests.array[classes].cumsum(axis=0)[list(last.values())]
    amounts = np.empty((len(last) + 1, len(free)), np.int64)
    amounts[0] = free
    np.add(gone, free, out=amounts[1:])
    return Potential(np.array(list(last), np.int64), amounts)


def _level(tables: Tables, row: int) -> int | None:
    """The priority at which the pod in this row may be evicted; None if nobody can evict it, or it leaves already."""
    pods, groups = tables.pods, tables.groups
    if pods.flags.array.item(row) & (TERMINATING | STAYING | KEPT):
        return None
    group = pods.group.array.item(row)
    there = groups.objects[group] if group >= 0 else None
    if there is None:
        return pods.priority.array.item(row)
    lowest = groups.lowest_running(group) if groups.goes_whole(group) else pods.priority.array.item(row)
    try:
        return victim_priority(there, lowest, tables.priority_classes)
    except UnknownPriorityClass:
        return None
