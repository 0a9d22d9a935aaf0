"""The nodes of a change as columns, by namespace: a reader who sees few namespaces costs little."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from answers.map.changing import Change
from answers.map.holding import GroupName, PlanNow

__all__ = ["ChangeColumns", "Parts"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parts:
    """What gangs have on nodes, and pods without one together: by node, and by the order of the gangs' names."""

    node: Sequence[int]
    """Its place in the change."""
    gang: Sequence[int]
    """Its place in `ChangeColumns.gangs`; -1 for pods without one."""
    pods: Sequence[int]
    used: Sequence[int]
    leaving: Sequence[int]


class _Claim(NamedTuple):
    node: int
    claimed: int
    """What the victims of the plan do not cover."""
    promised: int


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """Of one resource. What has no other order is by node, in the order of the change."""

    resource: int | None
    """Its column in the tables; None if there are no amounts."""
    name: Sequence[str]
    block: Sequence[str | None]
    allocatable: Sequence[int]
    held: Sequence[int]
    """By all pods."""
    claimed: Sequence[int]
    """By all plans, as far as their victims do not cover it."""
    free: Sequence[int]
    spaces: Mapping[str, int]
    """The namespaces whose pods are there, with numbers."""
    gangs: Sequence[GroupName]
    """Those whose pods are there, in order."""
    _rows: _Rows
    _claims: Mapping[str, Sequence[_Claim]]
    """By namespace of the plan."""

    @classmethod
    def of(cls, change: Change, topology_key: str, resource: int | None) -> Self:
        """`resource`: its column in the tables."""
        nodes = change.nodes
        claims = _claims(change, resource)
        names = change.holdings.names
        spaces = {each: number for number, each in enumerate(dict.fromkeys(space for space, _ in names))}
        gangs = sorted({name for name in names if name[1]})
        allocatable = [_of(each.allocatable, resource) for each in nodes]
        held, claimed = [_of(each.used, resource) for each in nodes], [0] * len(nodes)
        for claim in chain.from_iterable(claims.values()):
            claimed[claim.node] += claim.claimed
        return cls(
            resource=resource,
            name=[each.name for each in nodes],
            block=[each.labels.get(topology_key) for each in nodes],
            allocatable=allocatable,
            held=held,
            claimed=claimed,
            free=[max(a - b - c, 0) for a, b, c in zip(allocatable, held, claimed, strict=True)],
            spaces=spaces,
            gangs=gangs,
            _rows=_rows(change, resource, spaces, {gang: place for place, gang in enumerate(gangs)}),
            _claims=claims,
        )

    @property
    def plan_spaces(self) -> Collection[str]:
        """The namespaces of plans that claim something of these nodes."""
        return self._claims.keys()

    def held_by(self, spaces: Collection[str]) -> tuple[list[int], list[int], Parts]:
        """What the pods of these namespaces have: used and leaving by node, and all parts. Each of them has pods."""
        rows = self._rows.of({self.spaces[each] for each in spaces}, len(self.spaces))
        used, leaving = (_sums(each, rows.node, len(self.name)) for each in (rows.used, rows.leaving))
        many = len(self.gangs) + 1
        pairs, place = np.unique(rows.node * many + rows.gang + 1, return_inverse=True)
        pods, uses, leaves = (_sums(each, place, len(pairs)) for each in (rows.pods, rows.used, rows.leaving))
        node, gang = (pairs // many).tolist(), (pairs % many - 1).tolist()
        return used, leaving, Parts(node, gang, pods, uses, leaves)

    def claims_of(self, spaces: Iterable[str]) -> tuple[list[int], list[int]]:
        """What the plans of these namespaces promise on each node, and what their victims do not cover of it. Each of
        the namespaces has such plans."""
        promised, claimed = [0] * len(self.name), [0] * len(self.name)
        for each in chain.from_iterable(self._claims[space] for space in spaces):
            promised[each.node] += each.promised
            claimed[each.node] += each.claimed
        return promised, claimed


def _of(amounts: Any, resource: int | None) -> int:
    """The amount of the resource. A resource that came later has none."""
    return int(amounts[resource]) if resource is not None and resource < len(amounts) else 0


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the pods of a namespace and group have on a node."""

    node: Ints
    space: Ints
    gang: Ints
    pods: Ints
    used: Ints
    leaving: Ints

    def of(self, spaces: Collection[int], among: int) -> _Rows:
        """The rows of these namespaces. `among`: the number of all namespaces."""
        if len(spaces) == among:
            return self
        seen = np.zeros(among, np.bool_)
        seen[list(spaces)] = True
        rows = np.flatnonzero(seen[self.space])
        columns = self.node, self.space, self.gang, self.pods, self.used, self.leaving
        return _Rows(*(each[rows] for each in columns))


def _rows(
    change: Change, resource: int | None, spaces: Mapping[str, int], gangs: Mapping[GroupName, int]
) -> _Rows:
    held = change.holdings
    return _Rows(
        node=np.array(held.node, np.int64),
        space=np.array([spaces[space] for space, _ in held.names], np.int64),
        gang=np.array([gangs.get(name, -1) for name in held.names], np.int64),
        pods=np.array(held.pods, np.int64),
        used=_column(held.used, resource),
        leaving=_column(held.leaving, resource),
    )


def _column(amounts: Ints, resource: int | None) -> Ints:
    """The amounts of the resource: see `_of`."""
    if resource is None or resource >= amounts.shape[1]:
        return np.zeros(len(amounts), np.int64)
    found: Ints = amounts[:, resource]
    return found


def _sums(values: Ints, places: Ints, size: int) -> list[int]:
    """[size], the sums of the values at each place."""
    sums = np.zeros(size, np.int64)
    np.add.at(sums, places, values)
    found: list[int] = sums.tolist()
    return found


def _claims(change: Change, resource: int | None) -> dict[str, list[_Claim]]:
    places = {each.name: at for at, each in enumerate(change.nodes)}
    found = dict[str, list[_Claim]]()
    for plan in change.plans:
        if claims := _of_plan(plan, places, resource):
            found.setdefault(plan.room.namespace, []).extend(claims)
    return found


def _of_plan(plan: PlanNow, places: Mapping[str, int], resource: int | None) -> list[_Claim]:
    promised = dict[str, int]()
    for (name, _, _), held in plan.promised.items():
        if name in places:
            promised[name] = promised.get(name, 0) + held.of(resource)
    return [
        _Claim(places[name], _of(plan.claims.get(name, ()), resource), promised.get(name, 0))
        for name in plan.claims.keys() | promised.keys()
        if name in places
    ]
