"""One account of promised room, for all who ask: the search, the look at a plan, and the verbs.

Room is promised by the claims of plans and by nominations of pods, ours or not. Room comes back from terminating pods
that are not overdue. Who asks has a priority, and sees through all promises of a lower one. `subtract` says of a whole
snapshot what `Account.room` says of one node.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controllers.gangs.life import GroupKey
from controllers.gangs.reservations import Reservations, Room
from controllers.gangs.roster import Roster
from nodes.state.snapshot import STAYING, Snapshot, is_leaving

__all__ = ["Account", "subtract"]

Int64s = NDArray[np.int64]


class Account:
    """Questions about one node. Amounts are the scheduler's integers, and may be negative."""

    def __init__(self, roster: Roster, reservations: Reservations) -> None:
        self._roster, self._reservations = roster, reservations

    def room(self, node: str, resource: str, group: GroupKey, priority: int) -> int:
        """What the group's plan may count with once its own victims are gone. Its own claims are not subtracted."""
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

    def free_for(self, pod: str, node: str, resource: str, priority: int) -> int:
        """What `Reservations.bars` asks for a pod (UID): what is free beside pods that are not leaving, and beside what
        other pods are nominated for. Pods that filter has just let pass are counted with the grants.
        """
        grants = self._reservations.grants
        free = self._roster.free(node, resource)
        return free - self._nominated(
            node, resource, priority, None, lambda other: other == pod or grants.covers(other, node)
        )

    def _free(self, priority: int, group: GroupKey) -> Room:
        return lambda node, resource: (
            self._roster.free(node, resource) - self._nominated(node, resource, priority, group)
        )

    def _nominated(
        self,
        node: str,
        resource: str,
        priority: int,
        own: GroupKey | None,
        but: Callable[[str], bool] = lambda _: False,
    ) -> int:
        """What pods of this own priority or more, nominated to the node, will take. What plans claim is not counted."""
        return sum(
            nominee.requests.get(resource, 0)
            for nominee in self._roster.nominees(node, at_least=priority)
            if not but(nominee.uid)
            and not _is_counted(self._reservations, nominee.uid, nominee.group, priority, own)
        )


def _is_counted(
    reservations: Reservations, uid: str, group: GroupKey | None, priority: int, own: GroupKey | None
) -> bool:
    """Whether a nominated pod takes no more room than is counted already: it is the asking group's, or has a claim."""
    if group is not None and group == own:
        return True
    claimant = reservations.claimant(uid)
    if claimant is None:
        return False
    claimed_at = reservations.priority(claimant)
    return claimant == own or (claimed_at is not None and claimed_at >= priority)


def subtract(snapshot: Snapshot, reservations: Reservations, group: GroupKey, priority: int) -> Snapshot:
    """The snapshot as the next plan for the group must see it, at this priority.

    Other plans' victims stay and are nobody's victims; the claims that they do not cover are used, and so is what
    nominated pods request.
    """
    others = reservations.seen_by(priority, but=group)
    nominated = [
        (pod, node)
        for pod, node in snapshot.nominated.items()
        if snapshot.pod_priority[pod] >= priority
        and not _is_counted(reservations, snapshot.pod_uids[pod], _group_of(snapshot, pod), priority, group)
    ]
    if not others and not nominated:
        return snapshot
    page = _Page(snapshot)
    for other in others:
        page.promise(reservations, other, others)
    for pod, node in nominated:
        page.nominate(pod, node)
    return page.result()


def _group_of(snapshot: Snapshot, pod: int) -> GroupKey | None:
    row = int(snapshot.pod_group[pod])
    return snapshot.group_keys[row] if row >= 0 else None


class _Page:
    """A snapshot's columns while promises are written into them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._used, self._leaving = snapshot.used.copy(), snapshot.leaving.copy()
        self._flags = snapshot.pod_flags.copy()
        self._promised: dict[int, int] = {}
        self._columns = {name: column for column, name in enumerate(snapshot.resources)}
        live = np.flatnonzero(snapshot.node_live).tolist()
        self._rows = {snapshot.node_names[row]: row for row in live}

    def promise(self, reservations: Reservations, other: GroupKey, among: Set[GroupKey]) -> None:
        """One plan's room: what its claims take beyond what its victims hold. `among`: the plans that count."""
        snapshot = self._snapshot
        needs: dict[int, Int64s] = {}
        for uid, claim in reservations.claims(other).items():
            row = self._rows.get(claim.node)
            if row is None:
                continue
            need = needs.setdefault(row, np.zeros(len(snapshot.resources), np.int64))
            for resource, amount in claim.requests.items():
                if (column := self._columns.get(resource)) is not None:
                    need[column] += amount
            pod = snapshot.pod_rows.get(uid)
            if pod is not None and snapshot.pod_node[pod] < 0:
                self._promised[pod] = row
        for uid in reservations.victims(other):
            if reservations.owner(uid, among=among) == other:
                self._keep(uid, needs)
        for row, need in needs.items():
            self._used[row] += np.maximum(need, 0)

    def _keep(self, uid: str, needs: dict[int, Int64s]) -> None:
        """A victim stays for all others. What it holds covers what its own plan needs there."""
        snapshot = self._snapshot
        pod = snapshot.pod_rows.get(uid)
        if pod is None:
            return
        node, flags = int(snapshot.pod_node[pod]), snapshot.pod_flags[pod : pod + 1]
        requests = snapshot.class_requests[snapshot.pod_class[pod]]
        if is_leaving(flags)[0]:
            self._leaving[node] -= requests
        if node in needs:
            needs[node] -= requests
        self._flags[pod] |= STAYING

    def nominate(self, pod: int, node: int) -> None:
        """A pending pod takes room where it is nominated."""
        snapshot = self._snapshot
        if snapshot.node_live[node]:
            self._used[node] += snapshot.class_requests[snapshot.pod_class[pod]]
            self._promised[pod] = node

    def result(self) -> Snapshot:
        """The snapshot with what was written."""
        return replace(
            self._snapshot,
            used=self._used,
            leaving=self._leaving,
            pod_flags=self._flags,
            promised=self._promised,
        )
