"""The domains of a topology key, by row of the nodes. They follow the nodes one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodes.filters.filter import NodeShape
from nodes.state.columns.columns import grown

__all__ = ["Domain", "Domains"]

Domain = str | None
"""A value of the topology key; None for the one domain that there is without a topology key."""


class Domains:
    """Which domain each node belongs to. D domains, N nodes."""

    def __init__(self, key: str | None) -> None:
        """The key None makes one domain of all nodes."""
        self._key = key
        self._of = np.zeros(0, np.intp)
        """[N], one more than the place of the node's domain; 0 for a node that is in none."""
        self.places: dict[Domain, int] = {}
        """The place of each domain that a node has ever been in."""

    def put(self, node: int, shape: NodeShape | None) -> None:
        """The node in this row has this shape now; None if there is no node in the row."""
        self._of = grown(self._of, node + 1)
        value = None if shape is None or self._key is None else shape.labels.get(self._key)
        belongs = shape is not None and (self._key is None or value is not None)
        self._of[node] = self.places.setdefault(value, len(self.places)) + 1 if belongs else 0

    def sums(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """[D], what the nodes of each domain have of the amounts [N]."""
        size = min(len(self._of), len(amounts))
        sums: NDArray[np.int64] = np.zeros(len(self.places) + 1, np.int64)
        np.add.at(sums, self._of[:size], amounts[:size])
        return sums[1:]
