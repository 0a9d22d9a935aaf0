"""Frames: what readers may know of a change. Whoever has the map of before, and puts frames into it, has the map.

Nodes and gangs are named, because their places in a map move when others come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answers.map.change_columns import ChangeColumns
from answers.map.changing import Change
from answers.map.holding import Held, PlanNow, head_of_plan
from answers.names import Names
from nodes.groups.keys import short_name

__all__ = ["Framing"]

GangKey = tuple[str, str]
"""Namespace, and name in the tables."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What all see who may count pods alike."""

    resources: Sequence[str]
    columns: ChangeColumns


class Framing:
    """A change, for all who look at the map in the same way. What they have in common is computed once."""

    def __init__(self, change: Change, topology_key: str, resource: str) -> None:
        """`topology_key` and `resource`: those of the map, which has named them."""
        self._change, self._key, self._resource = change, topology_key, resource
        self._shown: dict[bool, _Shown | None] = {}
        """By whether somebody counts pods. None: they have to fetch the map anew."""
        self._columns: dict[int | None, ChangeColumns] = {}
        """By the column of the resource."""

    def frame(self, names: Names) -> dict[str, Any] | None:
        """The frame for a reader who may list nodes; None if they have to fetch the map anew.

        The fields are those of `web.wire.frames`.
        """
        counts_pods = names.lists("pods")
        if counts_pods not in self._shown:
            self._shown[counts_pods] = self._show(counts_pods=counts_pods)
        shown, change = self._shown[counts_pods], self._change
        if shown is None:
            return None
        is_other = change.choices is not change.before
        return _Frame(change, names, shown.columns).made(
            topologyKeys=_keys(change, names) if is_other else None,
            resources=shown.resources if is_other else None,
        )

    def _show(self, *, counts_pods: bool) -> _Shown | None:
        change, resource = self._change, self._resource
        resources = change.choices.ranked(counts_pods=counts_pods)
        before = change.before.ranked(counts_pods=counts_pods)
        if (resource in resources) != (resource in before):
            return None  # all nodes have other amounts
        column = change.columns.get(resource) if resource in resources else None
        if column not in self._columns:
            self._columns[column] = ChangeColumns.of(change, self._key, column)
        return _Shown(resources, self._columns[column])


def _keys(change: Change, names: Names) -> list[dict[str, Any]]:
    keys = change.choices.keys(lambda space: names.lists("podgroups", space))
    return [{"key": each.key, "podGroups": each.pod_groups} for each in keys]


class _Frame:
    """The frame of one reader. The work is that of what they may see."""

    def __init__(self, change: Change, names: Names, columns: ChangeColumns) -> None:
        self._change, self._names, self._columns = change, names, columns
        self._gangs: dict[GangKey, int] = {}
        """The places of those that are named."""

    def made(self, **choices: Any) -> dict[str, Any]:
        """The frame, with this of the choices."""
        nodes, parts = self._nodes_and_parts()
        plans = self._plans() if self._change.has_other_plans else None
        gangs = {
            "namespace": [namespace for namespace, _ in self._gangs],
            "name": [short_name(name) for _, name in self._gangs],
            "key": [name for _, name in self._gangs],
        }
        gone = list(self._change.gone)
        return {**choices, "gone": gone, "nodes": nodes, "parts": parts, "gangs": gangs, "plans": plans}

    def _gang(self, namespace: str, name: str) -> int:
        return self._gangs.setdefault((namespace, name), len(self._gangs)) if name else -1

    def _sees(self, namespace: str) -> bool:
        return self._names.lists("pods", namespace)

    def _seen(self, spaces: Iterable[str]) -> list[str]:
        lists = self._names.lists
        return list(spaces) if lists("pods") else [each for each in spaces if lists("pods", each)]

    # ---- nodes

    def _nodes_and_parts(self) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[int]]]:
        """As `answers.map.rooms` says it of all nodes."""
        columns = self._columns
        used, leaving, parts = columns.held_by(self._seen(columns.spaces))
        promised, seen = columns.claims_of(self._seen(columns.plan_spaces))
        nodes = {
            "name": columns.name,
            "block": columns.block,
            "allocatable": columns.allocatable,
            "used": used,
            "leaving": leaving,
            "promised": promised,
            "free": columns.free,
            "anonymous": [
                held - own + claimed - of_seen
                for held, own, claimed, of_seen in zip(columns.held, used, columns.claimed, seen, strict=True)
            ],
        }
        places = {each: self._gang(*columns.gangs[each]) for each in dict.fromkeys(parts.gang) if each >= 0}
        return nodes, {
            "node": parts.node,
            "gang": [places.get(each, -1) for each in parts.gang],
            "pods": parts.pods,
            "used": parts.used,
            "leaving": parts.leaving,
        }

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
            sums[1] += held.of(self._columns.resource)
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
