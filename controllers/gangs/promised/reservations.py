"""Room that is promised: what the members of a plan will use, from the plan's commit until they are bound or it ends.

Who asks with a higher priority than a plan's does not see the plan: its claims are free to take, and its victims are
like any other pods. For all others, the room that a plan's victims hold and leave counts for this plan alone, until
they are gone; the plan's claims that this does not cover take other room. Each victim counts for one plan.

The reservation is the authority on who may take freed room; a nominated node name is only a hint to the scheduler.
Requests are mappings from resource name to the scheduler's integers (cpu in milli), `pods` included.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from api.clock import Clock
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.group_members import Claim, Requests
from controllers.gangs.promised.claim_index import ClaimIndex, VictimIndex
from controllers.gangs.promised.grants import Grants
from nodes.state.columns.change_log import ChangeLog

__all__ = ["Reservations", "Room"]

Room = Callable[[str, str], int]
"""How much there is of a resource on a node: (node, resource) to the amount, which may be negative."""


Kind = Literal["claimed", "running", "leaving"]
"""Room that a plan claims, that its victims hold, and that those of them leave that terminate already."""


@dataclass(slots=True)
class _Share:
    """Of one resource on one node, what a plan claims, and what its victims hold and leave."""

    claimed: int = 0
    running: int = 0
    leaving: int = 0

    def add(self, kind: Kind, amount: int) -> None:
        """One more claim or victim."""
        if kind == "claimed":
            self.claimed += amount
        elif kind == "running":
            self.running += amount
        else:
            self.leaving += amount

    @property
    def kept(self) -> int:
        """How much of what is free is the plan's. `free` counts the room of victims that leave: it is their plan's,
        also if that claims less.
        """
        return max(self.leaving, self.claimed - self.running)


class Reservations:
    """What active plans claim and free, at most one plan per group."""

    def __init__(self, clock: Clock) -> None:
        self._priorities: dict[GroupKey, int] = {}
        self._awaited: dict[GroupKey, Set[str]] = {}
        self._claims, self._victims = ClaimIndex(self._tell), VictimIndex(self._tell)
        self._hooks: list[Callable[[str, str], None]] = []
        self.grants = Grants(clock)
        self.changed: ChangeLog[tuple[str, str]] = ChangeLog()
        """The node and the pod (UID) of each claim and each victim that came, went or changed."""

    def on_change(self, hook: Callable[[str, str], None]) -> None:
        """Call `hook` with the node and the pod (UID) of each claim and each victim that comes, goes or changes."""
        self._hooks.append(hook)

    def _tell(self, node: str, pod: str) -> None:
        self.changed.note((node, pod))
        for hook in self._hooks:
            hook(node, pod)

    # ---- what is reserved

    def open(self, group: GroupKey, priority: int, victims: Set[str] = frozenset()) -> None:
        """Begin the group's reservation, or begin it anew, without claims. `victims`: UIDs of all pods that go."""
        self.release(group)
        self._priorities[group], self._awaited[group] = priority, victims

    def put_claim(self, group: GroupKey, uid: str, claim: Claim | None) -> None:
        """What the group claims for a pod; None: nothing, because the pod is bound or gone."""
        if claim is None:
            self._claims.take(group, uid)
        else:
            self._claims.put(group, uid, claim)

    def put_victim(self, group: GroupKey, uid: str, claim: Claim | None, *, leaving: bool = False) -> None:
        """What a victim of the group still holds; None: nothing that it would leave, because it is gone or overdue.

        `leaving`: it terminates already.
        """
        if claim is None:
            self._victims.take(group, uid)
        else:
            self._victims.put(group, uid, claim, leaving=leaving)

    def release(self, group: GroupKey) -> None:
        """Give the group's room back; nothing held is no error."""
        self._priorities.pop(group, None)
        self._awaited.pop(group, None)
        self._claims.release(group)
        self._victims.release(group)

    # ---- questions

    def __len__(self) -> int:
        return len(self._priorities)

    def claims(self, group: GroupKey) -> dict[str, Claim]:
        """The group's claims by member UID."""
        return self._claims.of(group)

    def claimant(self, uid: str) -> GroupKey | None:
        """The group that claims room for this pod."""
        held = self._claims.by_pod.get(uid)
        return held[0] if held is not None else None

    def victims(self, group: GroupKey) -> dict[str, Claim]:
        """What the group's victims still hold, by UID. Those that terminate are among them until they are gone."""
        return self._victims.of(group)

    @property
    def groups(self) -> list[GroupKey]:
        """Groups with a reservation."""
        return list(self._priorities)

    def priority(self, group: GroupKey) -> int | None:
        """Of the group's reservation; None if it has none."""
        return self._priorities.get(group)

    def seen_by(self, priority: int, *, but: GroupKey) -> Set[GroupKey]:
        """Groups with a reservation that who asks with `priority` must respect, the group `but` aside."""
        return {group for group, other in self._priorities.items() if group != but and other >= priority}

    @property
    def nodes(self) -> list[str]:
        """Nodes with claimed room."""
        return self._claims.nodes

    def is_reserved(self, node: str, *, at_least: int | None = None) -> bool:
        """Whether groups of priority `at_least` or more have claims on the node; None: any group."""
        if at_least is None:
            return node in self._claims
        return any(self._priorities[group] >= at_least for group, _ in self._claims.on(node))

    def claimed(self, node: str, resource: str, *, at_least: int | None = None) -> int:
        """How much of `resource` groups of priority `at_least` or more claim on `node`."""
        return sum(
            requests.get(resource, 0)
            for group, requests in self._claims.on(node)
            if at_least is None or self._priorities[group] >= at_least
        )

    def claimants(self, node: str) -> set[GroupKey]:
        """Groups that have claims on `node`."""
        return {group for group, _ in self._claims.on(node)}

    def awaits(self, pod: str, *, at_least: int | None = None) -> bool:
        """Whether `pod` is to leave for a reservation of priority `at_least` or more; None: for any."""
        return any(
            pod in victims and (at_least is None or self._priorities[group] >= at_least)
            for group, victims in self._awaited.items()
        )

    def owner(self, uid: str, *, among: Set[GroupKey]) -> GroupKey | None:
        """Which of the groups the room of this victim counts for: that of the highest priority, then the first name."""
        return self._owner(self._victims.named_by(uid), among.__contains__)

    def room(
        self, node: str, resource: str, free: Room, *, at_least: int, own: GroupKey | None = None
    ) -> int:
        """How much of `resource` on `node` a pod of priority `at_least` may plan with, or the plan of the group `own`.

        `free` is allocatable less what pods hold that are not leaving. May be negative.
        """
        return self._room(
            free(node, resource), self._shares(node, resource, self._counting(at_least, own)), own
        )

    def room_now(self, node: str, resource: str, free_now: Room, *, at_least: int, own: GroupKey) -> int:
        """How much of it may be used at once. `free_now` is allocatable less what all pods hold. May be negative."""
        shares = self._shares(node, resource, self._counting(at_least, own))
        uncovered = (
            max(0, share.claimed - share.running - share.leaving)
            for group, share in shares.items()
            if group != own
        )
        return free_now(node, resource) - sum(uncovered)

    def overrun(self, group: GroupKey, free: Room) -> GroupKey | None:
        """Which group's plan of higher priority takes room that this group claims; None if there is no such plan.

        That is so where the claims fit without the plans of higher priority, and do not fit beside them. `free` as in
        `room`. Of several such plans it is the one of the highest priority; ties go to the first name.
        """
        nodes = {claim.node for claim in self._claims.of(group).values()}
        return self.first({taker for node in nodes for taker in self.takers(node, group, free)})

    def takers(self, node: str, group: GroupKey, free: Room) -> Set[GroupKey]:
        """Which groups' plans of higher priority take room that this group claims on the node: see `overrun`."""
        priority = self._priorities.get(group)
        if priority is None or not self._is_shared(node, priority):
            return frozenset()
        needs: Counter[str] = Counter()
        for claimant, requests in self._claims.on(node):
            if claimant == group:
                needs.update(requests)
        takers = set[GroupKey]()
        for resource, amount in needs.items():
            if amount <= 0:
                continue
            room = free(node, resource)
            all_shares = self._shares(node, resource, self._counting(priority, group))
            equals = self._shares(node, resource, lambda each: self._priorities[each] == priority)
            if self._room(room, all_shares, group) < amount <= self._room(room, equals, group):
                takers.update(each for each in all_shares if self._priorities[each] > priority)
        return takers

    def first(self, groups: Set[GroupKey]) -> GroupKey | None:
        """Of groups with a reservation, that of the highest priority, then the first name. None if there is none."""
        return min(groups, key=self._rank, default=None)

    def _is_shared(self, node: str, priority: int) -> bool:
        """Whether a plan of higher priority than this claims room on the node, or has a victim there."""
        return any(self._priorities[group] > priority for group, _ in self._claims.on(node)) or any(
            self._priorities[group] > priority for groups, _, _ in self._victims.on(node) for group in groups
        )

    def promised(self, node: str, *, at_least: int) -> dict[str, int]:
        """What the node's free room holds back, by resource, from a pod of this priority that no plan places.

        `room` is what is free less this.
        """
        shares: defaultdict[tuple[GroupKey, str], _Share] = defaultdict(_Share)
        for group, kind, requests in self._entries(node, self._counting(at_least, None)):
            for resource, amount in requests.items():
                shares[group, resource].add(kind, amount)
        promised: Counter[str] = Counter()
        for (_, resource), share in shares.items():
            promised[resource] += share.kept
        return promised

    # ---- shares

    def _counting(self, at_least: int, own: GroupKey | None) -> Callable[[GroupKey], bool]:
        return lambda group: group == own or self._priorities[group] >= at_least

    def _rank(self, group: GroupKey) -> tuple[int, GroupKey]:
        return -self._priorities[group], group

    def _owner(self, groups: Set[GroupKey], counts: Callable[[GroupKey], bool]) -> GroupKey | None:
        counting = [group for group in groups if counts(group)]
        return min(counting, key=self._rank) if len(counting) > 1 else counting[0] if counting else None

    def _shares(self, node: str, resource: str, counts: Callable[[GroupKey], bool]) -> dict[GroupKey, _Share]:
        """What the plans that count have to do with the resource on the node."""
        shares: defaultdict[GroupKey, _Share] = defaultdict(_Share)
        for group, kind, requests in self._entries(node, counts):
            shares[group].add(kind, requests.get(resource, 0))
        return shares

    def _entries(
        self, node: str, counts: Callable[[GroupKey], bool]
    ) -> Iterator[tuple[GroupKey, Kind, Requests]]:
        """What the plans that count claim on the node, and the victims there, each with the plan it counts for."""
        for group, requests in self._claims.on(node):
            if counts(group):
                yield group, "claimed", requests
        for groups, requests, leaving in self._victims.on(node):
            owner = self._owner(groups, counts)
            if owner is not None:
                yield owner, "leaving" if leaving else "running", requests

    @staticmethod
    def _room(free: int, shares: Mapping[GroupKey, _Share], own: GroupKey | None) -> int:
        for group, share in shares.items():
            if group == own:
                free += share.running
            else:
                free -= share.kept
        return free
