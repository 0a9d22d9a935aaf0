"""What looks at a plan keep: results for each member, node and victim. Only what has changed is looked at again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Set

from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan, Offer, PlannedPod
from controllers.gangs.looking.comparison import (
    first_elsewhere,
    member_differs,
    member_elsewhere,
    member_strays,
    victim_changed,
)
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account
from controllers.gangs.scheduler.rejections import is_ours

__all__ = ["Faults", "MemberParts", "MessageParts", "NodeParts", "VictimParts", "planned_on"]


def planned_on(plan: ActivePlan, *, claimed: bool = False) -> dict[str, list[PlannedPod]]:
    """The planned members by node. `claimed`: only those for which the plan claims room there."""
    found: defaultdict[str, list[PlannedPod]] = defaultdict(list)
    for member in plan.members.values():
        if not (claimed and member.any_node):
            found[member.node].append(member)
    return dict(found)


class Faults:
    """What is wrong with parts of a plan, by their place in the plan's order."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def put(self, place: int, text: str) -> None:
        """What is wrong with the part; empty if nothing is."""
        if text:
            self._texts[place] = text
        else:
            self._texts.pop(place, None)

    def first(self) -> str:
        """Of the first part with which something is wrong; empty if there is none."""
        return self._texts[min(self._texts)] if self._texts else ""


class MemberParts:
    """The planned members."""

    def __init__(self, plan: ActivePlan, roster: Roster) -> None:
        self._plan, self._roster = plan, roster
        self._places = {uid: place for place, uid in enumerate(plan.members)}
        self._gone, self._unbound = Faults(), dict[str, int]()
        """Own priorities of the members that are not bound, by UID."""
        self._priorities: Counter[int] = Counter()
        self._frozen: frozenset[str] | None = None
        self._succeeded: Set[str] = frozenset()
        self.waiting: set[str] = set()
        """UIDs of those that are not bound and have not Succeeded."""
        self.differ, self.stray = Faults(), Faults()
        self._elsewhere: dict[str, str] = {}
        """Why members (UIDs) that are bound are not where the plan has them."""

    @property
    def elsewhere(self) -> str:
        """See `comparison.first_elsewhere`."""
        return first_elsewhere(self._plan, self._elsewhere, self.waiting)

    @property
    def gone(self) -> str:
        """The name of the first one that is no member any longer and has not Succeeded; empty if there is none."""
        return self._gone.first()

    @property
    def unbound(self) -> frozenset[str]:
        """UIDs of those that are members and not bound."""
        if self._frozen is None:
            self._frozen = frozenset(self._unbound)
        return self._frozen

    @property
    def priority(self) -> int | None:
        """The lowest own priority of the unbound ones; None if there is none."""
        return min(self._priorities, default=None)

    def ended(self) -> Set[str]:
        """UIDs of those that have Succeeded or not since they were looked at."""
        return self._succeeded ^ self._now_succeeded()

    def renew(self, uids: Collection[str]) -> set[str]:
        """Look at these members (UIDs) again. Returns the nodes on which others wait now than before."""
        members, self._succeeded = self._roster.gang_members(self._plan.group), self._now_succeeded()
        changed = set()
        for uid in uids:
            planned, member, place = self._plan.members[uid], members.find(uid), self._places[uid]
            has_succeeded = uid in self._succeeded
            waits = not has_succeeded and (member is None or member.node is None)
            if waits != (uid in self.waiting):
                changed.add(planned.node)
                (self.waiting.add if waits else self.waiting.discard)(uid)
            is_unbound = member is not None and member.node is None
            self._ask(uid, member.asking.priority if member is not None and is_unbound else None)
            self._gone.put(place, planned.name if member is None and not has_succeeded else "")
            differs = member_differs(planned, member, self._roster)
            self.differ.put(place, differs)
            # A member that waits and does not differ does not stray either.
            if elsewhere := member_elsewhere(planned, member):
                self._elsewhere[uid] = elsewhere
            else:
                self._elsewhere.pop(uid, None)
            self.stray.put(place, member_strays(planned, self._roster) if waits and differs else "")
        return changed

    def _now_succeeded(self) -> Set[str]:
        return self._plan.members.keys() & self._roster.succeeded(self._plan.group)

    def _ask(self, uid: str, priority: int | None) -> None:
        """The member's own priority; None if it is bound or gone."""
        before = self._unbound.get(uid)
        if priority == before:
            return
        self._frozen = None
        if before is not None:
            del self._unbound[uid]
            self._priorities[before] -= 1
            if not self._priorities[before]:
                del self._priorities[before]
        if priority is not None:
            self._unbound[uid] = priority
            self._priorities[priority] += 1


class NodeParts:
    """The room on the plan's nodes."""

    def __init__(self, plan: ActivePlan, roster: Roster, account: Account) -> None:
        self._group, self._roster, self._account = plan.group, roster, account
        self._planned = planned_on(plan, claimed=True)
        self._taken: dict[str, str] = {}
        self._not_free: set[str] = set()
        self._takers: dict[str, Set[GroupKey]] = {}
        self.priority: int | None = None
        """With which room was asked for."""

    @property
    def names(self) -> Collection[str]:
        """Where members are planned."""
        return self._planned.keys()

    def planned(self, node: str) -> Iterable[str]:
        """UIDs of the members that are planned there."""
        return (member.uid for member in self._planned.get(node, ()))

    @property
    def room_taken(self) -> str:
        """Why the unbound members no longer fit where they are planned, victims counted as gone; empty if they do.

        Of several nodes, that with the first name tells.
        """
        return self._taken[min(self._taken)] if self._taken else ""

    @property
    def is_free(self) -> bool:
        """Whether the room is free now, terminating pods counted as still there."""
        return not self._not_free

    @property
    def takers(self) -> set[GroupKey]:
        """The groups of higher priority whose plans take room of this plan's claims."""
        return {taker for takers in self._takers.values() for taker in takers}

    def renew(self, nodes: Iterable[str], waiting: Set[str], priority: int) -> None:
        """Look at these nodes again. `waiting`: UIDs of the members that still need room."""
        self.priority = priority
        for node in nodes:
            needs: Counter[str] = Counter()
            for planned in self._planned.get(node, ()):
                if planned.uid in waiting:
                    needs.update(planned.requests)
            self._put_taken(node, self._why_taken(node, needs, priority))
            if self._is_free(node, needs, priority):
                self._not_free.discard(node)
            else:
                self._not_free.add(node)
            self._put_takers(node, self._account.takers(self._group, node))

    def _why_taken(self, node: str, needs: Mapping[str, int], priority: int) -> str:
        if needs and not self._roster.has_node(node):
            return f"node {node} is gone"
        for resource, amount in sorted(needs.items()):
            room = self._account.room(node, resource, self._group, priority)
            if amount > 0 and amount > room:
                return f"node {node} has {max(room, 0)} {resource} left for pods that need {amount}"
        return ""

    def _is_free(self, node: str, needs: Mapping[str, int], priority: int) -> bool:
        return all(
            amount <= 0 or amount <= self._account.room_now(node, resource, self._group, priority)
            for resource, amount in needs.items()
        )

    def _put_taken(self, node: str, text: str) -> None:
        if text:
            self._taken[node] = text
        else:
            self._taken.pop(node, None)

    def _put_takers(self, node: str, takers: Set[GroupKey]) -> None:
        if takers:
            self._takers[node] = takers
        else:
            self._takers.pop(node, None)


class VictimParts:
    """The plan's victims. They are looked at when somebody asks about them."""

    def __init__(self, plan: ActivePlan, roster: Roster) -> None:
        self._spec, self._roster, self._group = plan.spec, roster, plan.group
        self._of_pod: defaultdict[str, set[int]] = defaultdict(set)
        self._of_group: defaultdict[GroupKey, set[int]] = defaultdict(set)
        for place, victim in enumerate(plan.spec.victims):
            for pod in victim.pods:
                self._of_pod[pod.uid].add(place)
            if victim.kind == "PodGroup":
                self._of_group[victim.namespace, victim.name].add(place)
        if plan.releases:
            self._of_group[plan.group] = set(range(len(plan.spec.victims)))
        self._open: set[int] = set()
        self._faults = Faults()
        self._resumed: bool | None = None
        self.groups: set[GroupKey] = set(self._of_group)
        """Those on which the victims depend."""

    @property
    def pods(self) -> Collection[str]:
        """UIDs of all pods that are to be evicted."""
        return self._of_pod.keys()

    def again(self, pods: Iterable[str], groups: Iterable[GroupKey]) -> None:
        """These pods (UIDs) and groups have changed."""
        for uid in pods:
            self._open |= self._of_pod.get(uid, set())
        for group in groups:
            self._open |= self._of_group.get(group, set())

    def all_again(self) -> None:
        """Anything may have changed."""
        self._open.update(range(len(self._spec.victims)))

    def changed(self, plan: ActivePlan) -> str:
        """See `comparison.Parts.victim_changed`. Afterwards `groups` may be more."""
        if plan.resumed != self._resumed:
            self._resumed = plan.resumed
            self.all_again()
        for place in self._open:
            victim = self._spec.victims[place]
            for pod in victim.pods:
                if (group := self._roster.group_of_pod(pod.uid)) is not None:
                    self._of_group[group].add(place)
                    self.groups.add(group)
            self._faults.put(place, victim_changed(victim, plan, self._roster))
        self._open.clear()
        return self._faults.first()


class MessageParts:
    """What the scheduler says of members that were offered their node; its words, not ours."""

    def __init__(self, group: GroupKey, roster: Roster) -> None:
        self._group, self._roster = group, roster
        self._offered: Mapping[str, Offer] = {}
        self._open: set[str] = set()
        self.said: Mapping[str, tuple[str, str]] = {}
        """Of unbound members by UID: name and message. It is never changed, only replaced."""

    def again(self, pods: Iterable[str]) -> None:
        """These pods (UIDs) have changed."""
        self._open.update(uid for uid in pods if uid in self._offered)

    def all_again(self) -> None:
        """Any pod may have changed."""
        self._open.update(self._offered)

    def follow(self, offered: Mapping[str, Offer]) -> Set[str]:
        """Look again at what has changed, and at members that are offered their node now. Returns these (UIDs)."""
        if offered is self._offered and not self._open:
            return frozenset()
        new = offered.keys() - self._offered.keys()
        said = {uid: each for uid, each in self.said.items() if uid in offered}
        members = self._roster.gang_members(self._group)
        for uid in self._open | new:
            member = members.find(uid)
            message = ""
            if member is not None and member.node is None and uid in offered:
                message = self._roster.unscheduled_message(uid)
            if member is not None and message and not is_ours(message):
                said[uid] = member.name, message
            else:
                said.pop(uid, None)
        self._offered, self.said = offered, said
        self._open.clear()
        return new
