"""One account of promised room, for all that need it: the search, the look at a plan, and the verbs.

Room is promised by the claims of plans and by nominations of pods, ours or not. Room comes back from terminating pods
that are not overdue. Every question has a priority. Promises of a lower priority are ignored.

`Account.room` is the definition, for one resource on one node. Two others are derived from it, because they answer for
many nodes at once: `subtract` writes it into a snapshot, for a group that has no plan; and `Leftover` keeps it for pods
that no plan places, less what filter has granted since. tests/property/test_account.py compares them.

See docs/decisions/0026.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType

from api.core import Pod
from controllers.gangs.keys import GroupKey, lone_pod
from controllers.gangs.mirror.node_roster import Nominee
from controllers.gangs.mirror.roster import MemberView, Roster
from controllers.gangs.promised.reservations import Reservations, Room
from nodes.search.promised import HeldRoom, with_promised
from nodes.state.snapshot import Snapshot

__all__ = ["Account", "asks_with", "pod_asks_with", "subtract"]


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
    return with_promised(snapshot, [_held(reservations, other, others) for other in others], nominated)


def _held(reservations: Reservations, plan: GroupKey, among: Set[GroupKey]) -> HeldRoom:
    """What the group's plan holds, with the victims whose room counts for it and for none of the others."""
    claims = [(uid, claim.node, claim.requests) for uid, claim in reservations.claims(plan).items()]
    victims = [uid for uid in reservations.victims(plan) if reservations.owner(uid, among=among) == plan]
    return HeldRoom(claims, victims)


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
