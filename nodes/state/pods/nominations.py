"""Nominations of pending pods: which node the scheduler wants to give them once there is room."""

from __future__ import annotations

from typing import Final

from nodes.state.columns.flags import TERMINATING
from nodes.state.nodes import NodeTable
from nodes.state.pods.pod_facts import NOWHERE, Change, Facts

__all__ = ["Nominations"]

NOTHING: Final = Change.NOTHING


class Nominations:
    """Unbound pods that do not terminate and have a nomination. Few pods do."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.by_node: dict[int, set[int]] = {}
        """Rows of pods by the row of the node."""
        self.by_pod: dict[int, int] = {}
        """The same by pod."""

    def note(self, row: int, facts: Facts, name: str, asks_otherwise: bool) -> Change:
        """Follow the nomination of a pending pod; a pod that is bound or terminates has none.

        It takes room only on a node that exists. A pod that asks for something else now is nominated anew.
        """
        if facts.node != NOWHERE or facts.flags & TERMINATING:
            name = ""
        before = self.by_pod.get(row)
        if before is None and not name:
            return NOTHING
        if name == ("" if before is None else self._nodes.names.keys[before]) and not asks_otherwise:
            return NOTHING
        ended = self.end(row)
        if not name:
            return ended
        node = self.by_pod[row] = self._nodes.hold(name)
        self.by_node.setdefault(node, set()).add(row)
        self._nodes.count(self._nodes.nomination_changes, node)
        return max(ended, self._weight(node))

    def end(self, row: int) -> Change:
        """The pod in this row has no nomination any longer."""
        node = self.by_pod.pop(row, None)
        if node is None:
            return NOTHING
        weight = self._weight(node)
        pods = self.by_node[node]
        pods.remove(row)
        if not pods:
            del self.by_node[node]
        self._nodes.count(self._nodes.nomination_changes, node)
        self._nodes.count(self._nodes.nomination_ends, node)
        self._nodes.drop(node)
        return weight

    def _weight(self, node: int) -> Change:
        return Change.DECISION if self._nodes.live.array[node] else NOTHING
