"""Cells for members that look at other members on other nodes: each of them is placed in one.

The search sees members only where they are on one node. If the filters refuse its plan for that reason, the members
are dealt to cells, one after the other, so that every filter takes each of them. A cell is the nodes that have equal
values of all topology keys that matter. Then the search places each member inside its cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from nodes.search.cluster import Cluster
from nodes.search.neighbours.kinds import Kinds
from nodes.search.room import MANY, Room, count_fits

__all__ = ["dealt", "place_all"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]


def place_all(room: Room, required: dict[int, int]) -> set[str]:
    """Place the members so that the filters take all of them. Returns what to name if that may fail.

    The search does not see how members on different nodes keep one another away or need one another. Nobody knows in
    which order the scheduler takes members that fit. So a member comes only if it would also fit after those that are
    left. If no member would, the only one that fits now comes: it is the first one in every order.
    """
    if room.only_resources:
        room.place_all(required)
        return set()
    left, coming = required, room.coming(required)
    while left:
        waiting: dict[int, int] = {}
        broken: set[str] = set()
        for pod, node in left.items():
            coming[node] -= room.brings(pod)
            if breaks := room.breaks(pod, node, coming):
                waiting[pod] = node
                broken |= breaks
                coming[node] += room.brings(pod)
            else:
                room.place(pod, node)
        if len(waiting) == len(left):
            first = [pod for pod, node in left.items() if not room.breaks(pod, node)]
            chosen = left if len(first) != 1 else {first[0]: left[first[0]]}
            for pod, node in chosen.items():
                room.place(pod, node)
                coming[node] -= room.brings(pod)
                del waiting[pod]
            if len(first) != 1:
                return broken
        left = waiting
    return set()


def dealt(
    cluster: Cluster, planned: dict[int, int], gone: Collection[int], nodes: Rows
) -> Iterator[dict[int, Bools]]:
    """For each member [N], the nodes of its cell, several times: first where the plan has left room, then where pods of
    lower priority could leave it; each time first near the plan, then where there is the most room.

    `planned` is the plan that was refused (pod: node), `gone` its victims, and `nodes` those of its domain. Nothing
    comes where the members find no cells.
    """
    cells = _cells(cluster, nodes)
    for leaving in (gone, [*gone, *_lower(cluster)]):
        evictable = Room(cluster, leaving)
        sizes = {pod: _sizes(cluster, evictable, pod, nodes) for pod in planned}
        for near in (True, False):
            found = _Deal(cluster, planned, gone, cells, nodes, sizes).cells(near=near)
            if found is not None:
                yield found


class _Deal:
    """Members are dealt to cells one after the other."""

    def __init__(
        self,
        cluster: Cluster,
        planned: dict[int, int],
        gone: Collection[int],
        cells: Rows,
        nodes: Rows,
        sizes: dict[int, NDArray[np.int64]],
    ) -> None:
        self._cluster, self._planned, self._gone = cluster, planned, gone
        self._cells, self._nodes, self._sizes = cells, nodes, sizes
        self._count = int(cells.max(initial=-1)) + 1

    def cells(self, *, near: bool) -> dict[int, Bools] | None:
        """For each member [N], the nodes of its cell; None if one finds none. Who finds none waits for the next one."""
        room = Room(self._cluster, self._gone)
        wanted = np.bincount(self._cells[list(self._planned.values())], minlength=self._count)
        taken = np.zeros(self._count, np.int64)
        found: dict[int, Bools] = {}
        # A pod without terms comes first: it could break the terms of the others, which can come after it.
        pods = sorted(self._planned, key=lambda pod: bool(self._cluster.conditions.of[pod]))
        kinds = Kinds(self._cluster.snapshot, np.array(pods, np.intp)).of.tolist()
        waiting: dict[int, list[int]] = {}
        for place in reversed(range(len(pods))):
            waiting.setdefault(kinds[place], []).append(place)
        while waiting:
            # The first member of each kind, in order. The others of its kind would find the same cells.
            for kind in sorted(waiting, key=lambda kind: waiting[kind][-1]):
                pod = pods[waiting[kind][-1]]
                if (where := self._where(room, pod, taken, wanted if near else None)) is not None:
                    break
            else:
                return None
            cell, node = where
            found[pod] = self._cells == cell
            taken[cell] += 1
            room.place(pod, node)
            waiting[kind].pop()
            if not waiting[kind]:
                del waiting[kind]
        return found

    def _where(
        self, room: Room, pod: int, taken: NDArray[np.int64], wanted: NDArray[np.int64] | None
    ) -> tuple[int, int] | None:
        """The best cell that takes the member, and its first node that does."""
        takes = self._cluster.mask(pod) & (self._cells >= 0) & room.agrees(pod)
        where = self._nodes[takes[self._nodes]]
        weights = self._sizes[pod][where]
        left = np.bincount(self._cells[where], weights=weights, minlength=self._count).astype(np.int64)
        left -= taken
        possible = np.flatnonzero(left > 0)
        if not len(possible):
            return None
        full = taken[possible] >= wanted[possible] if wanted is not None else left[possible] * 0
        cell = int(possible[np.lexsort((-left[possible], full))[0]])
        return cell, int(where[self._cells[where] == cell][0])


def _cells(cluster: Cluster, nodes: Rows) -> Rows:
    """[N], the number of each node's cell; -1 for nodes outside of the domain."""
    keys = {
        key
        for pod in cluster.preemptor.required
        for each, _ in cluster.conditions.of[pod]
        for key in each.keys
    }
    keys |= {cluster.tokens.tokens[token].topology_key or "" for token in cluster.tokens.wide}
    places = np.array([cluster.conditions.nodes.places(key)[nodes] for key in sorted(keys)]).reshape(
        -1, len(nodes)
    )
    cells = np.full(len(cluster.snapshot.node_names), -1, np.intp)
    if len(nodes):
        cells[nodes] = np.unique(places, axis=1, return_inverse=True)[1].reshape(-1)
    return cells


def _lower(cluster: Cluster) -> list[int]:
    """Bound pods of lower priority, which could be victims."""
    snapshot, preemptor = cluster.snapshot, cluster.preemptor
    if not preemptor.evicts:
        return []
    lower = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_priority < preemptor.priority)
    found: list[int] = np.flatnonzero(lower).tolist()
    return found


def _sizes(cluster: Cluster, room: Room, pod: int, nodes: Rows) -> NDArray[np.int64]:
    """[N], how many members like this pod each node could hold."""
    request = cluster.request(pod)
    sizes = np.zeros(len(cluster.snapshot.node_names), np.int64)
    sizes[nodes] = count_fits(room.free[nodes], request, MANY)
    return sizes
