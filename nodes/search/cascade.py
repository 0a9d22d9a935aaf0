"""Which units would have to evict somebody to run elsewhere: the term Cascade of the score.

Each unit is looked at alone, in the room that is free with nobody gone. What the preemptor or other victims would take
of that room does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodes.search.gangs import topology_key_of
from nodes.search.problem import Cluster
from nodes.search.room import Room
from nodes.search.units import Units

__all__ = ["Cascade"]

Rows = NDArray[np.intp]
Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


class Cascade:
    """Asks the filters about the units of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._snapshot = cluster, cluster.snapshot
        layout = cluster.layout
        sizes = np.diff(layout.first)
        self._places = np.full(len(self._snapshot.node_names), -1, np.int64)
        """[N], the domain of each node. Without several domains, each node is a place of its own."""
        self._places[layout.nodes] = np.repeat(np.arange(len(sizes)), sizes)
        if len(sizes) < 2:
            self._places = np.arange(len(self._snapshot.node_names))

    def stuck(self, units: Units, chosen: Rows) -> Int64s:
        """[len(chosen)], 1 for a unit that fits nowhere outside of the domains where it runs, 0 for the others."""
        return _Look(self._cluster, self._places, units).stuck(chosen)


class _Look:
    """One look at units. Pods of one class and with equal labels are alike: one of them stands for all."""

    def __init__(self, cluster: Cluster, places: Int64s, units: Units) -> None:
        self._cluster, self._snapshot, self._places, self._units = cluster, cluster.snapshot, places, units
        kinds = np.stack([self._snapshot.pod_class[units.pods], self._snapshot.pod_labels[units.pods]])
        _, first, inverse = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        self._of: dict[int, int] = dict(
            zip(units.pods.tolist(), units.pods[first][inverse.ravel()].tolist(), strict=True)
        )
        """The pod that stands for each pod."""
        self._fits: dict[int, Bools] = {}
        self._known: dict[tuple[object, ...], bool] = {}

    def stuck(self, chosen: Rows) -> Int64s:
        """See `Cascade.stuck`."""
        return np.array([not self._fits_elsewhere(unit) for unit in chosen.tolist()], np.int64)

    @cached_property
    def _room(self) -> Room:
        """The room that is free with nobody gone, for those pods."""
        asking = replace(self._cluster.preemptor, unbound=tuple(sorted(set(self._of.values()))), bound=())
        return Room(Cluster(self._snapshot, asking, self._cluster.layout))

    def _fits_elsewhere(self, unit: int) -> bool:
        pods = self._units.members(unit)
        places = np.unique(self._places[self._snapshot.pod_node[pods]])
        counts = Counter(self._of[pod] for pod in pods)
        group = int(self._snapshot.pod_group[pods[0]]) if self._units.whole[unit] else -1
        key = (*sorted(counts.items()), *places.tolist(), self._topology_key(group))
        if key not in self._known:
            outside = np.flatnonzero(self._snapshot.node_live & ~np.isin(self._places, places))
            self._known[key] = any(self._fit(counts, nodes) for nodes in self._domains(outside, group))
        return self._known[key]

    def _topology_key(self, group: int) -> str | None:
        known = self._snapshot.groups[group] if group >= 0 else None
        return topology_key_of(known) if known is not None else None

    def _domains(self, nodes: Rows, group: int) -> Iterator[Rows]:
        """The sets of nodes, of these, in which the group may be."""
        key = self._topology_key(group)
        if key is None:
            yield nodes
            return
        shapes = self._snapshot.node_shapes
        values = [shape.labels.get(key) if (shape := shapes[node]) is not None else None for node in nodes]
        for value in sorted({value for value in values if value is not None}):
            yield nodes[[each == value for each in values]]

    def _fit(self, counts: Counter[int], nodes: Rows) -> bool:
        """Whether so many pods of each kind fit on these nodes together, each on the first node that takes it."""
        if not len(nodes):
            return False
        if counts.total() == 1:
            (pod,) = counts
            return bool(self._fits_alone(pod)[nodes].any())
        room = self._room.copy()
        for pod in counts.elements():
            fits = room.fits(pod, nodes)
            if not fits.any():
                return False
            room.place(pod, int(nodes[int(np.argmax(fits))]))
        return True

    def _fits_alone(self, pod: int) -> Bools:
        """[N]"""
        if pod not in self._fits:
            self._fits[pod] = self._room.fits(pod, np.arange(len(self._snapshot.node_names)))
        return self._fits[pod]
