"""Which CSI drivers a node has, and how many volumes of each it can attach, as CSINodes say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from api.storage import CSINode

__all__ = ["AttachLimits"]


class AttachLimits:
    """Limits by the names of node and driver; None for a driver without a limit."""

    def __init__(self) -> None:
        self.changes = 0
        """Grows when a node gets or loses a driver, or can attach more or fewer volumes."""
        self._counts: dict[str, Mapping[str, int | None]] = {}
        self._is_shared = False
        """Whether a snapshot refers to `_counts`. Then they are copied before the next change."""

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
        self._is_shared = True
        return MappingProxyType(self._counts)

    def _put(self, node: str, counts: Mapping[str, int | None]) -> None:
        if self._counts.get(node, {}) == counts:
            return
        self.changes += 1
        if self._is_shared:
            self._counts, self._is_shared = self._counts.copy(), False
        self._counts[node] = counts
        if not counts:
            del self._counts[node]
