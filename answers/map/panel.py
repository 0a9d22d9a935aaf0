"""One node: its room of every resource, the pods that a reader may see there, and to whom its room is promised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from answers.details import Details
from answers.map.blocks import resources_of
from answers.map.rooms import Promise, Rooms
from answers.map.whole import missing_for
from answers.names import Listed, Names
from answers.picture import Picture
from api.core import Taint
from api.stored_plans import carried_out
from nodes.groups.keys import short_name
from nodes.state.snapshot import Snapshot

__all__ = ["NodeRoom", "node_of"]

SHOWN: Final[tuple[Listed, ...]] = ("pods", "preemptionplans")


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """A node. Amounts of cpu are in milli, all others in whole units."""

    name: str
    labels: Mapping[str, str]
    unschedulable: bool
    taints: Sequence[str]
    """As `kubectl describe node` prints them."""
    resources: Sequence[Mapping[str, Any]]
    """`name`, `allocatable`, `used`, `leaving`, `promised`, `free` and `anonymous` of each that the node has or that
    somebody requests there."""
    pods: Sequence[Mapping[str, Any]]
    """`namespace`, `name`, `gang` (empty: none), `priority`, `leaving`, `requests`, and `victimOf`: NAMESPACE/NAME of
    the preemptor for which the pod is evicted, if the reader may know it."""
    promised: Sequence[Mapping[str, Any]]
    """Pods that will get room: `namespace`, `name`, `gang`, `priority`, `requests`, and `plan`, its NAMESPACE/NAME if
    the reader may list it."""
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "labels": dict(self.labels),
            "unschedulable": self.unschedulable,
            "taints": list(self.taints),
            "resources": list(self.resources),
            "pods": list(self.pods),
            "promised": list(self.promised),
            "missing": list(self.missing),
        }


def node_of(
    picture: Picture,
    details: Callable[[str], Details],
    names: Names,
    name: str,
    namespaces: Collection[str] | None = None,
) -> NodeRoom | None:
    """The node for a reader who may list nodes; None if it does not exist. `namespaces`: see `map_of`.

    Raises InputError if nothing can be said of nodes.
    """
    snapshot = picture.nodes.snapshot
    row = next((each for each in snapshot.node_order.tolist() if snapshot.node_names[each] == name), None)
    if row is None:
        return None
    shape = snapshot.node_shapes[row]
    rooms = Rooms(snapshot, names)
    rows = _Rows(rooms, row)
    plan_of = cache(lambda at: _plan_of(rooms.promises[at], details, names))
    return NodeRoom(
        name=name,
        labels=dict(sorted(shape.labels.items())) if shape is not None else {},
        unschedulable=shape is not None and shape.unschedulable,
        taints=[_taint(each) for each in shape.taints] if shape is not None else (),
        resources=rows.resources(resources_of(snapshot, counts_pods=names.lists("pods"))),
        pods=rows.pods(),
        promised=[{**each, "plan": plan_of(at)} for at, each in rows.promised()],
        missing=missing_for(SHOWN, names, namespaces),
    )


def _taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _plan_of(promise: Promise, details: Callable[[str], Details], names: Names) -> str:
    """NAMESPACE/NAME of the stored plan; empty if the reader may not list it."""
    room = promise.plan
    if not names.lists("preemptionplans", room.namespace):
        return ""
    plans = carried_out(details(room.namespace).plans.for_list([room.uid]))
    return next((f"{each.metadata.namespace}/{each.metadata.name}" for each in plans), "")


class _Rows:
    """The rows of the panel."""

    def __init__(self, rooms: Rooms, node: int) -> None:
        self._rooms, self._node = rooms, node
        self._snapshot: Snapshot = rooms.snapshot

    def resources(self, known: Collection[str]) -> list[dict[str, Any]]:
        """See `NodeRoom.resources`. `known`: those that the reader may choose."""
        rooms, node = self._rooms, self._node
        columns = {
            "allocatable": self._snapshot.allocatable[node],
            "used": rooms.used[node],
            "leaving": rooms.leaving[node],
            "promised": rooms.promised[node],
            "free": rooms.free[node],
            "anonymous": rooms.anonymous[node],
        }
        return [
            {"name": name, **{each: int(amounts[at]) for each, amounts in columns.items()}}
            for at, name in enumerate(self._snapshot.resources)
            if name in known and any(amounts[at] for amounts in columns.values())
        ]

    def pods(self) -> list[dict[str, Any]]:
        """See `NodeRoom.pods`."""
        bound = self._rooms.bound
        rows = bound[self._snapshot.pod_node[bound] == self._node]
        preemptor_of = {
            row: f"{each.plan.namespace}/{short_name(each.plan.name)}"
            for each in self._rooms.promises
            for row in each.victims.tolist()
        }
        leaving = self._rooms.leave(rows).tolist()
        return sorted(
            (
                {**self._pod(row), "leaving": leaves, "victimOf": preemptor_of.get(row, "")}
                for row, leaves in zip(rows.tolist(), leaving, strict=True)
            ),
            key=_name,
        )

    def promised(self) -> list[tuple[int, dict[str, Any]]]:
        """See `NodeRoom.promised`: with the place of the plan among the promises."""
        found = [
            (at, self._pod(row))
            for at, each in enumerate(self._rooms.promises)
            for row in each.pods[each.nodes == self._node].tolist()
        ]
        return sorted(found, key=lambda each: _name(each[1]))

    def _pod(self, row: int) -> dict[str, Any]:
        snapshot = self._snapshot
        group = int(snapshot.pod_group[row])
        amounts = snapshot.class_requests[snapshot.pod_class[row]]
        return {
            "namespace": snapshot.pod_namespaces[row],
            "name": snapshot.pod_names[row],
            "gang": short_name(snapshot.group_keys[group][1]) if group >= 0 else "",
            "priority": int(snapshot.pod_priority[row]),
            "requests": {snapshot.resources[at]: int(amounts[at]) for at in np.flatnonzero(amounts).tolist()},
        }


def _name(pod: Mapping[str, Any]) -> tuple[str, str]:
    return pod["namespace"], pod["name"]
