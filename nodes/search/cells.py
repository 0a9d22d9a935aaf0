"""Where members may go that look at other members on other nodes: each of them is given a cell.

The search sees members only where they are on one node. If the filters refuse its plan for that reason, the members
are dealt to cells, one after the other, so that every filter takes each of them. A cell is the nodes that have equal
values of all topology keys that matter. Then the search places each member inside its cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from nodes.search.cluster import Cluster
from nodes.search.room import MANY, Room, count_fits

__all__ = ["dealt", "place_all"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]


def place_all(room: Room, required: dict[int, int]) -> set[str]:
    """Place the members in an order in which the filters take all of them. Returns what to name if there is none.

    The search does not see how members on different nodes keep one another away or need one another.
    """
    if room.only_resources:
        room.place_all(required)
        return set()
    left = required
    while left:
        waiting = {}
        broken: set[str] = set()
        for pod, node in left.items():
            if breaks := room.breaks(pod, node):
                waiting[pod] = node
                broken |= breaks
            else:
                room.place(pod, node)
        if len(waiting) == len(left):
            for pod, node in waiting.items():
                room.place(pod, node)
            return broken
        left = waiting
    return set()


def dealt(
    cluster: Cluster, planned: dict[int, int], gone: Collection[int], nodes: Rows
) -> Iterator[dict[int, Bools]]:
    """For each member [N], the nodes of its cell: twice, first near the plan, then where there is the most room.

    `planned` is the plan that was refused (pod: node), `gone` its victims, and `nodes` those of its domain. Nothing
    comes where the members find no cells.
    """
    cells = _cells(cluster, nodes)
    evictable = Room(cluster, [*gone, *_lower(cluster)])
    sizes = {pod: _sizes(cluster, evictable, pod, nodes) for pod in planned}
    for near in (True, False):
        found = _deal(cluster, planned, gone, cells, nodes, sizes, near=near)
        if found is not None:
            yield found


def _deal(
    cluster: Cluster,
    planned: dict[int, int],
    gone: Collection[int],
    cells: Rows,
    nodes: Rows,
    sizes: dict[int, NDArray[np.int64]],
    *,
    near: bool,
) -> dict[int, Bools] | None:
    room = Room(cluster, gone)
    count = int(cells.max(initial=-1)) + 1
    wanted = np.bincount(cells[list(planned.values())], minlength=count)
    taken = np.zeros(count, np.int64)
    found: dict[int, Bools] = {}
    for pod in planned:
        takes = cluster.mask(pod) & (cells >= 0) & room.agrees(pod)
        where = nodes[takes[nodes]]
        left = np.bincount(cells[where], weights=sizes[pod][where], minlength=count).astype(np.int64) - taken
        possible = np.flatnonzero(left > 0)
        if not len(possible):
            return None
        rank = np.lexsort(
            (-left[possible], taken[possible] >= wanted[possible] if near else left[possible] * 0)
        )
        cell = int(possible[rank[0]])
        found[pod] = cells == cell
        taken[cell] += 1
        room.place(pod, int(where[cells[where] == cell][0]))
    return found


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
