"""One account of promised room, for all who ask: the search, the look at a plan, and the verbs.

Room is promised by the claims of plans and by nominations of pods, ours or not. Room comes back from terminating pods
that are not overdue. Who asks has a priority, and sees through all promises of a lower one.

`Account.room` is the definition, for one resource on one node. Two others are derived from it, because they answer for
many nodes at once: `subtract` writes it into a snapshot, for a group that has no plan; and `Leftover` keeps it for pods
that no plan places, less what filter has granted since. tests/property/test_account.py compares them.

See docs/decisions/0026.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from api.core import Pod
from controllers.gangs.keys import GroupKey, lone_pod
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import MemberView, Nominee, Roster
from controllers.gangs.promised.reservations import Reservations, Room
from nodes.state.columns.flags import STAYING, is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["Account", "asks_with", "pod_asks_with", "subtract"]

Int64s = NDArray[np.int64]


def asks_with(priority: int, members: Iterable[MemberView]) -> int:
    """The priority with which a group asks for room: the lowest of its own and those of its unbound members.

    The verbs ask in the same way for each member: no member may enter room that is promised above its own priority.
    """
    return min([priority, *(each.asking.priority for each in members if each.node is None)])


def pod_asks_with(roster: Roster, pod: Pod) -> int:
    """The priority with which filter asks for a pod: its own, or its group's, whichever is lower."""
    key, own = roster.gang_of(pod), pod.spec.priority or 0
    priority = roster.group_priority(key) if key is not None else None
    return own if priority is None else min(own, priority)


class Account:
    """Questions about one node. Amounts are the scheduler's integers, and may be negative."""

    def __init__(self, roster: Roster, reservations: Reservations) -> None:
        self._roster, self._reservations = roster, reservations

    def room(self, node: str, resource: str, group: GroupKey | None, priority: int) -> int:
        """What the group's plan may count with once its own victims are gone. Its own claims are not subtracted.

        None: what a pod of this priority may use that no plan places, once all have gone that terminate.
        """
        free = self._free(priority, group)
        return self._reservations.room(node, resource, free, at_least=priority, own=group)

    def room_now(self, node: str, resource: str, group: GroupKey, priority: int) -> int:
        """What the group's pods may use at once. Its own claims are not subtracted."""

        def free_now(node: str, resource: str) -> int:
            return self._roster.free_now(node, resource) - self._nominated(node, resource, priority, group)

        return self._reservations.room_now(node, resource, free_now, at_least=priority, own=group)

    def overrun(self, group: GroupKey) -> GroupKey | None:
        """Which group's plan of higher priority takes room that this group's plan claims; None if there is none.

        See `Reservations.overrun`.
        """
        priority = self._reservations.priority(group)
        return None if priority is None else self._reservations.overrun(group, self._free(priority, group))

    def takers(self, group: GroupKey, node: str) -> Set[GroupKey]:
        """Which groups' plans of higher priority take room that this group's plan claims on the node."""
        priority = self._reservations.priority(group)
        if priority is None:
            return frozenset()
        return self._reservations.takers(node, group, self._free(priority, group))

    def nominees(self, node: str, priority: int, own: GroupKey | None) -> Iterator[Nominee]:
        """Pods of this own priority or more, nominated to the node, that take more room than is counted already."""
        return (
            nominee
            for nominee in self._roster.nominees(node, at_least=priority)
            if not _is_counted(self._reservations, nominee.uid, nominee.group, priority, own)
        )

    def _free(self, priority: int, group: GroupKey | None) -> Room:
        return lambda node, resource: (
            self._roster.free(node, resource) - self._nominated(node, resource, priority, group)
        )

    def _nominated(self, node: str, resource: str, priority: int, own: GroupKey | None) -> int:
        return sum(nominee.requests.get(resource, 0) for nominee in self.nominees(node, priority, own))


def _is_counted(
    reservations: Reservations, uid: str, group: GroupKey | None, priority: int, own: GroupKey | None
) -> bool:
    """Whether a nominated pod takes no more room than is counted already: it is the asking group's, or has a claim."""
    if group is not None and group == own:
        return True
    alone = lone_pod(own) if own is not None else None
    if alone is not None and alone.uid == uid:
        return True
    claimant = reservations.claimant(uid)
    if claimant is None:
        return False
    claimed_at = reservations.priority(claimant)
    return claimant == own or (claimed_at is not None and claimed_at >= priority)


def subtract(
    snapshot: Snapshot,
    reservations: Reservations,
    group: GroupKey,
    priority: int,
    coming: Mapping[str, str] = MappingProxyType({}),
) -> Snapshot:
    """The snapshot as the next plan for the group must see it, at this priority.

    Other plans' victims stay and are nobody's victims; the claims that they do not cover are used, and so is what
    nominated pods request. `coming`: further pods (UID) that count as nominated, and the node of each.
    """
    others = reservations.seen_by(priority, but=group)
    nominated = [
        (pod, node)
        for pod, node in {**_rows_of(coming, snapshot), **snapshot.nominated}.items()
        if snapshot.pod_priority[pod] >= priority
        and not _is_counted(reservations, snapshot.pod_uids[pod], _group_of(snapshot, pod), priority, group)
    ]
    if not others and not nominated:
        return snapshot
    page = _Page(snapshot)
    for other in others:
        page.claim(other, reservations.claims(other))
        page.keep(
            other,
            [uid for uid in reservations.victims(other) if reservations.owner(uid, among=others) == other],
        )
    page.nominate(nominated)
    return page.result()


def _rows_of(coming: Mapping[str, str], snapshot: Snapshot) -> dict[int, int]:
    """Rows of those pods that still wait, each with the row of its node."""
    if not coming:
        return {}
    nodes = {name: row for row, name in enumerate(snapshot.node_names)}
    return {
        pod: nodes[node]
        for uid, node in coming.items()
        if node in nodes and (pod := snapshot.pod_rows.get(uid)) is not None and snapshot.pod_node[pod] < 0
    }


def _group_of(snapshot: Snapshot, pod: int) -> GroupKey | None:
    row = int(snapshot.pod_group[pod])
    return snapshot.group_keys[row] if row >= 0 else None


class _Page:
    """A snapshot's columns while promises are written into them.

    What each plan needs on each node is one row of `_needs`. Few calls of numpy do it all: a plan may have thousands of
    claims, and this runs between two events.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._used, self._leaving = snapshot.used.copy(), snapshot.leaving.copy()
        self._flags = snapshot.pod_flags.copy()
        self._promised: dict[int, int] = {}
        self._columns = {name: column for column, name in enumerate(snapshot.resources)}
        live = np.flatnonzero(snapshot.node_live).tolist()
        self._nodes = {snapshot.node_names[row]: row for row in live}
        self._rows: dict[tuple[GroupKey, int], int] = {}
        """Row of `_needs` by group and node."""
        self._amounts: list[tuple[int, int, int]] = []
        """(row of `_needs`, column, amount) of each claim."""
        self._kept: list[tuple[GroupKey, int]] = []
        """Victims, each with the group that its room counts for."""

    def claim(self, group: GroupKey, claims: Mapping[str, Claim]) -> None:
        """A plan's members will use room."""
        snapshot, columns = self._snapshot, self._columns
        for uid, claim in claims.items():
            node = self._nodes.get(claim.node)
            if node is None:
                continue
            row = self._rows.setdefault((group, node), len(self._rows))
            self._amounts += [
                (row, columns[name], amount) for name, amount in claim.requests.items() if name in columns
            ]
            pod = snapshot.pod_rows.get(uid)
            if pod is not None and snapshot.pod_node[pod] < 0:
                self._promised[pod] = node

    def keep(self, group: GroupKey, victims: Iterable[str]) -> None:
        """A plan's victims stay for all others. What they hold covers what the plan needs there."""
        rows = self._snapshot.pod_rows
        self._kept += [(group, row) for uid in victims if (row := rows.get(uid)) is not None]

    def nominate(self, nominated: Sequence[tuple[int, int]]) -> None:
        """Waiting pods take room where they are nominated: (pod, node)."""
        live = [(pod, node) for pod, node in nominated if self._snapshot.node_live[node]]
        pods, nodes = np.array(live, np.intp).reshape(-1, 2).T
        np.add.at(self._used, nodes, self._requests(pods))
        self._promised.update(live)

    def result(self) -> Snapshot:
        """The snapshot with what was written."""
        needs = np.zeros((len(self._rows), len(self._columns)), np.int64)
        rows, columns, amounts = np.array(self._amounts, np.int64).reshape(-1, 3).T
        np.add.at(needs, (rows, columns), amounts)
        self._keep_victims(needs)
        nodes = np.array([node for _, node in self._rows], np.intp)
        np.add.at(self._used, nodes, np.maximum(needs, 0))
        return replace(
            self._snapshot,
            used=self._used,
            leaving=self._leaving,
            pod_flags=self._flags,
            promised=self._promised,
        )

    def _keep_victims(self, needs: Int64s) -> None:
        pods = np.array([pod for _, pod in self._kept], np.intp)
        nodes, requests = self._snapshot.pod_node[pods], self._requests(pods)
        leave = is_leaving(self._snapshot.pod_flags[pods])
        np.subtract.at(self._leaving, nodes[leave], requests[leave])
        self._flags[pods] |= STAYING
        at = zip((group for group, _ in self._kept), nodes.tolist(), strict=True)
        rows = np.array([self._rows.get(each, -1) for each in at], np.intp)
        np.subtract.at(needs, rows[rows >= 0], requests[rows >= 0])

    def _requests(self, pods: NDArray[np.intp]) -> Int64s:
        """[len(pods), R]"""
        requests: Int64s = self._snapshot.class_requests[self._snapshot.pod_class[pods]]
        return requests
