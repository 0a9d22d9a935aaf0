"""The map of all nodes, of one resource, as columns: a large cluster has many parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from answers.map.blocks import Blocks, Key, blocks_by, keys_of, resources_of
from answers.map.holding import head_of_plan
from answers.map.rooms import Promise, Rooms
from answers.names import Listed, Names, right
from answers.picture import Picture
from nodes.groups.keys import short_name
from nodes.state.columns.flags import Int32s, Int64s
from nodes.state.snapshot import Snapshot

__all__ = ["Map", "map_of", "missing_for"]

SHOWN: Final[tuple[Listed, ...]] = ("pods", "podgroups")
ALONE: Final = -1
"""In place of a gang: pods that are in none."""

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Map:
    """Nodes, the gangs on them, and plans. Amounts of cpu are in milli, all others in whole units.

    A node, block or gang is named by its place in the column of those, from 0.
    """

    topology_key: str
    """The label by which nodes stand in blocks. Empty if nodes have no label to choose."""
    topology_keys: Sequence[Key]
    resource: str
    resources: Sequence[str]
    blocks: Sequence[str | None]
    """The value of the label. None for nodes that do not have it."""
    nodes: Columns
    """`name`, `block`, `allocatable`, `used`, `leaving`, `promised`, `free` and `anonymous`, by block and name."""
    gangs: Columns
    """`namespace`, `name`, and `key`: the name that no other group of the namespace has, of whatever kind."""
    parts: Columns
    """What each gang has on each node: `node`, `gang` (-1: pods without one), `pods`, `used` and `leaving`."""
    plans: Sequence[Mapping[str, Any]]
    """Plans that are carried out: `kind`, `namespace`, `name`, `uid`, `priority` and `gang` of the preemptor (-1: a
    pod); what is `promised` and its `victims` (each `node`, `gang`, `pods`, `amount`)."""
    missing: Sequence[str]
    """Rights that would show more."""
    unread: str
    """Which rights the page itself lacks; empty if it has read all that this needs."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "topologyKey": self.topology_key,
            "topologyKeys": [{"key": each.key, "podGroups": each.pod_groups} for each in self.topology_keys],
            "resource": self.resource,
            "resources": list(self.resources),
            "blocks": list(self.blocks),
            "nodes": dict(self.nodes),
            "gangs": dict(self.gangs),
            "parts": dict(self.parts),
            "plans": list(self.plans),
            "missing": list(self.missing),
            "unread": self.unread,
        }


def map_of(
    picture: Picture,
    names: Names,
    namespaces: Collection[str] | None = None,
    topology_key: str = "",
    resource: str = "",
) -> Map:
    """The map for a reader who may list nodes. `namespaces`: those that the reader has named; None: none.

    `topology_key` and `resource`: empty for the usual ones. Nodes that lack the label stand in one block, and of a
    resource that nobody has there is none. Raises InputError if nothing can be said of nodes.
    """
    snapshot = picture.nodes.snapshot
    rooms = Rooms(snapshot, names)
    keys = keys_of(snapshot, lambda space: names.lists("podgroups", space))
    resources = resources_of(snapshot, counts_pods=names.lists("pods"))
    key = topology_key or (keys[0].key if keys else "")
    drawn = _Drawn(rooms, blocks_by(snapshot, key), resource or resources[0], resources)
    return Map(
        topology_key=key,
        topology_keys=keys,
        resource=drawn.resource,
        resources=resources,
        blocks=drawn.blocks.values,
        nodes=drawn.nodes(),
        gangs=drawn.gangs(),
        parts=drawn.parts(),
        plans=[drawn.plan(each) for each in rooms.promises],
        missing=missing_for(SHOWN, names, namespaces),
        unread=picture.without_nodes,
    )


def missing_for(shown: Collection[Listed], names: Names, namespaces: Collection[str] | None) -> list[str]:
    """The rights to list these in all namespaces or in those that the reader has named, as far as they are missing."""
    return [
        right(what, space)
        for what in shown
        if not names.lists(what)
        for space in namespaces or ("",)
        if not names.lists(what, space)
    ]


class _Sums(NamedTuple):
    """Columns of equal length: place of the node, place of the gang or ALONE, how many pods, and amounts."""

    node: Sequence[int]
    gang: Sequence[int]
    pods: Sequence[int]
    amounts: Sequence[Sequence[int]]


def _all(pods: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.ones(len(pods), np.bool_)


class _Drawn:
    """What the columns are made of."""

    def __init__(self, rooms: Rooms, blocks: Blocks, resource: str, known: Collection[str]) -> None:
        """`known`: the resources that the reader may choose."""
        self._rooms, self.blocks, self.resource = rooms, blocks, resource
        self._snapshot: Snapshot = rooms.snapshot
        self._column = self._snapshot.resources.index(resource) if resource in known else None
        self._place = np.full(len(self._snapshot.node_names), -1, np.intp)
        """By row of the node: its place in the columns."""
        self._place[list(blocks.rows)] = np.arange(len(blocks.rows))
        self._gangs = self._gangs_seen()
        self._gang_place = np.full(len(self._snapshot.group_keys) + 1, ALONE, np.intp)
        """By row of the group: its place in the columns. The last one is for row -1."""
        self._gang_place[self._gangs] = np.arange(len(self._gangs))

    def _gangs_seen(self) -> list[int]:
        """Rows of the groups that have pods on nodes or plans, by namespace and name."""
        snapshot, rooms = self._snapshot, self._rooms
        pods = [rooms.bound, *(each.pods for each in rooms.promises)]
        rows = np.unique(snapshot.pod_group[np.concatenate(pods)])
        keys = snapshot.group_keys
        return sorted(rows[rows >= 0].tolist(), key=lambda row: keys[row])

    def _of_resource(self, room: Int64s) -> NDArray[np.int64]:
        return room[:, self._column] if self._column is not None else np.zeros(len(room), np.int64)

    def nodes(self) -> Columns:
        """See `Map.nodes`."""
        rooms, rows = self._rooms, list(self.blocks.rows)
        columns = {
            "allocatable": self._snapshot.allocatable,
            "used": rooms.used,
            "leaving": rooms.leaving,
            "promised": rooms.promised,
            "free": rooms.free,
            "anonymous": rooms.anonymous,
        }
        return {
            "name": [self._snapshot.node_names[row] for row in rows],
            "block": self.blocks.of,
            **{name: self._of_resource(room)[rows].tolist() for name, room in columns.items()},
        }

    def gangs(self) -> Columns:
        """See `Map.gangs`."""
        keys = [self._snapshot.group_keys[row] for row in self._gangs]
        return {
            "namespace": [each[0] for each in keys],
            "name": [short_name(each[1]) for each in keys],
            "key": [each[1] for each in keys],
        }

    def parts(self) -> Columns:
        """See `Map.parts`."""
        pods = self._rooms.bound
        on = self._snapshot.pod_node[pods]
        node, gang, counts, (used, leaving) = self._sums(pods, on, _all(pods), self._rooms.leave(pods))
        return {"node": node, "gang": gang, "pods": counts, "used": used, "leaving": leaving}

    def plan(self, promise: Promise) -> Mapping[str, Any]:
        """See `Map.plans`."""
        room, gangs = promise.plan, self._gang_place[self._snapshot.pod_group[promise.pods]]
        node, gang, counts, (amount,) = self._sums(promise.pods, promise.nodes, _all(promise.pods))
        promised = {"node": node, "gang": gang, "pods": counts, "amount": amount}
        on = self._snapshot.pod_node[promise.victims]
        node, gang, counts, (amount,) = self._sums(promise.victims, on, _all(promise.victims))
        return {
            **head_of_plan(room),
            "gang": int(gangs[0]) if room.kind == "PodGroup" and len(gangs) else ALONE,
            "promised": promised,
            "victims": {"node": node, "gang": gang, "pods": counts, "amount": amount},
        }

    def _sums(
        self, pods: NDArray[np.intp], nodes: Int32s | NDArray[np.intp], *choices: NDArray[np.bool_]
    ) -> _Sums:
        """By node and gang of these pods. `choices`: for each a column of what the chosen pods among them request."""
        place, gang = self._place[nodes], self._gang_place[self._snapshot.pod_group[pods]]
        pairs = place * (len(self._gangs) + 1) + gang - ALONE
        found, part, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        amounts = self._of_resource(self._rooms.requests(pods))
        sums = np.zeros((len(choices), len(found)), np.int64)
        for choice, column in zip(choices, sums, strict=True):
            np.add.at(column, part[choice], amounts[choice])
        node, gang = np.divmod(found, len(self._gangs) + 1)
        return _Sums(node.tolist(), (gang + ALONE).tolist(), counts.tolist(), sums.tolist())
