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

from nodes.search.cluster import Cluster
from nodes.search.preemptors.gangs import topology_key_of
from nodes.search.room import MANY, Room, count_fits
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
        snapshot, labels = cluster.snapshot, len(cluster.snapshot.label_sets)
        kinds = snapshot.pod_class[units.pods].astype(np.int64) * labels + snapshot.pod_labels[units.pods]
        _, first, inverse = np.unique(kinds, return_index=True, return_inverse=True)
        self._of: dict[int, int] = dict(
            zip(units.pods.tolist(), units.pods[first][inverse].tolist(), strict=True)
        )
        """The pod that stands for each pod."""
        self._fits: dict[int, Bools] = {}
        self._slots: dict[int, Int64s] = {}
        self._known: dict[tuple[object, ...], bool] = {}

    def stuck(self, chosen: Rows) -> Int64s:
        """See `Cascade.stuck`."""
        return np.array([not self._fits_elsewhere(unit) for unit in chosen.tolist()], np.int64)

    @cached_property
    def _asking(self) -> Cluster:
        """The cluster as those pods would see it that stand for the others."""
        asking = replace(self._cluster.preemptor, unbound=tuple(sorted(set(self._of.values()))), bound=())
        return Cluster(self._snapshot, asking, self._cluster.layout)

    @cached_property
    def _room(self) -> Room:
        """The room that is free with nobody gone."""
        return Room(self._asking)

    @cached_property
    def _only_room_counts(self) -> bool:
        """Whether no pod keeps another one away, or needs one beside it."""
        return not len(self._asking.tokens) and not len(self._asking.conditions)

    def _fits_elsewhere(self, unit: int) -> bool:
        pods = self._units.members(unit)
        places = np.unique(self._places[self._snapshot.pod_node[pods]])
        counts = Counter(self._of[pod] for pod in pods)
        group = int(self._snapshot.pod_group[pods[0]]) if self._units.whole[unit] else -1
        if len(counts) == 1 and self._only_room_counts and self._topology_key(group) is None:
            slots = self._slots_of(*counts)
            return int(slots.sum() - slots[places + 1].sum()) >= len(pods)
        key = (*sorted(counts.items()), *places.tolist(), self._topology_key(group))
        if key not in self._known:
            outside = np.flatnonzero(self._snapshot.node_live & ~np.isin(self._places, places))
            self._known[key] = any(self._fit(counts, nodes) for nodes in self._domains(outside, group))
        return self._known[key]

    def _slots_of(self, pod: int) -> Int64s:
        """For each place, how many pods of this one's class fit there. The first entry is for nodes of no domain."""
        its_class = int(self._snapshot.pod_class[pod])
        if its_class not in self._slots:
            fit = count_fits(self._room.free, self._asking.request(pod), MANY)
            fit = np.where(self._asking.mask(pod) & self._snapshot.node_live, fit, 0)
            slots = np.zeros(int(self._places.max(initial=-1)) + 2, np.int64)
            np.add.at(slots, self._places + 1, fit)
            self._slots[its_class] = slots
        return self._slots[its_class]

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
        """Whether these pods, counted by kind, fit on these nodes together, each on the first node that takes it."""
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
