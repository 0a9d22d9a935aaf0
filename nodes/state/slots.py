"""How many members of a gang there could be room for: a check in microseconds before a search in milliseconds.

A slot is room for one pod of a kind on one node, once everybody below the kind's priority is gone. Slots follow the
tables: only nodes on which something has changed are counted again. If no domain has enough slots for the members that
a gang needs, no search can find a plan for the gang.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.requests import PODS
from nodes.state.columns.classes import PodClass, admits
from nodes.state.columns.columns import Register, grown
from nodes.state.domains import Domain, Domains
from nodes.state.potential import Potential, potential
from nodes.state.tables import Tables

__all__ = ["Kind", "Slots"]

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

MANY: Final = 2**62
"""How often a request of 0 fits. A pod requests at least one place of `pods`."""


class Kind(NamedTuple):
    """What slots depend on."""

    pod_class: PodClass
    below: int
    """The priority below which everybody counts as gone; `NOBODY`: nobody does."""


class Slots:
    """Counts slots for the kinds that somebody holds.

    K kinds of C classes and L priorities, N nodes, R resources, D domains. Freed rows of K, C and L are used again.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kinds: Register[Kind] = Register()
        self._classes: Register[PodClass] = Register()
        self._levels: Register[int] = Register()
        self._class_of, self._level_of = np.zeros(0, np.intp), np.zeros(0, np.intp)
        """[K]"""
        self._slots = np.zeros((0, 0), np.int64)
        """[K, N]"""
        self._requests, self._admitted = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.bool_)
        """[C, R] and [C, N]"""
        self._room = np.zeros((0, 0, 0), np.int64)
        """[L, N, R], the room of each node once everybody below the priority is gone; 0 without a node."""
        self._potentials: list[Potential | None] = []
        """By row of the node; None for a row without a node."""
        self._domains: dict[str | None, Domains] = {}
        self._seen = self._class_changes = -1
        """The tables' last change that is counted, and the last change of PriorityClasses."""
        self._sizes: tuple[int, ...] = ()
        """For which the arrays have room."""

    # ---- kinds

    def hold(self, kind: Kind) -> None:
        """Count slots of this kind too, until `drop`."""
        if not len(self._kinds):
            self._catch_up()
        row, is_new = self._kinds.hold(kind)
        if not is_new:
            return
        its_class, new_class = self._classes.hold(kind.pod_class)
        level, new_level = self._levels.hold(kind.below)
        requests = self._tables.resources.vector({**kind.pod_class.requests, PODS: 1})
        self._reach()
        if new_class:
            self._requests[its_class] = 0
            self._requests[its_class, : len(requests)] = requests
            for node in range(len(self._potentials)):
                self._admitted[its_class, node] = self._admits(its_class, node)
        if new_level:
            for node, there in enumerate(self._potentials):
                self._room[level, node] = self._rooms(there, np.array([kind.below]))
        self._class_of[row], self._level_of[row] = its_class, level
        self._slots[row] = _slots(self._room[level], self._requests[its_class], self._admitted[its_class])

    def drop(self, kind: Kind) -> None:
        """One user of the kind less."""
        row = self._kinds.get(kind)
        if row is not None and self._kinds.drop(row):
            self._classes.drop(int(self._class_of[row]))
            self._levels.drop(int(self._level_of[row]))

    # ---- questions

    def in_domains(self, kind: Kind, key: str | None) -> Int64s:
        """[D], the slots in each domain of the topology key. LookupError if nobody holds the kind."""
        row = self._kinds.get(kind)
        if row is None:
            raise LookupError("nobody holds this kind")
        return self._domains_of(key).sums(self._slots[row])

    def is_admitted(self, kind: Kind, nodes: Iterable[str]) -> bool:
        """Whether any of these nodes admits the kind, whatever room it has. LookupError if nobody holds the kind."""
        row = self._classes.get(kind.pod_class)
        if row is None:
            raise LookupError("nobody holds this kind")
        rows = [place for name in nodes if (place := self._tables.nodes.find(name)) is not None]
        return bool(self._admitted[row, [place for place in rows if place < self._admitted.shape[1]]].any())

    def place(self, key: str | None, domain: Domain) -> int | None:
        """Where the domain is in what `in_domains` returns; None if no node has ever been in it."""
        return self._domains_of(key).places.get(domain)

    def _domains_of(self, key: str | None) -> Domains:
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = Domains(key)
            for node, there in enumerate(self._potentials):
                domains.put(node, self._tables.nodes.shapes[node] if there is not None else None)
        return domains

    # ---- following the tables

    @property
    def moves(self) -> int:
        """See `Pods.moves`."""
        return self._tables.pods.moves

    def follow(self) -> list[Kind]:
        """Count again what has changed.

        Returns the kinds that may do better than before: a node with slots for them has changed or has more room.
        """
        return self._catch_up() if len(self._kinds) else []

    def _catch_up(self) -> list[Kind]:
        tables = self._tables
        since = self._seen if self._class_changes == tables.class_changes else -1
        if since == tables.nodes.last_change:
            return []
        self._seen, self._class_changes = tables.nodes.last_change, tables.class_changes
        self._reach()
        better = np.zeros(self._kinds.size, np.bool_)
        for node in tables.nodes.changed_since(since):
            has_changed = bool(tables.nodes.changes.array[node] > since)
            if has_changed:
                self._follow_shape(node)
            has_grown = self._follow_room(node)
            better |= ((has_grown | has_changed) & (self._slots[:, node] > 0))[: len(better)]
        keys = self._kinds.keys
        return [kind for row in np.flatnonzero(better).tolist() if (kind := keys[row]) is not None]

    def _follow_shape(self, node: int) -> None:
        """The node has come, gone, or changed."""
        live = bool(self._tables.nodes.live.array[node])
        for domains in self._domains.values():
            domains.put(node, self._tables.nodes.shapes[node] if live else None)
        for row in range(self._classes.size):
            self._admitted[row, node] = self._admits(row, node)

    def _follow_room(self, node: int) -> Bools:
        """Count the node again. Returns for which kinds it has more of a resource that they request [K]."""
        live = bool(self._tables.nodes.live.array[node])
        there = self._potentials[node] = potential(self._tables, node) if live else None
        before = self._room[:, node].copy()
        levels = np.array([0 if below is None else below for below in self._levels.keys], np.int64)
        self._room[: len(levels), node] = self._rooms(there, levels)
        room, requests = self._room[self._level_of, node], self._requests[self._class_of]
        admitted = self._admitted[self._class_of, node]
        self._slots[:, node] = _slots(room, requests, admitted)
        more: Bools = ((room > before[self._level_of]) & (requests > 0)).any(axis=1)
        return more

    def _admits(self, its_class: int, node: int) -> bool:
        pod_class, nodes = self._classes.keys[its_class], self._tables.nodes
        shape = nodes.shapes[node] if node < len(nodes.shapes) and nodes.live.array[node] else None
        return (
            pod_class is not None
            and shape is not None
            and admits(pod_class, shape, nodes.names.keys[node] or "") is None
        )

    def _rooms(self, there: Potential | None, levels: Int64s) -> Int64s:
        """[len(levels), R], the room of a node once everybody below these priorities is gone."""
        room = np.zeros((len(levels), self._room.shape[2]), np.int64)
        if there is not None:
            known = there.below(levels)
            room[:, : known.shape[1]] = known  # the node has nothing of resources that came later
        return room

    def _reach(self) -> None:
        """Make room for all kinds, classes, priorities, nodes and resources."""
        k, c, r = self._kinds.size, self._classes.size, len(self._tables.resources)
        sizes = (k, c, r, self._levels.size, self._tables.nodes.names.size)
        if sizes == self._sizes:
            return
        self._sizes = sizes
        self._slots = grown(self._slots, k, self._tables.nodes.names.size)
        n = self._slots.shape[1]
        self._class_of, self._level_of = grown(self._class_of, k), grown(self._level_of, k)
        self._requests, self._admitted = grown(self._requests, c, r), grown(self._admitted, c, n)
        self._room = grown(self._room, self._levels.size, n, r)
        self._potentials += [None] * (n - len(self._potentials))


def _slots(room: Int64s, requests: Int64s, admitted: Bools) -> Int64s:
    """How often the requests fit into the room. The last axis is R, the others are broadcast."""
    fits = np.where(requests > 0, room // np.maximum(requests, 1), MANY).min(axis=-1)
    slots: Int64s = np.where(admitted, np.maximum(fits, 0), 0)
    return slots
