"""Which CSI drivers a node has, and how many volumes of each it can attach, as CSINodes say."""

from __future__ import annotations

from collections.abc import Mapping

from api.storage import CSINode
from nodes.state.columns.shared import SharedDict

__all__ = ["AttachLimits"]


class AttachLimits:
    """Limits by the names of node and driver; None for a driver without a limit."""

    def __init__(self) -> None:
        self.changes = 0
        """Grows when a node gets or loses a driver, or can attach more or fewer volumes."""
        self._counts: SharedDict[str, Mapping[str, int | None]] = SharedDict()

    def upsert(self, node: CSINode) -> None:
        """Add or change a CSINode."""
        counts = {
            each.name: each.allocatable.count if each.allocatable is not None else None
            for each in node.spec.drivers or ()
        }
        self._put(node.metadata.name, counts)

    def delete(self, name: str) -> None:
        """Remove a CSINode."""
        self._put(name, {})

    def share(self) -> Mapping[str, Mapping[str, int | None]]:
        """The drivers of each node that has any, with their limits, for a snapshot to keep."""
        return self._counts.share()

    def _put(self, node: str, counts: Mapping[str, int | None]) -> None:
        if self._counts.items.get(node, {}) == counts:
            return
        self.changes += 1
        if counts:
            self._counts.own()[node] = counts
        else:
            del self._counts.own()[node]
