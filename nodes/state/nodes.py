"""The table of nodes. A node that only pods mention has a row too, which is not live.

Each node has counters of its changes. They only grow: whoever remembers a counter sees later whether anything changed.
A name that nobody mentions any more loses its row and its counters. Its next row starts from `last_change` at that
moment or later, which is above every count that the name ever had, so no memory of names is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.core import Node
from api.requests import allocatable
from nodes.filters.filter import NodeShape
from nodes.state.columns.change_log import ChangeLog
from nodes.state.columns.classes import node_shape
from nodes.state.columns.columns import Column, Columns, Register
from nodes.state.columns.resources import Resources

__all__ = ["NodeTable"]


Counted = tuple[int, str, bool, bool]
"""A counter of a node has grown: its row, its name, and two flags. It is a plain tuple: every event of a pod makes one.

IS_OTHER: room, shape and units are as before. ENDS: something may have ended that kept pods off the node.
"""
ROW: Final = 0
NAME: Final = 1
IS_OTHER: Final = 2
ENDS: Final = 3


class NodeTable:
    """Allocatable and used room by node row; see `nodes.state.snapshot` for what the columns mean."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self.names: Register[str] = Register()
        self.live = Column(np.bool_)
        self.allocatable = resources.matrix()
        self.used = resources.matrix()
        self.leaving = resources.matrix()
        self.shapes: list[NodeShape | None] = []
        self.changes = Column(np.int64)
        """By row: grows when the node comes, goes, or changes its shape or allocatable."""
        self.pod_changes = Column(np.int64)
        """By row: grows when a pod is bound to the node, leaves, begins to terminate, or changes its requests."""
        self.nomination_changes = Column(np.int64)
        """By row: grows when a pending pod is nominated to the node, changes its requests, or its nomination ends."""
        self.nomination_ends = Column(np.int64)
        """By row: grows when the nomination of a pending pod to the node ends."""
        self.unit_changes = Column(np.int64)
        """By row: grows when it changes who may evict a pod on the node: its priority, its group or its flags."""
        self.label_changes = Column(np.int64)
        """By row: grows when a pod on the node gets other labels, which may have kept pods off the node."""
        self.shape_changes = 0
        """Grows when a node comes, goes, or changes its shape."""
        self.population = 0
        """Grows when a node comes or goes. Until then, the row of a node that exists stays the same."""
        self._ordered: tuple[int, NDArray[np.int32]] = -1, np.zeros(0, np.int32)
        """The order, and the population at that time."""
        self._log: ChangeLog[Counted] = ChangeLog()
        self._dropped = 0
        """The highest count when a row last lost its name."""
        self._counters = (
            self.changes, self.pod_changes, self.nomination_changes, self.nomination_ends, self.unit_changes,
            self.label_changes,
        )  # fmt: skip
        self._columns = Columns(
            self.live, self.allocatable, self.used, self.leaving, *self._counters,
        )  # fmt: skip
        self._interned: Register[NodeShape] = Register()

    def __len__(self) -> int:
        """Nodes that exist."""
        return int(np.count_nonzero(self.live.array))

    def find(self, name: str) -> int | None:
        """The node's row. None if the node does not exist."""
        row = self.names.get(name)
        return row if row is not None and self.live.array[row] else None

    def order(self) -> NDArray[np.int32]:
        """Rows of the nodes that exist, sorted by name. Nobody may change this array."""
        if self._ordered[0] != self.population:
            names, rows = self.names.keys, np.flatnonzero(self.live.array).tolist()
            rows.sort(key=lambda row: names[row] or "")
            self._ordered = self.population, np.array(rows, np.int32)
        return self._ordered[1]

    def hold(self, name: str) -> int:
        """Count one more reference to the node, which need not exist. Returns its row."""
        row, new = self.names.hold(name)
        if new:
            self._columns.reach(self.names.size)
            if row == len(self.shapes):
                self.shapes.append(None)
            for counter in self._counters:
                counter.array[row] = self._dropped
        return row

    def drop(self, row: int) -> None:
        """Count one reference less to the node."""
        if self.names.drop(row):
            self._dropped = self.last_change
            for matrix in (self.allocatable, self.used, self.leaving):
                matrix.array[row] = 0

    def upsert(self, node: Node) -> bool:
        """Add or change a node. Returns whether something changed that decisions depend on."""
        amounts = self._resources.vector(allocatable(node))
        shape = node_shape(node)
        name = node.metadata.name
        row = self.find(name)
        is_new = row is None
        if row is None:
            row = self.hold(name)
            self.live.array[row] = True
            self.population += 1
        changed = self._set_shape(row, shape) | self._set_allocatable(row, amounts) | is_new
        if changed:
            self.count(self.changes, row)
        return changed

    def delete(self, name: str) -> bool:
        """Remove the node. Returns whether it existed."""
        row = self.find(name)
        if row is None:
            return False
        self._set_shape(row, None)
        self.live.array[row] = False
        self.population += 1
        self.allocatable.array[row] = 0
        self.count(self.changes, row)
        self.drop(row)
        return True

    @property
    def last_change(self) -> int:
        """The highest count of all counters."""
        return self._log.count

    def count(self, counter: Column[np.int64], row: int) -> None:
        """The counter of this node grows."""
        ends = counter is self.nomination_ends or counter is self.label_changes
        is_other = ends or counter is self.nomination_changes
        self._log.note((row, self.names.keys[row] or "", is_other, ends))
        counter.cells[row] = self._log.count

    def changed_since(self, change: int) -> list[int]:
        """Rows of the nodes whose room, shape or units have changed since `last_change` was this. -1: all rows."""
        log = self._log.since(change)
        if log is None:
            return list(range(self.names.size))
        return list({each[ROW]: None for each in log if not each[IS_OTHER]})

    def names_changed_since(self, change: int) -> set[str] | None:
        """The names of those nodes, also of nodes that are gone; None if they are not known any longer."""
        log = self._log.since(change)
        return {each[NAME] for each in log if not each[IS_OTHER]} if log is not None else None

    def names_since(self, change: int) -> set[str] | None:
        """Names of the nodes with a counter that has grown since `last_change` was this; None if that is not known.

        Nodes that are gone are among them.
        """
        log = self._log.since(change)
        return {each[NAME] for each in log} if log is not None else None

    def released_since(self, change: int) -> list[str]:
        """Names of the nodes that may take pods since `last_change` was this which they did not take before.

        Room, shape and units aside: a pod is nominated there no longer, or a pod there has other labels.
        """
        log = self._log.since(change)
        rows = range(self.names.size) if log is None else {each[ROW]: None for each in log if each[ENDS]}
        return [name for row in rows if (name := self.names.keys[row]) is not None]

    def read(self, counter: Column[np.int64], name: str) -> int:
        """The counter of the node of this name, whether or not the node exists."""
        row = self.names.get(name)
        return counter.array.item(row) if row is not None else self._dropped

    def free_on(self, rows: NDArray[np.intp], resources: Sequence[str]) -> NDArray[np.int64]:
        """Allocatable less used of many rows, once all have gone that leave: [len(rows), len(resources)].

        0 for row -1, which stands for a node that does not exist, and for an unknown resource.
        """
        exist = rows >= 0
        room, rows = np.zeros((len(rows), len(resources)), np.int64), rows[exist]
        for at, resource in enumerate(resources):
            column = self._resources.get(resource)
            if column is not None:
                used = self.used.array[rows, column] - self.leaving.array[rows, column]
                room[exist, at] = self.allocatable.array[rows, column] - used
        return room

    def free_now_on(self, rows: NDArray[np.intp], resources: Sequence[str]) -> NDArray[np.int64]:
        """The same now: allocatable less what all pods hold, those that terminate included."""
        room, exist = self.free_on(rows, resources), rows >= 0
        for at, resource in enumerate(resources):
            column = self._resources.get(resource)
            if column is not None:
                room[exist, at] -= self.leaving.array[rows[exist], column]
        return room

    def take(self, row: int, requests: NDArray[np.int64], *, leaving: bool) -> None:
        """Add a pod's requests [R] to the used room of the node. Negative requests remove a pod."""
        used = self.used.array[row]
        used += requests
        if leaving:
            self.leaving.array[row] += requests

    def _set_shape(self, row: int, shape: NodeShape | None) -> bool:
        before = self.shapes[row]
        if before == shape:
            return False
        self.shape_changes += 1
        if shape is not None:
            interned, _ = self._interned.hold(shape)
            self.shapes[row] = self._interned.keys[interned]
        else:
            self.shapes[row] = None
        if before is not None and (interned_before := self._interned.get(before)) is not None:
            self._interned.drop(interned_before)
        return True

    def _set_allocatable(self, row: int, amounts: NDArray[np.int64]) -> bool:
        if np.array_equal(self.allocatable.array[row], amounts):
            return False
        self.allocatable.array[row] = amounts
        return True
