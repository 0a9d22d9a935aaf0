"""What pods have on nodes, and what plans claim there, read from the tables row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodes.groups.keys import short_name
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.pods.pod_facts import NOWHERE
from nodes.state.snapshot import PlanRoom
from nodes.state.tables import Tables

__all__ = ["Held", "Holdings", "PlanNow", "ask_plan", "head_of_plan", "holdings_on", "victims_on"]

Amounts = NDArray[np.int64]
"""[R], by column of the tables, where nothing else is said."""
Place = tuple[str, str, str]
"""A node, and namespace and name of a group there. The name is empty for pods without a group."""
GroupName = tuple[str, str]
"""A namespace, and the name of a group of it in the tables. The name is empty for pods without a group."""
PlanKey = tuple[str, str, str, str]


def head_of_plan(room: PlanRoom) -> dict[str, Any]:
    """What the map and its frames say of a plan before they say where it has room."""
    return {
        "kind": room.kind,
        "namespace": room.namespace,
        "name": short_name(room.name),
        "uid": room.uid,
        "priority": room.priority,
    }


@dataclass(frozen=True, slots=True, eq=False)
class Holdings:
    """What the pods of a namespace and group have on a node: a row for each of these, in this order."""

    node: Sequence[int]
    """Its place among the nodes that were asked about."""
    names: Sequence[GroupName]
    pods: Sequence[int]
    used: Amounts
    leaving: Amounts
    """[H, R], by row and by column of the tables."""


@dataclass(frozen=True, slots=True)
class Held:
    """Pods of a plan at one place. The amounts are plain numbers, to be compared."""

    pods: int
    amounts: tuple[int, ...]

    def of(self, column: int | None) -> int:
        """The amount in this column. A column that came later has nothing."""
        return self.amounts[column] if column is not None and column < len(self.amounts) else 0


@dataclass(frozen=True, slots=True)
class PlanNow:
    """A plan that is carried out."""

    room: PlanRoom
    own: frozenset[str]
    """UIDs of the victims whose room counts for this plan alone."""
    gang: tuple[str, str]
    """Namespace and name of the group whose pods wait; empty names for none."""
    promised: Mapping[Place, Held]
    victims: Mapping[Place, Held]
    """Those that are still there. The namespace is theirs."""
    claims: Mapping[str, tuple[int, ...]]
    """By node where something is promised: what its own victims do not cover."""

    @property
    def key(self) -> PlanKey:
        """No other plan has it."""
        return self.room.kind, self.room.namespace, self.room.name, self.room.uid


def holdings_on(tables: Tables, nodes: Sequence[int]) -> Holdings:
    """What pods have on the nodes in these rows. It costs their pods: a node is asked about whole."""
    pods = tables.pods
    on = [pods.on(node) for node in nodes]
    counts = [len(each) for each in on]
    rows = np.fromiter(chain.from_iterable(on), np.int64, sum(counts))
    at = np.repeat(np.arange(len(nodes)), counts)
    names, number = _names_of(tables, rows)
    order = np.lexsort((number, at))
    rows, at, number = rows[order], at[order], number[order]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (at[1:] != at[:-1]) | (number[1:] != number[:-1])
    begins = np.flatnonzero(is_first)
    requests = tables.classes.requests.array[pods.pod_class.array[rows]]
    leaves = pods.flags.array[rows] & (TERMINATING | STAYING) == TERMINATING
    return Holdings(
        node=at[begins].tolist(),
        names=[names[each] for each in number[begins].tolist()],
        pods=np.diff(begins, append=len(rows)).tolist(),
        used=np.add.reduceat(requests, begins),
        leaving=np.add.reduceat(np.where(leaves[:, None], requests, 0), begins),
    )


def _names_of(tables: Tables, rows: NDArray[np.int64]) -> tuple[list[GroupName], NDArray[np.int64]]:
    """The namespaces and groups of the pods in these rows, each once and in order, and the place of each pod's."""
    pods, spaces = tables.pods, dict[str, int]()
    space = [spaces.setdefault(each, len(spaces)) for each in pods.namespaces.at(rows.tolist())]
    groups, keys, of_number = pods.group.array[rows].astype(np.int64), tables.groups.keys.keys, [*spaces]
    many = len(keys) + 1
    pairs, place = np.unique(np.array(space, np.int64) * many + (groups - NOWHERE), return_inverse=True)
    found = list[GroupName]()
    for pair in pairs.tolist():
        group = pair % many + NOWHERE
        key = keys[group] if group != NOWHERE else None
        found.append((of_number[pair // many], key[1] if key is not None else ""))
    names = sorted(set(found))
    ranks = {name: rank for rank, name in enumerate(names)}
    return names, np.array([ranks[each] for each in found], np.int64)[place]


def _group_name(tables: Tables, pod: int) -> str:
    """The name of the group of the pod in this row; empty if it has none."""
    row = tables.pods.group.array.item(pod)
    key = tables.groups.keys.keys[row] if row != NOWHERE else None
    return key[1] if key is not None else ""


def ask_plan(tables: Tables, room: PlanRoom, own: frozenset[str]) -> PlanNow:
    """What the plan promises and takes now. See `nodes.answers.asking.held_room`, which asks a snapshot."""
    promised, victims = dict[Place, list[int]](), dict[Place, list[int]]()
    first: int | None = None
    for uid, node in room.nodes.items():
        row = tables.pods.find(uid)
        is_own = row is not None and tables.pods.namespaces[row] == room.namespace
        if row is not None and is_own and _waits(tables, row) and tables.nodes.find(node) is not None:
            promised.setdefault(_place(tables, row, node), []).append(row)
            first = row if first is None else min(first, row)
    for uid in room.victims:
        row = tables.pods.find(uid)
        if row is not None and (on := _node_of(tables, row)):
            victims.setdefault(_place(tables, row, on), []).append(row)
    return PlanNow(
        room=room,
        own=own,
        gang=_gang_of(tables, first) if room.kind == "PodGroup" else ("", ""),
        promised=_held(tables, promised),
        victims=_held(tables, victims),
        claims=_claims(tables, promised, own),
    )


def victims_on(tables: Tables, room: PlanRoom) -> set[str]:
    """The names of the nodes of the victims that are there, also of nodes that do not exist."""
    rows = (tables.pods.find(uid) for uid in room.victims)
    nodes = {tables.pods.node.array.item(row) for row in rows if row is not None} - {NOWHERE}
    return {name for node in nodes if (name := tables.nodes.names.keys[node]) is not None}


def _gang_of(tables: Tables, pod: int | None) -> tuple[str, str]:
    name = _group_name(tables, pod) if pod is not None else ""
    return (tables.pods.namespaces[pod], name) if pod is not None and name else ("", "")


def _place(tables: Tables, pod: int, node: str) -> Place:
    return node, tables.pods.namespaces[pod], _group_name(tables, pod)


def _waits(tables: Tables, pod: int) -> bool:
    pods = tables.pods
    return pods.node.array.item(pod) == NOWHERE and not pods.flags.array.item(pod) & TERMINATING


def _node_of(tables: Tables, pod: int) -> str:
    """The node on which the pod is; empty if that does not exist."""
    row = tables.pods.node.array.item(pod)
    return (tables.nodes.names.keys[row] or "") if row != NOWHERE and tables.nodes.live.array[row] else ""


def _leaves(tables: Tables, pod: int) -> bool:
    """Whether a pod with a node will leave it for the plan that evicts it."""
    flags = tables.pods.flags.array.item(pod)
    return not flags & STAYING if flags & TERMINATING else not flags & KEPT


def _requests(tables: Tables, pods: Sequence[int]) -> Amounts:
    requests: Amounts = tables.classes.requests.array[tables.pods.pod_class.array[list(pods)]].sum(axis=0)
    return requests


def _held(tables: Tables, places: Mapping[Place, Sequence[int]]) -> dict[Place, Held]:
    return {
        place: Held(len(rows), tuple(_requests(tables, rows).tolist()))
        for place, rows in sorted(places.items())
    }


def _claims(
    tables: Tables, promised: Mapping[Place, Sequence[int]], own: frozenset[str]
) -> dict[str, tuple[int, ...]]:
    needs = dict[str, Amounts]()
    for (node, _, _), rows in promised.items():
        needs[node] = needs.get(node, 0) + _requests(tables, rows)
    for uid in own:
        row = tables.pods.find(uid)
        if row is not None and _leaves(tables, row) and (on := _node_of(tables, row)) in needs:
            needs[on] = needs[on] - _requests(tables, [row])
    return {node: tuple(np.maximum(amounts, 0).tolist()) for node, amounts in needs.items()}
