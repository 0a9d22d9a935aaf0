"""A single pod whose conditions look at other nodes: which nodes it cannot have, without a search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nodes.search.cluster import Cluster
from nodes.search.units import Units

__all__ = ["Alone"]

Bools = NDArray[np.bool_]


class Alone:
    """What the conditions of the only pod say of each node. Only victims on that node count as gone."""

    def __init__(self, cluster: Cluster, units: Units) -> None:
        """`units`: those that may be evicted."""
        self._nodes, self._conditions = cluster.conditions.nodes, cluster.conditions
        self._pod = cluster.preemptor.required[0]
        self._counts = self._conditions.counts()
        admits = [admitted for _, admitted in self._conditions.admit(self._pod, self._counts)]
        self._admitted: Bools = np.logical_and.reduce(admits)
        self._going = self._by_node(cluster, units)

    def _by_node(self, cluster: Cluster, units: Units) -> dict[int, list[int]]:
        """By node the pods that count of the units that have a pod there."""
        found: dict[int, list[int]] = {}
        counts = np.isin(units.pods, self._conditions.counted)
        where = cluster.snapshot.pod_node
        for unit in units.of_pods(units.pods[counts].tolist()).tolist():
            first, end = int(units.first[unit]), int(units.first[unit + 1])
            pods = units.pods[first:end][counts[first:end]].tolist()
            for node in set(where[units.pods[first:end]].tolist()):
                found.setdefault(node, []).extend(pods)
        return found

    def refuses(self, nodes: Iterable[int]) -> bool:
        """Whether the conditions refuse these nodes, and no eviction there changes what they count."""
        return not any(self._admitted[node] or node in self._going for node in nodes)

    def has_no_chance(self, nodes: Iterable[int]) -> bool:
        """Whether the conditions refuse these nodes, whoever is evicted there. It takes longer to say."""
        return not any(self._admitted[node] or self._has_chance(node) for node in nodes)

    def _has_chance(self, node: int) -> bool:
        if node not in self._going:
            return False
        fewest = self._counts.copy()
        np.subtract.at(fewest, *self._conditions.held_by(self._going[node]))
        nobody = np.zeros_like(fewest)
        for condition, columns in self._conditions.of[self._pod]:
            counts = fewest[:, columns], self._counts[:, columns], nobody[:, columns]
            if not condition.reaches(self._nodes, *counts)[node]:
                return False
            if any(share.most[share.places[node]] < 1 for share in condition.shares(self._nodes, *counts)):
                return False
        return True
