"""What the tables of nodes and pods had at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodes.state.columns.flags import Int32s
from nodes.state.pods.pod_facts import Controller
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables

__all__ = ["NodesPicture", "PodControllers"]


@dataclass(frozen=True, slots=True)
class PodControllers:
    """Who would create pods again that are evicted."""

    rows: Int32s
    """By the row of the pod in the snapshot: the row in `known`, -1 for a pod without a controller."""
    known: Sequence[Controller | None]


@dataclass(frozen=True, slots=True)
class NodesPicture:
    """Copies of what the tables have. Later events do not change them."""

    snapshot: Snapshot
    controllers: PodControllers

    @classmethod
    def of(cls, tables: Tables) -> NodesPicture:
        """The tables as they are now."""
        snapshot, pods = tables.snapshot(), tables.pods
        controllers = PodControllers(pods.controller.array[: pods.size].copy(), tuple(pods.controllers.keys))
        return cls(snapshot, controllers)

    def controller_of(self, uid: str) -> Controller | None:
        """Who would create the pod with this UID again; None if nobody would, or there is no such pod."""
        row = self.snapshot.pod_rows.get(uid)
        held = self.controllers.rows.item(row) if row is not None else -1
        return self.controllers.known[held] if held >= 0 else None
