"""The domains in which gangs run, and the nodes of these domains.

Verbs ask on every call, so nothing here walks over members or nodes unless the group, a member or a node has changed.
"""

from __future__ import annotations

from collections.abc import Container

from controllers.gangs.lifecycle.life import GroupKey
from nodes.search.preemptors.gangs import BoundDomain, bound_domain, topology_key_of
from nodes.state.columns.flags import TERMINATING
from nodes.state.tables import Tables

__all__ = ["BoundDomains"]


class BoundDomains:
    """Finds them in the tables, and keeps them until something changes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._shapes = -1
        """`NodeTable.shape_changes` when the following was found."""
        self._kept: dict[GroupKey, tuple[int, BoundDomain | None]] = {}
        self._nodes: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, key: GroupKey) -> BoundDomain | None:
        """The domain of the bound members. None if the group has no topology key, or no bound member has a domain."""
        self._follow_nodes()
        touched, kept = self._tables.touched(key), self._kept.get(key)
        if kept is None or kept[0] != touched:
            kept = self._kept[key] = (touched, self._find(key))
        return kept[1]

    def nodes(self, key: GroupKey) -> frozenset[str] | None:
        """Names of the nodes of this domain; None if there is none, so that members may be on any node."""
        domain, topology_key = self.of(key), self._topology_key(key)
        return None if domain is None or topology_key is None else self.within(topology_key, domain.value)

    def within(self, topology_key: str, value: str) -> frozenset[str]:
        """Names of the nodes whose label `topology_key` has this value."""
        self._follow_nodes()
        found = self._nodes.get((topology_key, value))
        if found is None:
            found = self._nodes[topology_key, value] = self._nodes_of(topology_key, value)
        return found

    def outside(self, topology_key: str, values: Container[str | None]) -> frozenset[str]:
        """Names of the nodes that have the label, with none of these values."""
        nodes = self._tables.nodes
        named = zip(nodes.names.keys, nodes.shapes, strict=True)
        return frozenset(
            name
            for name, shape in named
            if name is not None
            and shape is not None
            and topology_key in shape.labels
            and shape.labels[topology_key] not in values
        )

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._kept.pop(key, None)

    def _follow_nodes(self) -> None:
        if self._shapes != self._tables.nodes.shape_changes:
            self._shapes = self._tables.nodes.shape_changes
            self._kept.clear()
            self._nodes.clear()

    def _topology_key(self, key: GroupKey) -> str | None:
        group = self._tables.groups.find(*key)
        return topology_key_of(group) if group is not None else None

    def _find(self, key: GroupKey) -> BoundDomain | None:
        topology_key, row = self._topology_key(key), self._tables.groups.keys.get(key)
        if topology_key is None or row is None:
            return None
        where: dict[str | None, list[str]] = {}
        for node, names in self._by_node(row).items():
            shape = self._tables.nodes.shapes[node]
            value = shape.labels.get(topology_key) if shape is not None else None
            where.setdefault(value, []).extend(names)
        return bound_domain(topology_key, where)

    def _by_node(self, group: int) -> dict[int, list[str]]:
        """Names of the bound members by the row of their node."""
        pods = self._tables.pods
        found: dict[int, list[str]] = {}
        for pod in self._tables.groups.members[group]:
            node = pods.node.array.item(pod)
            if node >= 0 and not pods.flags.array.item(pod) & TERMINATING:
                found.setdefault(node, []).append(pods.names[pod])
        return found

    def _nodes_of(self, topology_key: str, value: str) -> frozenset[str]:
        nodes = self._tables.nodes
        named = zip(nodes.names.keys, nodes.shapes, strict=True)
        return frozenset(
            name
            for name, shape in named
            if name is not None and shape is not None and shape.labels.get(topology_key) == value
        )
