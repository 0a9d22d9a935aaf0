"""The table of nodes. A node that pods name but that does not exist has a row too, which is not live."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from api.core import Node
from api.requests import allocatable
from nodes.filters.filter import NodeShape
from nodes.state.classes import node_shape
from nodes.state.columns import Column, Columns, Register
from nodes.state.resources import Resources

__all__ = ["NodeTable"]


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
        self._columns = Columns(self.live, self.allocatable, self.used, self.leaving)
        self._interned: Register[NodeShape] = Register()

    def __len__(self) -> int:
        """Nodes that exist."""
        return int(np.count_nonzero(self.live.array))

    def find(self, name: str) -> int | None:
        """The node's row. None if the node does not exist."""
        row = self.names.get(name)
        return row if row is not None and self.live.array[row] else None

    def hold(self, name: str) -> int:
        """Count one more reference to the node, which need not exist. Returns its row."""
        row, new = self.names.hold(name)
        if new:
            self._columns.reach(self.names.size)
            if row == len(self.shapes):
                self.shapes.append(None)
        return row

    def drop(self, row: int) -> None:
        """Count one reference less to the node."""
        if self.names.drop(row):
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
        return self._set_shape(row, shape) | self._set_allocatable(row, amounts) | is_new

    def delete(self, name: str) -> bool:
        """Remove the node. Returns whether it existed."""
        row = self.find(name)
        if row is None:
            return False
        self._set_shape(row, None)
        self.live.array[row] = False
        self.allocatable.array[row] = 0
        self.drop(row)
        return True

    def take(self, row: int, requests: NDArray[np.int64], *, leaving: bool) -> None:
        """Add a pod's requests [R] to the used room of the node. Negative requests remove a pod."""
        self.used.array[row] += requests
        if leaving:
            self.leaving.array[row] += requests

    def _set_shape(self, row: int, shape: NodeShape | None) -> bool:
        before = self.shapes[row]
        if before == shape:
            return False
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
