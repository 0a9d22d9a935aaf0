"""A frame: what one reader may know of a change. Whoever has the map of before, and puts frames into it, has the map.

Nodes and gangs are named, because their places in a map move when others come and go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answers.map.changing import Change, NodeNow
from answers.map.holding import Held, PlanNow, head_of_plan
from answers.names import Names
from nodes.groups.keys import short_name

__all__ = ["frame_of"]

GangKey = tuple[str, str]
"""Namespace, and name in the tables."""


def frame_of(change: Change, names: Names, topology_key: str, resource: str) -> dict[str, Any] | None:
    """The frame for a reader who may list nodes; None if they have to fetch the map anew.

    `topology_key` and `resource`: those of the map, which has named them. The fields are those of `web.wire.frames`.
    """
    counts_pods = names.lists("pods")
    resources = change.choices.ranked(counts_pods=counts_pods)
    before = change.before.ranked(counts_pods=counts_pods)
    if (resource in resources) != (resource in before):
        return None  # all nodes have other amounts
    is_other = change.choices is not change.before
    column = change.columns.get(resource) if resource in resources else None
    return _Frame(change, names, topology_key, column).made(
        topologyKeys=_keys(change, names) if is_other else None,
        resources=resources if is_other else None,
    )


def _keys(change: Change, names: Names) -> list[dict[str, Any]]:
    keys = change.choices.keys(lambda space: names.lists("podgroups", space))
    return [{"key": each.key, "podGroups": each.pod_groups} for each in keys]


@dataclass(slots=True)
class _Claims:
    """What plans claim of a node."""

    promised: int = 0
    """By plans that the reader may know of."""
    hidden: int = 0
    """By others, as far as their victims do not cover it."""
    all: int = 0
    """By all, as far as their victims do not cover it."""


class _Frame:
    def __init__(self, change: Change, names: Names, key: str, column: int | None) -> None:
        self._change, self._names, self._key, self._column = change, names, key, column
        self._gangs: dict[GangKey, int] = {}
        """The places of those that are named."""
        self._claims = self._claimed({each.name for each in change.nodes})

    def made(self, **choices: Any) -> dict[str, Any]:
        """The frame, with this of the choices."""
        nodes, parts = self._nodes(), self._parts()
        plans = self._plans() if self._change.has_other_plans else None
        gangs = {
            "namespace": [namespace for namespace, _ in self._gangs],
            "name": [short_name(name) for _, name in self._gangs],
            "key": [name for _, name in self._gangs],
        }
        gone = list(self._change.gone)
        return {**choices, "gone": gone, "nodes": nodes, "parts": parts, "gangs": gangs, "plans": plans}

    def _of(self, amounts: Sequence[int] | Any) -> int:
        if self._column is None or self._column >= len(amounts):
            return 0
        return int(amounts[self._column])

    def _gang(self, namespace: str, name: str) -> int:
        return self._gangs.setdefault((namespace, name), len(self._gangs)) if name else -1

    def _sees(self, namespace: str) -> bool:
        return self._names.lists("pods", namespace)

    # ---- nodes

    def _nodes(self) -> dict[str, list[Any]]:
        rows = [self._node(each) for each in self._change.nodes]
        columns = "name", "block", "allocatable", "used", "leaving", "promised", "free", "anonymous"
        return {column: [row[at] for row in rows] for at, column in enumerate(columns)}

    def _node(self, node: NodeNow) -> tuple[Any, ...]:
        """As `answers.map.rooms` says it of all nodes."""
        seen = [each for each in node.holdings if self._sees(each.namespace)]
        used, claims = sum(self._of(each.used) for each in seen), self._claims.get(node.name, _Claims())
        allocatable, held = self._of(node.allocatable), self._of(node.used)
        return (
            node.name,
            node.labels.get(self._key),
            allocatable,
            used,
            sum(self._of(each.leaving) for each in seen),
            claims.promised,
            max(allocatable - held - claims.all, 0),
            held - used + claims.hidden,
        )

    def _claimed(self, nodes: set[str]) -> Mapping[str, _Claims]:
        found = {name: _Claims() for name in nodes}
        for plan in self._change.plans:
            sees = self._sees(plan.room.namespace)
            for name in plan.claims.keys() & nodes:
                amount = self._of(plan.claims[name])
                found[name].all += amount
                found[name].hidden += 0 if sees else amount
            for (name, _, _), held in plan.promised.items() if sees else ():
                if name in nodes:
                    found[name].promised += held.of(self._column)
        return found

    def _parts(self) -> dict[str, list[int]]:
        found = dict[tuple[int, int], list[int]]()
        for at, node in enumerate(self._change.nodes):
            for each in node.holdings:
                if self._sees(each.namespace):
                    # Pods without a gang are one part, whatever their namespaces.
                    sums = found.setdefault((at, self._gang(each.namespace, each.group)), [0, 0, 0])
                    for column, amount in enumerate((each.pods, self._of(each.used), self._of(each.leaving))):
                        sums[column] += amount
        rows = [(*place, *sums) for place, sums in found.items()]
        columns = "node", "gang", "pods", "used", "leaving"
        return {column: [row[at] for row in rows] for at, column in enumerate(columns)}

    # ---- plans

    def _plans(self) -> dict[str, Any]:
        change = self._change
        seen = [at for at, each in enumerate(change.plans) if self._sees(each.room.namespace)]
        return {
            "order": [_id(change.plans[at]) for at in seen],
            "changed": [self._plan(change.plans[at]) for at in seen if at in change.changed_plans],
        }

    def _plan(self, plan: PlanNow) -> dict[str, Any]:
        room = plan.room
        return {
            **head_of_plan(room),
            "gang": self._gang(*plan.gang),
            "promised": self._placed(plan.promised),
            "victims": self._placed(
                {place: held for place, held in plan.victims.items() if self._sees(place[1])}
            ),
        }

    def _placed(self, places: Mapping[tuple[str, str, str], Held]) -> dict[str, list[Any]]:
        found = dict[tuple[str, int], list[int]]()
        for (node, namespace, name), held in places.items():
            sums = found.setdefault((node, self._gang(namespace, name)), [0, 0])
            sums[0] += held.pods
            sums[1] += held.of(self._column)
        return {
            "node": [node for node, _ in found],
            "gang": [gang for _, gang in found],
            "pods": [pods for pods, _ in found.values()],
            "amount": [amount for _, amount in found.values()],
        }


def _id(plan: PlanNow) -> str:
    """As the page makes it of a plan in a map."""
    room = plan.room
    return f"{room.kind}/{room.namespace}/{short_name(room.name)}/{room.uid}"
