"""The nodes of the mirror as plans see them: what is on them, what is on its way to them, and what room there is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.group_members import Requests, requests_of
from nodes.state.columns.flags import TERMINATING
from nodes.state.tables import Tables

__all__ = ["NodeRoster", "Nominee"]


@dataclass(frozen=True, slots=True)
class Nominee:
    """A pod that the scheduler or we have nominated to a node: neither bound nor terminating."""

    uid: str
    group: GroupKey | None
    """Which its label names, whether or not the group exists."""
    requests: Requests


class NodeRoster:
    """Questions to the tables about nodes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def has_node(self, node: str) -> bool:
        """Whether the node exists."""
        return self._tables.nodes.find(node) is not None

    def node_changes(self, node: str) -> int:
        """Grows when the node comes, goes, or changes its labels, taints, unschedulable or allocatable."""
        return self._tables.node_changes(node)

    def node_pod_changes(self, node: str) -> int:
        """Grows when a pod is bound to the node, leaves, begins to terminate, or changes what it requests."""
        return self._tables.node_pod_changes(node)

    def nomination_changes(self, node: str) -> int:
        """Grows when a waiting pod is nominated to the node, or changes its requests, or when its nomination ends."""
        return self._tables.nomination_changes(node)

    def nominated(self, node: str) -> set[str]:
        """UIDs of the pods that are nominated to the node and neither bound nor terminating."""
        return {self._tables.view(row).uid for row in self._tables.nominated(node)}

    def free(self, node: str, resource: str) -> int:
        """Allocatable less what pods hold that are not leaving; may be negative."""
        return self._tables.free(node, resource, after_leaving=True)

    def free_now(self, node: str, resource: str) -> int:
        """Allocatable less what all pods hold; may be negative."""
        return self._tables.free(node, resource, after_leaving=False)

    def nominees(self, node: str, *, at_least: int) -> Iterator[Nominee]:
        """Pods nominated to the node whose own priority is `at_least` or more. A node that does not exist has none."""
        if not self.has_node(node):
            return
        for row in self._tables.nominated(node):
            view = self._tables.view(row)
            if view.priority >= at_least:
                yield Nominee(view.uid, view.group, requests_of(view))

    def bound_on(self, nodes: Collection[str]) -> set[str]:
        """UIDs of the pods on these nodes."""
        pods = self._tables.pods
        rows = [row for node in nodes if (row := self._tables.nodes.find(node)) is not None]
        there = pods.live.array & np.isin(pods.node.array, rows)
        return {self._tables.view(row).uid for row in np.flatnonzero(there).tolist()}

    def leaving_from(self, node: str) -> dict[str, int]:
        """The terminating pods on the node: own priority by UID."""
        row = self._tables.nodes.names.get(node)
        views = (self._tables.view(pod) for pod in self._tables.pods.on(row)) if row is not None else ()
        return {view.uid: view.priority for view in views if view.flags & TERMINATING}
