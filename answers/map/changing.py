"""What has changed on the nodes since somebody last looked: found by counters, and never by a walk over everything.

A change says nothing of readers: `answers.map.frame` makes of it what one may know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from answers.map.choices import Choices
from answers.map.holding import Holdings, PlanNow, ask_plan, holdings_on, victims_on
from nodes.answers.asking import victim_owners
from nodes.state.snapshot import PlanRoom
from nodes.state.tables import Tables

__all__ = ["Change", "Changing", "NodeNow"]

Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeNow:
    """A node that exists. Amounts are [R], by column of the tables."""

    name: str
    labels: Mapping[str, str]
    allocatable: Amounts
    used: Amounts
    """By all pods."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is there now of all that has changed."""

    nodes: Sequence[NodeNow]
    holdings: Holdings
    """What pods have on these nodes."""
    gone: Sequence[str]
    """Names of nodes."""
    plans: Sequence[PlanNow]
    """All plans that are carried out, by namespace and name of the preemptor."""
    changed_plans: frozenset[int]
    """Their places in `plans`."""
    has_other_plans: bool
    """Whether plans came, went or changed."""
    columns: Mapping[str, int]
    """The column of each resource."""
    choices: Choices
    """Which labels and resources there are."""
    before: Choices
    """As of the last change: the same object if they are as before."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return not (self.nodes or self.gone or self.has_other_plans or self.choices is not self.before)


class Changing:
    """Follows the tables of a cluster. Everything runs on the thread that changes them."""

    def __init__(self, tables: Tables, rooms: Sequence[PlanRoom]) -> None:
        """`rooms`: what plans hold now. This walks over nodes and groups, once."""
        self._tables = tables
        self._marks = self._now()
        self._choices = Choices.of(tables)
        self._rooms: Sequence[PlanRoom] = ()
        self._plans: list[PlanNow] = []
        self._plans_of: dict[str, set[int]] = {}
        """By UID of a pod and by name of a node: the places of plans that depend on it. No UID is a name of a node."""
        self._set_rooms(rooms)

    def next(self, rooms: Sequence[PlanRoom]) -> Change | None:
        """What has changed since the last call; None if there was too much to be known.

        `rooms`: what plans hold now, the same object as before if that has not changed.
        """
        tables, (nodes, pods, groups) = self._tables, self._marks
        self._marks = self._now()
        names, uids = tables.nodes.names_changed_since(nodes), tables.pods.changed.since(pods)
        keys = tables.groups.changed.since(groups)
        if names is None or uids is None or keys is None:
            return None
        before, self._choices = self._choices, self._choices.after(tables, names, keys)
        changed, is_other, touched = self._look_at_plans(rooms, names, uids)
        found = {name: tables.nodes.find(name) for name in sorted(names | touched)}
        rows = {name: row for name, row in found.items() if row is not None}
        return Change(
            nodes=self._nodes(rows),
            holdings=holdings_on(tables, [*rows.values()]),
            gone=[name for name, row in found.items() if row is None],
            plans=tuple(self._plans),
            changed_plans=changed,
            has_other_plans=is_other,
            columns=dict(tables.resources.columns()),
            choices=self._choices,
            before=before,
        )

    def _now(self) -> tuple[int, int, int]:
        tables = self._tables
        return tables.nodes.last_change, tables.pods.changed.count, tables.groups.changed.count

    def _nodes(self, rows: Mapping[str, int]) -> list[NodeNow]:
        """`rows`: of the nodes, by their names."""
        nodes = self._tables.nodes
        shapes = [nodes.shapes[row] for row in rows.values()]
        return [
            NodeNow(
                name,
                shape.labels if shape is not None else {},
                nodes.allocatable.array[row].copy(),
                nodes.used.array[row].copy(),
            )
            for (name, row), shape in zip(rows.items(), shapes, strict=True)
        ]

    # ---- plans

    def _look_at_plans(
        self, rooms: Sequence[PlanRoom], names: set[str], uids: Sequence[str]
    ) -> tuple[frozenset[int], bool, set[str]]:
        """Which plans are not as before, whether any is, and the nodes where they claim something else."""
        before = self._plans[:]
        if rooms is not self._rooms:
            self._set_rooms(rooms)
        else:
            for at in {at for each in (*names, *uids) for at in self._plans_of.get(each, ())}:
                self._plans[at] = ask_plan(self._tables, self._plans[at].room, self._plans[at].own)
                self._note_victims(at)
        known = {each.key: each for each in before}
        changed = {at for at, each in enumerate(self._plans) if known.get(each.key) != each}
        is_other = bool(changed) or [each.key for each in before] != [each.key for each in self._plans]
        if not is_other:
            return frozenset(), False, set()
        now = {each.key: each for each in self._plans}
        touched = set[str]()
        for key in known.keys() | now.keys():
            old, new = known.get(key), now.get(key)
            if old != new:
                touched |= {*(old.claims if old else ()), *(new.claims if new else ())}
        return frozenset(changed), True, touched

    def _set_rooms(self, rooms: Sequence[PlanRoom]) -> None:
        self._rooms = rooms
        owners = victim_owners(rooms)
        ordered = sorted(enumerate(rooms), key=lambda each: (each[1].namespace, each[1].name, each[1].uid))
        self._plans = [
            ask_plan(self._tables, room, frozenset(uid for uid in room.victims if owners[uid] == at))
            for at, room in ordered
        ]
        self._plans_of = {}
        for at, (_, room) in enumerate(ordered):
            for each in (*room.nodes, *room.nodes.values(), *room.victims):
                self._plans_of.setdefault(each, set()).add(at)
            self._note_victims(at)

    def _note_victims(self, at: int) -> None:
        """The plan depends on the nodes of its victims, too: pods stay when their node goes."""
        for node in victims_on(self._tables, self._plans[at].room):
            self._plans_of.setdefault(node, set()).add(at)
