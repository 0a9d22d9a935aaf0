"""What is left on nodes with reserved room to pods that no plan places: filter asks for each of them, on many nodes.

A pod's priority says what is in its way: claims of plans, nominations, and grants. The room that terminating pods leave
is free. All pods of one priority see the same, so what claims and nominations take is kept by node for each priority
that has asked. It is computed anew when one of these changes:

- claims and victims on the node, and the priorities of their groups: `Reservations.on_change`. A group's priority
  changes only together with all its claims and victims;
- nominations to the node, and what those pods request: `Tables.nomination_changes`;
- whether a nominated pod is counted with a claim or a grant already: the hooks of `Reservations` and `Grants`, which
  name the pod;
- whether the node exists: `NodeTable.population`.

What pods on the node hold is read from the tables each time: pods that come, terminate or are overdue need no notice.
Grants are summed up as they come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account
from controllers.gangs.promised.grants import Grant
from controllers.gangs.promised.reservations import Reservations
from nodes.state.columns.columns import Column, Columns, Matrix
from nodes.state.columns.resources import Resources
from nodes.state.tables import Tables

__all__ = ["Judged", "Leftover"]

Int64s = NDArray[np.int64]

MOST_LEVELS: Final = 64
"""Priorities whose amounts are kept."""
MOST_DEAD: Final = 64
"""Rows of nodes without claims that are kept whatever the number of the others is."""


class Judged(NamedTuple):
    """Nodes with claims that filter was asked about."""

    barred: list[str]
    """On these, the pod would take room that is promised to others."""
    open: list[str]


class _Level:
    """What pods of one priority see. Rows are those of the table."""

    def __init__(self, priority: int, taken: Matrix) -> None:
        self.priority = priority
        self.taken = taken
        """[n, R] What claims and nominations hold back of the free room."""
        self.holds = Column(np.bool_)
        """[n] Whether there are claims that these pods must respect. Without any, nothing bars them."""
        self.nominees: dict[str, tuple[int, Requests]] = {}
        """By UID, the pods whose nomination is part of `taken`: the row, and what they request."""
        self.by_row: dict[int, list[str]] = {}
        """The same UIDs by row."""
        self.sequence = 0
        """`_Table.sequence` when the level was computed."""
        self.nominations = -1
        """`Tables.last_change` at that time."""
        self.columns = Columns(self.taken, self.holds)

    def forget(self, row: int) -> None:
        """The row is computed anew."""
        for uid in self.by_row.pop(row, ()):
            if self.nominees.get(uid, (-1, {}))[0] == row:
                del self.nominees[uid]


class _Table:
    """Nodes by row. A row stays when its node has no claims any longer. It goes with the whole table."""

    def __init__(self) -> None:
        self.resources = Resources()
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.reserved = Column(np.bool_)
        """[n] Whether there are claims on the node."""
        self.live = 0
        """The number of these nodes."""
        self.kept = 0
        """Nodes without claims that had a row from the beginning, because of grants."""
        self.touched = Column(np.int64)
        """[n] `sequence` when something changed last that levels depend on."""
        self.places = Column(np.int64, -1)
        """[n] The node's row in the tables of the mirror, -1 for a node that does not exist."""
        self.granted = self.resources.matrix()
        """[n, R]"""
        self.granted_rows: dict[str, NDArray[np.intp]] = {}
        """By UID, the rows of the pod's grant."""
        self.sequence = 0
        self.population = -1
        """`NodeTable.population` when `places` was read."""
        self.levels: dict[int, _Level] = {}
        self._columns = Columns(self.reserved, self.touched, self.places, self.granted)

    @property
    def dead(self) -> int:
        """The number of rows that a new table would not have."""
        return len(self.names) - self.live - self.kept

    def row(self, node: str) -> int:
        """The node's row. A node without one gets one."""
        row = self.rows.get(node)
        if row is None:
            row = self.rows[node] = len(self.names)
            self.names.append(node)
            self._columns.reach(len(self.names))
            self.population = -1
        return row

    def touch(self, row: int) -> None:
        """Something has changed that levels depend on."""
        self.sequence += 1
        self.touched.array[row] = self.sequence

    def set_reserved(self, row: int, reserved: bool) -> None:
        """Whether there are claims on the node now."""
        self.live += int(reserved) - int(self.reserved.array.item(row))
        self.reserved.array[row] = reserved

    def grant(self, grant: Grant, sign: int) -> None:
        """Add a grant, or take it away with -1."""
        rows = self.granted_rows.pop(grant.pod, None)
        if rows is None:
            rows = np.array([self.row(node) for node in grant.nodes], np.intp)
        if sign > 0:
            self.granted_rows[grant.pod] = rows
        for resource, amount in grant.requests.items():
            column = self.resources.column(resource)
            self.granted.array[rows, column] += sign * amount

    def level(self, priority: int) -> _Level:
        """The level of this priority, not yet brought up to date."""
        level = self.levels.get(priority)
        if level is None:
            level = self.levels[priority] = _Level(priority, self.resources.matrix())
        return level


class Leftover:
    """Amounts are the scheduler's integers, and may be negative."""

    def __init__(self, tables: Tables, roster: Roster, reservations: Reservations) -> None:
        self._tables, self._reservations, self._account = tables, reservations, Account(roster, reservations)
        self.layout = 0
        """Changes when rows do."""
        self._table = self._new()
        reservations.on_change(self._changed)
        reservations.grants.on_change(self._granted)

    @property
    def names(self) -> Sequence[str]:
        """The node of each row of `room`. While `layout` is the same, more are added at the end of this list only."""
        return self._table.names

    def has(self, node: str) -> bool:
        """Whether the node has a row."""
        return node in self._table.rows

    def judge(self, uid: str, requests: Requests, priority: int, names: Iterable[str]) -> Judged:
        """What a pod may do on those of the named nodes on which there are claims.

        A grant that the pod has counts like those of others, so an attempt that has ended is settled first.
        """
        table, level = self._current(priority)
        known = [(name, table.rows[name]) for name in names if name in table.rows]
        rows = np.array([row for _, row in known], np.intp)
        wanted = {resource: amount for resource, amount in requests.items() if amount > 0}
        room = self._room(level, rows, list(wanted))
        own_row, own = level.nominees.get(uid, (-1, {}))
        room[rows == own_row] += np.array([own.get(resource, 0) for resource in wanted], np.int64)
        short = (room < np.array(list(wanted.values()), np.int64)).any(axis=1) & level.holds.array[rows]
        open_ = ~short & table.reserved.array[rows]
        return Judged(
            [known[at][0] for at in np.flatnonzero(short).tolist()],
            [known[at][0] for at in np.flatnonzero(open_).tolist()],
        )

    def room(self, priority: int, resources: Sequence[str]) -> Int64s:
        """What is left to pods of this priority on each node: [n, len(resources)].

        Where they need not respect any claim it is all that is free: filter bars nobody there, but a pod does not fit
        into less either.
        """
        table, level = self._current(priority)
        return self._room(level, np.arange(len(table.names)), resources)

    def is_open(self, node: str, priority: int) -> bool:
        """Whether filter bars no pod of this priority from the node, because there are no claims to respect."""
        table, level = self._current(priority)
        row = table.rows.get(node)
        return row is None or not level.holds.array[row]

    def nominees(self, priority: int) -> Iterable[tuple[str, int, Requests]]:
        """Pods (UID) for whose nomination room is kept in `room`: the row, and what each requests.

        The room is kept from others. A pod is not in its own way.
        """
        _, level = self._current(priority)
        return [(uid, row, requests) for uid, (row, requests) in level.nominees.items()]

    def _room(self, level: _Level, rows: NDArray[np.intp], resources: Sequence[str]) -> Int64s:
        table, holds = self._table, level.holds.array[rows]
        room, held = self._tables.nodes.free_on(table.places.array[rows], resources), rows[holds]
        for at, resource in enumerate(resources):
            column = table.resources.get(resource)
            if column is not None:
                room[holds, at] -= level.taken.array[held, column] + table.granted.array[held, column]
        return room

    # ---- what has changed

    def _changed(self, node: str, pod: str) -> None:
        table, reserved = self._table, self._reservations.is_reserved(node)
        row = table.row(node) if reserved else table.rows.get(node)
        if row is not None:
            table.set_reserved(row, reserved)
            table.touch(row)
        self._trim()
        self._touch_nomination(pod)

    def _granted(self, grant: Grant, sign: int) -> None:
        self._table.grant(grant, sign)
        self._touch_nomination(grant.pod)

    def _touch_nomination(self, uid: str) -> None:
        pod, nodes = self._tables.pod(uid), self._tables.nodes.names.keys
        place = self._tables.pods.nominations.by_pod.get(pod) if pod is not None else None
        node = nodes[place] if place is not None else None
        row = self._table.rows.get(node) if node is not None else None
        if row is not None:
            self._table.touch(row)

    # ---- levels

    def _current(self, priority: int) -> tuple[_Table, _Level]:
        """The table, and the level of this priority as it is now."""
        self._reservations.grants.expire()
        self._trim()
        table = self._table
        self._find_places(table)
        level = table.level(priority)
        n = len(table.names)
        level.columns.reach(n)
        stale = table.touched.array[:n] > level.sequence
        stale |= self._renominated(table, level)
        for row in np.flatnonzero(stale).tolist():
            self._compute(table, level, row)
        level.sequence, level.nominations = table.sequence, self._tables.last_change
        return table, level

    def _trim(self) -> None:
        """Begin anew if most of what is kept is about nodes without claims, or about too many priorities."""
        table = self._table
        if table.dead > max(table.live, MOST_DEAD) or len(table.levels) > MOST_LEVELS:
            self._table = self._new()

    def _new(self) -> _Table:
        table = _Table()
        self.layout += 1
        for node in self._reservations.nodes:
            row = table.row(node)
            table.set_reserved(row, True)
            table.touch(row)
        for grant in self._reservations.grants.values():
            table.grant(grant, 1)
        table.kept = len(table.names) - table.live
        return table

    def _find_places(self, table: _Table) -> None:
        """Follow nodes that have come or gone."""
        nodes, n = self._tables.nodes, len(table.names)
        if table.population == nodes.population:
            return
        found = (nodes.find(name) for name in table.names)
        places = np.array([-1 if place is None else place for place in found], np.int64)
        for row in np.flatnonzero(places != table.places.array[:n]).tolist():
            table.touch(row)
        table.places.array[:n] = places
        table.population = nodes.population

    def _renominated(self, table: _Table, level: _Level) -> NDArray[np.bool_]:
        """[n] On which nodes nominations have changed since the level was computed."""
        places = table.places.array[: len(table.names)]
        changed, exist = np.zeros(len(places), np.bool_), places >= 0
        changed[exist] = self._tables.nodes.nomination_changes.array[places[exist]] > level.nominations
        return changed

    def _compute(self, table: _Table, level: _Level, row: int) -> None:
        node, reservations = table.names[row], self._reservations
        level.forget(row)
        level.holds.array[row] = reservations.is_reserved(node, at_least=level.priority)
        if not level.holds.array[row]:
            return
        taken = reservations.promised(node, at_least=level.priority)
        for nominee in self._account.nominees(node, level.priority, None):
            if reservations.grants.covers(nominee.uid, node):
                continue
            level.nominees[nominee.uid] = row, nominee.requests
            level.by_row.setdefault(row, []).append(nominee.uid)
            for resource, amount in nominee.requests.items():
                taken[resource] = taken.get(resource, 0) + amount
        amounts = table.resources.vector(taken)
        level.taken.array[row] = amounts
