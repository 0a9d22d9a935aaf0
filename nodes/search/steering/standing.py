"""The members of a gang on their planned nodes, while units are put back: does every member still pass?

Upstream: `reprieveVictim` in pkg/scheduler/framework/preemption/podgrouppreemption.go. A unit is put back as a whole,
and the filters are asked for each member in turn, with the members before it in place. Extenders are not asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.search.cluster import Cluster
from nodes.search.room import Room
from nodes.search.steering.candidates import Candidates

__all__ = ["Standing", "TooMuchWork"]

Int64s = NDArray[np.int64]

STEPS: Final = 20_000
"""How many members are asked in all whether they still pass, if they look at pods on other nodes."""


class TooMuchWork(Exception):
    """The question is not answered, because that would take too long."""


class Standing:
    """The planned nodes with the members in place. At first all candidates are gone.

    Only units that can be in a member's way are looked at: they are `relevant`. All others go back in any case.
    """

    def __init__(self, cluster: Cluster, found: Candidates, placed: Sequence[tuple[int, int]]) -> None:
        """`cluster`: of the snapshot as the scheduler sees it. `placed`: pairs of (pod, node), rows of the snapshot."""
        self._cluster, self._found, self._placed = cluster, found, placed
        self._steps = STEPS
        nodes = sorted({node for _, node in placed})
        self._place = {node: place for place, node in enumerate(nodes)}
        room = Room(cluster, found.pods)
        self.feasible = _enter(room, placed)
        """Whether every member passes with all candidates gone."""
        self._free: list[list[int]] = room.free[nodes].tolist()
        self._barred = room.barred
        self._counts = cluster.conditions.counts(found.pods)
        self._wanted = self._columns()
        self._counted = frozenset(cluster.conditions.counted.tolist())
        self.relevant = self._relevant(nodes)
        """Units of `found`, most important first."""
        self._pieces = {unit: self._room_of(unit) for unit in self.relevant}
        self._tokens = self._tokens_of(self.relevant)

    @property
    def looks_afar(self) -> bool:
        """Whether what a unit keeps away may be on another node than the unit."""
        return len(self._cluster.conditions) > 0 or len(self._cluster.tokens.wide) > 0

    @property
    def counted(self) -> frozenset[int]:
        """The pods on nodes that members count, for their affinity or spread."""
        return self._counted

    def counts(self, unit: int) -> bool:
        """Whether members count a pod of the unit, for their affinity or spread."""
        return not self._counted.isdisjoint(self._found.members(unit))

    def on(self, unit: int) -> list[int]:
        """The planned nodes, by number, on which the unit has pods."""
        return list(self._pieces[unit])

    def takes(self, unit: int) -> bool:
        """Whether every member still passes with the unit put back. Raises TooMuchWork."""
        for place, amounts in self._pieces[unit].items():
            free = self._free[place]
            if any(free[column] < amounts[column] for column in self._wanted[place]):
                return False
        return not self._kept_apart(unit) and self._conditions_hold(unit)

    def put_back(self, unit: int) -> None:
        """Put the unit back, if it fits or not."""
        self._move(unit, -1)

    def remove(self, unit: int) -> None:
        """Take the unit away again."""
        self._move(unit, 1)

    def looks(self, unit: int) -> Hashable:
        """Equal for units that members, and those who count costs, cannot tell apart."""
        snapshot = self._cluster.snapshot
        groups = snapshot.group_columns.whole
        return tuple(
            sorted(
                (
                    int(snapshot.pod_node[pod]),
                    int(snapshot.pod_class[pod]),
                    int(snapshot.pod_labels[pod]),
                    int(snapshot.pod_cost[pod]),
                    int(snapshot.pod_flags[pod]),
                    group if (group := int(snapshot.pod_group[pod])) >= 0 and groups[group] else -1,
                    pod if pod in snapshot.pod_claims else -1,
                )
                for pod in self._found.members(unit)
            )
        )

    # ---- what is kept of units

    def _columns(self) -> list[list[int]]:
        """For each planned node the resources that some member there requests."""
        wanted: list[set[int]] = [set() for _ in self._place]
        for pod, node in self._placed:
            wanted[self._place[node]].update(np.flatnonzero(self._cluster.request(pod) > 0).tolist())
        return [sorted(columns) for columns in wanted]

    def _relevant(self, nodes: list[int]) -> list[int]:
        cluster, pods = self._cluster, self._found.pods
        inside = np.zeros(len(cluster.snapshot.node_names), np.bool_)
        inside[nodes] = True
        matters = inside[cluster.snapshot.pod_node[pods]]
        if self._counted:
            matters |= np.isin(pods, list(self._counted))
        if cluster.tokens.wide:
            matters |= cluster.tokens.brought_by(pods)[:, list(cluster.tokens.wide)].any(axis=1)
        units: list[int] = np.unique(self._found.units_of_pods()[matters]).tolist()
        return units

    def _room_of(self, unit: int) -> dict[int, list[int]]:
        """What the unit holds on planned nodes: by the number of the node, for each resource."""
        pods = np.array(self._found.members(unit), np.int64)
        held = self._cluster.held_by(pods).tolist()
        pieces: dict[int, list[int]] = {}
        for node, amounts in zip(self._cluster.snapshot.pod_node[pods].tolist(), held, strict=True):
            if (place := self._place.get(node)) is not None:
                before = pieces.get(place)
                pieces[place] = (
                    amounts if before is None else [a + b for a, b in zip(before, amounts, strict=True)]
                )
        return pieces

    def _tokens_of(self, units: Iterable[int]) -> dict[int, bool]:
        """Which units have a pod that a member forbids where it is."""
        cluster = self._cluster
        if not len(cluster.tokens):
            return {}
        apart = {}
        for unit in units:
            pods = np.array(self._found.members(unit), np.int64)
            brought = cluster.tokens.brought_by(pods) > 0
            apart[unit] = bool((brought & (self._barred[cluster.snapshot.pod_node[pods]] > 0)).any())
        return apart

    def _kept_apart(self, unit: int) -> bool:
        return self._tokens.get(unit, False)

    def _move(self, unit: int, sign: int) -> None:
        for place, amounts in self._pieces[unit].items():
            free = self._free[place]
            for column, amount in enumerate(amounts):
                free[column] += sign * amount
        counted = self._counted.intersection(self._found.members(unit))
        if counted:
            nodes, rows = self._cluster.conditions.held_by(sorted(counted))
            np.add.at(self._counts, nodes, -sign * rows)

    def _conditions_hold(self, unit: int) -> bool:
        """Whether what members ask of other pods still holds, if it can change."""
        if not self.counts(unit):
            return True
        self._steps -= len(self._placed)
        if self._steps < 0:
            raise TooMuchWork
        self.put_back(unit)
        holds = _conditions_hold(self._cluster, self._counts.copy(), self._placed)
        self.remove(unit)
        return holds


def _enter(room: Room, placed: Sequence[tuple[int, int]]) -> bool:
    """Put the members on their nodes. Whether each of them passes when its turn comes."""
    passes = True
    for pod, node in placed:
        passes = passes and bool(room.fits(pod, np.array([node]))[0])
        room.place(pod, node)
    return passes


def _conditions_hold(cluster: Cluster, counts: Int64s, placed: Sequence[tuple[int, int]]) -> bool:
    conditions = cluster.conditions
    for pod, node in placed:
        if not all(admits[node] for _, admits in conditions.admit(pod, counts)):
            return False
        counts[node] += conditions.brings[pod]
    return True
