"""What members ask of the pods on all nodes, and how many such pods there are: the filters that count pods."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from nodes.filters.counting import Condition, Counter, Nodes
from nodes.filters.filter import Tenant
from nodes.filters.registry import COUNTING_FILTERS
from nodes.search.neighbours.kinds import NOBODY, Kinds, Rows, on_nodes
from nodes.state.columns.flags import is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["Conditions"]

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


class Conditions:
    """The conditions of some members, and the Q counters that they need together."""

    def __init__(self, snapshot: Snapshot, members: Collection[int]) -> None:
        self._snapshot = snapshot
        self.nodes = Nodes(snapshot.node_shapes, snapshot.node_names)
        rows = np.array(list(members), np.intp)
        kinds = Kinds(snapshot, rows)
        asked = _asked(kinds)
        keys: dict[tuple[bytes, bool], int] = {}
        counters: list[Counter] = []
        columns: list[list[tuple[Condition, list[int]]]] = []
        for conditions in asked:
            columns.append([])
            for condition in conditions:
                found = []
                for counter in condition.counters:
                    key = msgspec.json.encode(counter, order="deterministic"), condition.counts_promised
                    if key not in keys:
                        keys[key] = len(counters)
                        counters.append(counter)
                    found.append(keys[key])
                columns[-1].append((condition, found))
        self._counters = counters
        self._count_promised = np.array([promised for _, promised in keys], np.int64)
        """[Q], 1 for each counter that counts pods that are only promised a node."""
        counted = self._counted(kinds)
        self.of = {row: columns[kind] for row, kind in zip(rows.tolist(), kinds.of.tolist(), strict=True)}
        """For each member its conditions, and the columns of their counters."""
        self.brings = {row: counted[kind] for row, kind in zip(rows.tolist(), kinds.of.tolist(), strict=True)}
        """For each member [Q], with 1 for each counter that counts it."""
        self._members = counted[kinds.of].sum(axis=0) if len(rows) else np.zeros(len(counters), np.int64)

    def __len__(self) -> int:
        """The number of counters, Q."""
        return len(self._counters)

    def counts(self, gone: Rows = NOBODY) -> Int64s:
        """[N, Q], how many pods on each node are counted; those that leave or are `gone` are not."""
        counts = np.zeros((len(self._snapshot.node_names), len(self)), np.int64)
        if len(self):
            bound, node, counted = self._running
            stays = ~np.isin(bound, gone)
            np.add.at(counts, node[stays], counted[stays])
        return counts

    def held_by(self, pods: Collection[int]) -> tuple[Rows, Int64s]:
        """The nodes of these pods, which are `counted`, and [len(pods), Q] with 1 for each counter that counts one."""
        _, node, counted = self._running
        places = [self._places[pod] for pod in pods]
        return node[places], counted[places]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {pod: place for place, pod in enumerate(self._running[0].tolist())}

    @cached_property
    def _running(self) -> tuple[Rows, Rows, Int64s]:
        """The pods that some counter counts and that do not leave, their nodes, and [pods, Q] what counts them."""
        bound, node = on_nodes(self._snapshot)
        kinds = Kinds(self._snapshot, bound)
        counted = self._counted(kinds)[kinds.of]
        counted[self._snapshot.pod_node[bound] < 0] *= self._count_promised
        some = counted.any(axis=1) & ~is_leaving(self._snapshot.pod_flags[bound])
        return bound[some], node[some], counted[some]

    def admit(self, pod: int, counts: Int64s) -> list[tuple[Condition, Bools]]:
        """The member's conditions, and for each of them which nodes [N] it admits."""
        return [
            (condition, condition.admits(self.nodes, counts[:, columns]))
            for condition, columns in self.of[pod]
        ]

    @cached_property
    def counted(self) -> Rows:
        """The pods on nodes that some counter counts and that do not leave."""
        return self._running[0]

    def could_admit(self, pod: int) -> Bools:
        """[N], the nodes that the member's conditions could admit once some pods are gone and members are placed."""
        possible = np.ones(len(self._snapshot.node_names), np.bool_)
        for condition, columns in self.of[pod]:
            counts, members = self.counts()[:, columns], self._members[columns]
            possible &= condition.could_admit(self.nodes, counts, members)
        return possible

    def _counted(self, kinds: Kinds) -> Int64s:
        """[number of kinds, Q], with 1 for each counter that counts the kind."""
        tenants = kinds.tenants()
        return np.array(
            [[_counts(counter, tenant) for counter in self._counters] for tenant in tenants], np.int64
        ).reshape(len(tenants), len(self._counters))


def _asked(kinds: Kinds) -> list[list[Condition]]:
    """For each kind its conditions."""
    asked: list[list[Condition]] = [[] for _ in kinds.tenants()]
    for place, each in COUNTING_FILTERS:
        for conditions, tenant in zip(asked, kinds.tenants(place), strict=True):
            condition = each.condition(tenant) if tenant.asks and tenant.needs is not None else None
            if condition is not None:
                conditions.append(condition)
    return asked


def _counts(counter: Counter, tenant: Tenant) -> bool:
    return all(term.matches(tenant) for term in counter)
