"""The nodes of a change as columns, by namespace: a reader who sees few namespaces costs little."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

from answers.map.changing import Change
from answers.map.holding import PlanNow

__all__ = ["ChangeColumns", "Row"]


class Row(NamedTuple):
    """What the pods of a namespace and group have on a node. Rows of one change are in the order of their places."""

    place: int
    """Among all rows."""
    node: int
    """Its place in the change."""
    namespace: str
    gang: str
    """The name of the group in the tables; empty for pods without one."""
    pods: int
    used: int
    leaving: int


class _Claim(NamedTuple):
    node: int
    claimed: int
    """What the victims of the plan do not cover."""
    promised: int


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """Of one resource. All but the rows and the claims is by node, in the order of the change."""

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
    _rows: Sequence[Row]
    _by_space: Mapping[str, Sequence[Row]]
    _claims: Mapping[str, Sequence[_Claim]]
    """By namespace of the plan."""

    @classmethod
    def of(cls, change: Change, topology_key: str, resource: int | None) -> Self:
        """`resource`: its column in the tables."""
        nodes = change.nodes
        rows, claims = _rows(change, resource), _claims(change, resource)
        by_space = dict[str, list[Row]]()
        for row in rows:
            by_space.setdefault(row.namespace, []).append(row)
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
            _rows=rows,
            _by_space=by_space,
            _claims=claims,
        )

    @property
    def spaces(self) -> Collection[str]:
        """The namespaces that have rows."""
        return self._by_space.keys()

    @property
    def plan_spaces(self) -> Collection[str]:
        """The namespaces of plans that claim something of these nodes."""
        return self._claims.keys()

    def rows_of(self, spaces: Collection[str]) -> Iterable[Row]:
        """The rows of these namespaces, in order. Each of them has rows."""
        if len(spaces) == len(self._by_space):
            return self._rows
        return sorted(chain.from_iterable(self._by_space[each] for each in spaces))

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


def _column(amounts: Any, resource: int | None) -> list[int]:
    """The amounts of the resource: see `_of`."""
    if resource is None or resource >= amounts.shape[1]:
        return [0] * len(amounts)
    found: list[int] = amounts[:, resource].tolist()
    return found


def _rows(change: Change, resource: int | None) -> list[Row]:
    held = change.holdings
    used, leaving = _column(held.used, resource), _column(held.leaving, resource)
    columns = zip(held.node, held.names, held.pods, used, leaving, strict=True)
    return [
        Row(place, node, namespace, group, pods, uses, leaves)
        for place, (node, (namespace, group), pods, uses, leaves) in enumerate(columns)
    ]


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
