"""A cluster as members see it that look at other nodes: kinds of members, and cells of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nodes.filters.counting import Condition, Nodes
from nodes.search.cluster import Cluster
from nodes.search.problem import shapes_of
from nodes.search.room import MANY, Room, count_fits

__all__ = ["Kind", "Cells", "looks_afar"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Kind:
    """Members with equal requests, nodes, conditions and tokens."""

    members: list[int]
    """Rows of the snapshot, in the preemptor's order."""
    conditions: list[tuple[Condition, list[int]]]
    """With the columns of their counters."""
    brings: Int64s
    """[Q], what a member adds to the counts of its cell."""
    brought: Bools
    """[W], the wide tokens that a member brings."""
    forbidden: Bools
    """[W], the wide tokens that a member forbids."""


class Cells:
    """C cells, and K kinds of unbound members. A wide token is one of W that keep pods on different nodes apart.

    A cell is the nodes of one domain of the preemptor (or of none) with equal values of all topology keys that matter,
    and on which pods count alike.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        tokens, conditions = cluster.tokens, cluster.conditions
        self.wide = list(cluster.tokens.wide)
        """[W], the columns of the wide tokens."""
        self.kinds = [
            Kind(
                members,
                conditions.of[members[0]],
                conditions.brings[members[0]],
                tokens.brings[members[0]][self.wide] > 0,
                tokens.forbids[members[0]][self.wide] > 0,
            )
            for members in shapes_of(cluster, cluster.preemptor.unbound)
        ]
        self.kind_of = {pod: number for number, kind in enumerate(self.kinds) for pod in kind.members}
        layout, size = cluster.layout, len(cluster.snapshot.node_names)
        domain = np.full(size, -1, np.intp)
        domain[layout.nodes] = np.repeat(np.arange(len(layout.values)), np.diff(layout.first))
        columns = [domain, *self._columns()]
        _, first, of = np.unique(np.array(columns), axis=1, return_index=True, return_inverse=True)
        self.of: Rows = of.reshape(-1)
        """[N], the number of each node's cell."""
        self.domain: Rows = domain[first]
        """[C], the number of the preemptor's domain; -1 outside of all."""
        shapes, names = cluster.snapshot.node_shapes, cluster.snapshot.node_names
        self.nodes = Nodes([shapes[row] for row in first.tolist()], [names[row] for row in first.tolist()])
        """A node of each cell."""
        self.token_places = np.array([tokens.wide[token][first] for token in self.wide], np.intp).reshape(
            len(self.wide), len(first)
        )
        """[W, C], the number of the cell's domain for the token; -1 in none."""

    def __len__(self) -> int:
        """The number of cells, C."""
        return len(self.domain)

    @cached_property
    def asks(self) -> bool:
        """Whether a member asks for something that depends on the order in which members come."""
        return any(kind.conditions for kind in self.kinds)

    @property
    def needed(self) -> Int64s:
        """[K], how many members of each kind are required."""
        required = [self.kind_of[pod] for pod in self.cluster.preemptor.required]
        return np.bincount(required, minlength=len(self.kinds)).astype(np.int64)

    def token_name(self, token: int) -> str:
        """What the wide token (of W) asks for, in words."""
        return self.cluster.tokens.tokens[self.wide[token]].name

    def counts(self, gone: Iterable[int] = ()) -> Int64s:
        """[C, Q], how many pods in each cell are counted, with these pods gone."""
        counts = self.cluster.conditions.counts(np.array(list(gone), np.intp))
        found = np.zeros((len(self), counts.shape[1]), np.int64)
        np.add.at(found, self.of, counts)
        return found

    def capacity(self, room: Room) -> Int64s:
        """[K, C], how many members of each kind alone fit into each cell of a domain."""
        tokens, size = self.cluster.tokens, len(self)
        found = np.zeros((len(self.kinds), size), np.int64)
        for number, kind in enumerate(self.kinds):
            pod = kind.members[0]
            fits = count_fits(room.free, self.cluster.request(pod), min(MANY, len(kind.members)))
            alone = tokens.brings[pod] * tokens.forbids[pod] > 0
            alone[self.wide] = False
            fits = np.minimum(fits, 1) if alone.any() else fits
            fits = fits * (self.cluster.mask(pod) & room.unblocked(pod))
            found[number] = np.bincount(self.of, weights=fits, minlength=size).astype(np.int64)
        found[:, self.domain < 0] = 0
        return found

    def dealt(self, placed: Iterable[tuple[int, int]]) -> Int64s:
        """[K, C], how many members of each kind these pairs of (pod, node) put into each cell."""
        found = np.zeros((len(self.kinds), len(self)), np.int64)
        for pod, node in placed:
            found[self.kind_of[pod], self.of[node]] += 1
        return found

    def _columns(self) -> list[NDArray[np.intp]]:
        """What tells cells apart, [N] each."""
        nodes = self.cluster.conditions.nodes
        asked: dict[int, Condition] = {id(each): each for kind in self.kinds for each, _ in kind.conditions}
        keys = sorted({key for each in asked.values() for key in each.keys})
        splits = {split.tobytes(): split for each in asked.values() for split in each.splits(nodes)}
        return [
            *(nodes.places(key) for key in keys),
            *(split.astype(np.intp) for split in splits.values()),
            *(self.cluster.tokens.wide[token] for token in self.wide),
        ]


def looks_afar(cluster: Cluster) -> bool:
    """Whether a filter asks for pods on other nodes because of an unbound member."""
    return len(cluster.conditions) > 0 or len(cluster.tokens.wide) > 0
