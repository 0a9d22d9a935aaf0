"""How many volumes nodes can still attach (NodeVolumeLimits): columns that the search counts like resources.

A volume counts once on a node, however many pods use it there. The search adds up what pods hold, so a column counts
only volumes that one pod uses. A volume that several pods on a node use never leaves it. A volume that a member shares
with another pod counts nothing for the member. `nodes.search.neighbours.volume_claims` looks at what is shared in the
plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.filters.node_volume_limits import NodeVolumeLimits
from nodes.filters.registry import place_of
from nodes.search.neighbours.kinds import on_nodes
from nodes.state.columns.flags import is_leaving
from nodes.state.snapshot import Snapshot
from nodes.state.volumes.volume_facts import Handle

__all__ = ["Attachments", "asks_for_limits", "handles_of"]

Int64s = NDArray[np.int64]

UNLIMITED: Final = 2**40
NODE_LIMITS: Final = place_of(NodeVolumeLimits)


class _Column(NamedTuple):
    driver: str
    limits: bool
    """Whether it counts volumes. Otherwise a node with the driver has as many as anybody wants; others have none."""


class Attachments:
    """D columns: one for each CSI driver of a member that limits a node, and one for each that nodes must have."""

    def __init__(self, snapshot: Snapshot, members: Collection[int]) -> None:
        self._snapshot = snapshot
        claims = snapshot.pod_claims
        asking = (pod for pod in members if pod in claims and asks_for_limits(snapshot, pod))
        self._of = {pod: handles for pod in asking if (handles := handles_of(snapshot, [pod]))}
        drivers = sorted({driver for handles in self._of.values() for driver, _ in handles})
        known = snapshot.csi_drivers.values() if drivers else ()
        limited = {name for each in known for name, count in each.items() if count is not None}
        self._columns = [_Column(driver, True) for driver in drivers if driver in limited]
        self._columns += [_Column(driver, False) for driver in drivers if driver in snapshot.needed_drivers]
        self._places = {each.driver: place for place, each in enumerate(self._columns) if each.limits}

    def __len__(self) -> int:
        """The number of columns, D."""
        return len(self._columns)

    @property
    def reasons(self) -> list[str]:
        """For each column why a node is refused that has too little of it, in the scheduler's words."""
        return [NodeVolumeLimits.reason(each.driver, limits=each.limits) for each in self._columns]

    @cached_property
    def free(self) -> Int64s:
        """[N, D], how many more volumes each node can attach with terminating pods gone. May be negative."""
        snapshot = self._snapshot
        free = np.full((len(snapshot.node_names), len(self)), UNLIMITED, np.int64)
        for row, name in enumerate(snapshot.node_names if len(self) else ()):
            drivers: Mapping[str, int | None] = snapshot.csi_drivers.get(name, {})
            for place, each in enumerate(self._columns):
                if not each.limits:
                    free[row, place] = UNLIMITED if each.driver in drivers else 0
                elif (limit := drivers.get(each.driver)) is not None:
                    free[row, place] = limit
        return free - self._held[0]

    @property
    def leaving(self) -> Int64s:
        """[N, D], how many volumes only terminating pods use."""
        return self._held[1]

    def request(self, pod: int) -> Int64s:
        """[D], what the member takes of the columns."""
        row = self._requests.get(pod)
        return row if row is not None else np.zeros(len(self), np.int64)

    def held_by(self, pods: NDArray[np.integer]) -> Int64s:
        """[len(pods), D], what each of these pods on nodes leaves of the columns when it goes."""
        place = np.full(len(self._snapshot.pod_live), -1, np.intp)
        own = self._held[2]
        place[list(own)] = np.arange(len(own))
        every = np.array([*own.values(), np.zeros(len(self), np.int64)], np.int64)
        rows: Int64s = every[place[pods]]
        return rows

    @cached_property
    def _requests(self) -> dict[int, Int64s]:
        users = self._users
        rows = {}
        for pod, handles in self._of.items():
            rows[pod] = row = np.zeros(len(self), np.int64)
            for place, each in enumerate(self._columns):
                mine = [handle for handle in handles if handle[0] == each.driver]
                row[place] = sum(users[handle] == 1 for handle in mine) if each.limits else bool(mine)
        return rows

    @cached_property
    def _users(self) -> Mapping[Handle, int]:
        """How many pods use each volume of the limited drivers."""
        users: dict[Handle, int] = {}
        for pod in self._snapshot.pod_claims:
            for handle in handles_of(self._snapshot, [pod]):
                if handle[0] in self._places:
                    users[handle] = users.get(handle, 0) + 1
        return users

    @cached_property
    def _held(self) -> tuple[Int64s, Int64s, dict[int, Int64s]]:
        """[N, D], how many volumes are there for good, and how many leave; and [D] for each pod what is its own."""
        snapshot = self._snapshot
        stay, leave = np.zeros((2, len(snapshot.node_names), len(self)), np.int64)
        own: dict[int, Int64s] = {}
        if not self._places:
            return stay, leave, own
        going = is_leaving(snapshot.pod_flags)
        for (node, handle), pods in self._on_nodes().items():
            place, staying = self._places[handle[0]], [pod for pod in pods if not going[pod]]
            (stay if staying else leave)[node, place] += 1
            if len(staying) == 1:
                own.setdefault(staying[0], np.zeros(len(self), np.int64))[place] += 1
        return stay, leave, own

    def _on_nodes(self) -> dict[tuple[int, Handle], list[int]]:
        """Who uses each volume of the limited drivers on each node."""
        snapshot = self._snapshot
        node_of = np.full(len(snapshot.pod_live), -1, np.intp)
        pods, nodes = on_nodes(snapshot)
        node_of[pods] = nodes
        found: dict[tuple[int, Handle], list[int]] = {}
        for pod in snapshot.pod_claims:
            node = int(node_of[pod])
            for handle in handles_of(snapshot, [pod]) if node >= 0 else ():
                if handle[0] in self._places:
                    found.setdefault((node, handle), []).append(pod)
        return found


def asks_for_limits(snapshot: Snapshot, pod: int) -> bool:
    """Whether the pod's scheduler asks NodeVolumeLimits about it."""
    its_class = snapshot.classes[int(snapshot.pod_class[pod])]
    return its_class is None or NODE_LIMITS not in its_class.off


def handles_of(snapshot: Snapshot, pods: Iterable[int]) -> set[Handle]:
    """The volumes of these pods that count against limits."""
    uses = (use for pod in pods for use in snapshot.pod_claims.get(pod, ()))
    return {use.handle for use in uses if use.handle is not None}
