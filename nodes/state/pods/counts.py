"""What a change of a pod changes for nodes and groups: their counters grow, and their counts of pods change."""

from __future__ import annotations

import numpy as np

from nodes.state.columns.class_table import ClassTable
from nodes.state.columns.columns import Column
from nodes.state.columns.flags import GATED, TERMINATING
from nodes.state.groups.groups import GroupTable, add_count
from nodes.state.nodes import NodeTable
from nodes.state.pods.pod_facts import NOWHERE, Facts

__all__ = ["PodCounts"]


class PodCounts:
    """Tells nodes and groups."""

    def __init__(
        self, nodes: NodeTable, groups: GroupTable, classes: ClassTable, node: Column[np.int32]
    ) -> None:
        """`node`: the row of each pod's node."""
        self._nodes, self._groups, self._classes, self._node = nodes, groups, classes, node

    def count_member(self, facts: Facts, pods: int) -> None:
        """Count a member. If the lowest priority changes that runs, all of a group that goes whole changes with it."""
        groups, group = self._groups, facts.group
        if facts.flags & TERMINATING:
            return
        if facts.node != NOWHERE or not facts.flags & GATED:
            add_count(groups.priorities[group], facts.priority, pods)
        if facts.node == NOWHERE:
            groups.count_unbound(group, facts.pod_class, pods, gated=bool(facts.flags & GATED))
            return
        lowest = groups.lowest_running(group)
        add_count(groups.running[group], facts.priority, pods)
        add_count(groups.nodes[group], facts.node, pods)
        if lowest != groups.lowest_running(group) and groups.goes_whole(group):
            self.count_unit(group)

    def count_unit(self, group: int) -> None:
        """Tell the nodes that it has changed who may evict the pods of the group in this row."""
        rows = np.fromiter(self._groups.members[group], np.intp)
        for node in set(self._node.array[rows].tolist()) - {NOWHERE}:
            self._nodes.count(self._nodes.unit_changes, node)

    def count_pod(self, facts: Facts, before: Facts | None) -> None:
        """Tell the nodes that the pod was and is on, unless it holds the same room as before."""
        nodes = self._nodes
        if before is None:
            if facts.node != NOWHERE:
                nodes.count(nodes.pod_changes, facts.node)
            return
        moved = before.node != facts.node
        if moved and before.node != NOWHERE:
            nodes.count(nodes.pod_changes, before.node)
        if facts.node == NOWHERE:
            return
        if moved or self._holds_otherwise(facts, before):
            nodes.count(nodes.pod_changes, facts.node)
        elif facts.unit != before.unit:
            nodes.count(nodes.unit_changes, facts.node)
        if facts.labels != before.labels and self._classes.keeping_apart:
            nodes.count(nodes.label_changes, facts.node)

    def _holds_otherwise(self, facts: Facts, before: Facts) -> bool:
        """Whether the pod has begun to terminate, or requests something else."""
        return bool((facts.flags ^ before.flags) & TERMINATING) or self.requests_otherwise(facts, before)

    def requests_otherwise(self, facts: Facts, before: Facts) -> bool:
        """Whether the pod requests something else."""
        classes = [facts.pod_class, before.pod_class]
        return classes[0] != classes[1] and not np.array_equal(*self._classes.requests.array[classes])
