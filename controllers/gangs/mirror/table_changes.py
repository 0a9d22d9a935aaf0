"""What has changed in the tables, in the words of gangs and plans: names, UIDs and keys."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from controllers.gangs.keys import GroupKey
from nodes.state.tables import Tables

__all__ = ["Changed", "Cursor", "TableChanges"]


class Cursor(NamedTuple):
    """How far somebody has followed the tables."""

    nodes: int
    pods: int
    groups: int


class Changed(NamedTuple):
    """What has changed since."""

    nodes: Collection[str]
    """Names of the nodes with a change: of the node, of its pods, or of pods that are nominated to it."""
    pods: Collection[str]
    """UIDs of the pods that came, went or changed, the scheduler's status of groups' members included."""
    groups: Collection[GroupKey]
    """Groups that came, went or changed, or have a member that did."""


class TableChanges:
    """Questions to the tables. PriorityClasses, budgets, and pods that Succeeded are not followed here."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def now(self) -> Cursor:
        """Whoever begins to follow now begins here."""
        tables = self._tables
        return Cursor(tables.nodes.last_change, tables.pods.changed.count, tables.groups.changed.count)

    @property
    def classes(self) -> int:
        """Grows whenever a PriorityClass changes."""
        return self._tables.class_changes

    @property
    def apart(self) -> int:
        """Grows with every change of a pod that may keep pods off nodes, whatever node it is on."""
        return self._tables.pods.apart_changes

    def since(self, cursor: Cursor) -> Changed | None:
        """What has changed since then; None if that is not known."""
        tables = self._tables
        nodes = tables.nodes.names_since(cursor.nodes)
        pods = tables.pods.changed.since(cursor.pods)
        groups = tables.groups.changed.since(cursor.groups)
        if nodes is None or pods is None or groups is None:
            return None
        uids = dict.fromkeys(pods).keys()
        for uid in uids:
            if node := self.nomination(uid):
                nodes.add(node)
        return Changed(nodes, uids, set(groups))

    def nomination(self, uid: str) -> str:
        """The node that the pod is nominated to, if it is neither bound nor terminating; else empty."""
        row = self._tables.pod(uid)
        node = self._tables.pods.nominations.by_pod.get(row) if row is not None else None
        return (self._tables.nodes.names.keys[node] or "") if node is not None else ""

    def is_counted(self, node: str) -> bool:
        """Whether changes of the node are counted. Those of a node that nobody mentions may grow for no reason."""
        return self._tables.nodes.names.get(node) is not None
