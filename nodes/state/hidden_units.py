"""Units that kube-scheduler does not know: it evicts one pod of them as it evicts any other pod.

They are the groups that go whole, without those of `scheduling.k8s.io`. See docs/decisions/0104.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.filters.filter import PodFilter, Tenant, Token
from nodes.filters.registry import POD_FILTERS
from nodes.groups.forms import HIGHEST
from nodes.state.columns.classes import tenant_of
from nodes.state.columns.flags import TERMINATING
from nodes.state.tables import Tables

__all__ = ["HiddenUnits"]

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

NOBODY: Final = HIGHEST + 1
"""In place of a priority: there is no such pod."""


class HiddenUnits:
    """Their pods on nodes. A pod that terminates does not count: nothing breaks if it is evicted.

    The scheduler goes by the priority of the pod itself. That of its unit is never higher.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._seen = -1, -1
        """The version of the tables, and the number of nodes at that time."""
        self._pods: Rows = np.zeros(0, np.intp)
        self._lowest: Int64s = np.zeros(0, np.int64)
        """[rows of nodes + 1] The lowest priority of such a pod. The last one stands for no node."""

    def on(self, nodes: Rows, below: int) -> Bools:
        """[len(nodes)] Whether such a pod of a priority lower than `below` is there. Row -1 stands for no node."""
        self._refresh()
        there: Bools = self._lowest[nodes] < below
        return there

    def conflicts(self, pod: int, nodes: Sequence[str], below: int) -> Bools:
        """[len(nodes)] Where such pods keep the pod in this row away, by host ports, or by anti-affinity of either.

        They need not be on the node itself: anti-affinity may be about a zone.
        """
        self._refresh()
        pods, apart = self._tables.pods, list(self._tables.classes.keeping_apart)
        rows = self._pods[pods.priority.array[self._pods] < below]
        if pods.pod_class.array.item(pod) not in self._tables.classes.keeping_apart:
            rows = rows[np.isin(pods.pod_class.array[rows], apart)]
        kinds = np.stack([pods.pod_class.array[rows], pods.labels.array[rows]], axis=1)
        found = np.zeros(len(nodes), np.bool_)
        for kind in np.unique(kinds, axis=0).tolist():
            if keys := self._keys(pod, *kind):
                there = pods.node.array[rows[(kinds == kind).all(axis=1)]].tolist()
                found |= np.fromiter(self._beside(nodes, there, keys), np.bool_, len(nodes))
        return found

    def _refresh(self) -> None:
        tables, size = self._tables, self._tables.pods.size
        if self._seen == (tables.version, tables.nodes.names.size):
            return
        pods, group = tables.pods, tables.pods.group.array[:size]
        hidden = np.append(tables.groups.columns.hidden.array[: tables.groups.keys.size], 0)
        there = pods.live.array[:size] & (pods.node.array[:size] >= 0) & (hidden[group] > 0)
        there &= (pods.flags.array[:size] & TERMINATING) == 0
        self._pods = np.flatnonzero(there)
        self._lowest = np.full(tables.nodes.names.size + 1, NOBODY, np.int64)
        np.minimum.at(self._lowest, pods.node.array[self._pods], pods.priority.array[self._pods])
        self._seen = tables.version, tables.nodes.names.size

    def _keys(self, pod: int, their_class: int, their_labels: int) -> set[str | None]:
        """The topology keys by which the pod and pods of this kind keep away from each other. None: by the node."""
        pods, keys = self._tables.pods, set[str | None]()
        own_class, own_labels = pods.pod_class.array.item(pod), pods.labels.array.item(pod)
        for place, each in POD_FILTERS:
            own = self._tenant(own_class, place, own_labels)
            if own.asks:
                theirs = self._tenant(their_class, place, their_labels)
                keys.update(token.topology_key for token in _between(each, own, theirs))
        return keys

    def _tenant(self, its_class: int, place: int, labels: int) -> Tenant:
        tables = self._tables
        its = tables.classes.classes.keys[its_class]
        return tenant_of(its, place, tables.label_sets.sets[labels], tables.namespaces)

    def _beside(self, nodes: Sequence[str], there: Sequence[int], keys: set[str | None]) -> Iterator[bool]:
        """For each of the nodes, whether it is in one domain with one of the nodes `there`, by one of the keys."""
        named = self._tables.nodes
        taken = {
            (key, value) for row in there for key in keys if (value := self._value(row, key)) is not None
        }
        for name in nodes:
            row = named.find(name)
            yield row is not None and any((key, self._value(row, key)) in taken for key in keys)

    def _value(self, node: int, key: str | None) -> str | None:
        if key is None:
            return self._tables.nodes.names.keys[node]
        shape = self._tables.nodes.shapes[node]
        return shape.labels.get(key) if shape is not None else None


def _between(each: PodFilter[object], own: Tenant, theirs: Tenant) -> Iterator[Token]:
    """The tokens by which the filter keeps the two apart."""
    running = [theirs] if theirs.needs is not None else []
    for token in each.tokens([own], running):
        ways = ((own, theirs), (theirs, own))
        if any(token.brought_by(one) and token.forbidden_by(other) for one, other in ways):
            yield token
