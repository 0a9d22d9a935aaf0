"""A pod of the tables by its row, and how many members a group has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from nodes.state.columns.classes import PodClass
from nodes.state.groups.groups import GroupKey
from nodes.state.pods.pod_facts import Controller, MemberStatus

if TYPE_CHECKING:
    from nodes.state.tables import Tables

__all__ = ["MemberCounts", "PodView"]


class MemberCounts(NamedTuple):
    """Members of a group."""

    waiting: int
    """They wait for a node. Gated pods do not count."""
    bound: int
    gated: int


class PodView:
    """A pod by its row. Each property reads the columns when it is asked. Valid until the next event."""

    __slots__ = ("_tables", "row")

    def __init__(self, tables: Tables, row: int) -> None:
        self._tables = tables
        self.row = row

    @property
    def namespace(self) -> str:
        """metadata.namespace."""
        return self._tables.pods.namespaces[self.row]

    @property
    def name(self) -> str:
        """metadata.name."""
        return self._tables.pods.names[self.row]

    @property
    def uid(self) -> str:
        """metadata.uid."""
        return self._tables.pods.uids[self.row]

    @property
    def node(self) -> str | None:
        """The name of the node that the pod is bound to, even if that node does not exist."""
        row = self._tables.pods.node.array.item(self.row)
        return self._tables.nodes.names.keys[row] if row >= 0 else None

    @property
    def group(self) -> GroupKey | None:
        """The PodGroup that the pod's label names, even if that PodGroup does not exist."""
        row = self._tables.pods.group.array.item(self.row)
        return self._tables.groups.keys.keys[row] if row >= 0 else None

    @property
    def pod_class(self) -> PodClass:
        """What the filters see of the pod. LookupError if the row holds no pod."""
        its_class = self._tables.classes.classes.keys[self._tables.pods.pod_class.array.item(self.row)]
        if its_class is None:
            raise LookupError(f"row {self.row} holds no pod")
        return its_class

    @property
    def priority(self) -> int:
        """The pod's own spec.priority. The priority of an existing group replaces it."""
        return self._tables.pods.priority.array.item(self.row)

    @property
    def scheduler(self) -> str:
        """spec.schedulerName."""
        return self._tables.pods.schedulers.keys[self._tables.pods.scheduler.array.item(self.row)] or ""

    @property
    def controller(self) -> Controller | None:
        """The owner that would create the pod again; None for a pod without a controller."""
        row = self._tables.pods.controller.array.item(self.row)
        return self._tables.pods.controllers.keys[row] if row >= 0 else None

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels."""
        held = self._tables.label_sets.sets[self._tables.pods.labels.array.item(self.row)]
        return held[1] if held is not None else {}

    @property
    def created(self) -> int:
        """metadata.creationTimestamp, in seconds since the epoch."""
        return self._tables.pods.created.array.item(self.row)

    @property
    def start(self) -> int:
        """status.startTime, else metadata.creationTimestamp, in seconds since the epoch."""
        return self._tables.pods.start.array.item(self.row)

    @property
    def flags(self) -> int:
        """`nodes.state.snapshot`'s TERMINATING, KEPT, GATED, NEVER, STAYING and DAEMON."""
        return self._tables.pods.flags.array.item(self.row)

    @property
    def grace_seconds(self) -> int:
        """spec.terminationGracePeriodSeconds."""
        return self._tables.pods.terminations.grace(self.row)

    @property
    def status(self) -> MemberStatus | None:
        """The scheduler's status of a group's member. None for another pod."""
        return self._tables.pods.status.get(self.row)
