"""What has changed about a plan since it was made: all faults are listed, each with its rank, and the first one counts.

The product asks the mirror about one pod after the other, and stops at a fault. Here the pods are read from the tables
once, row by row, and what a rule needs to know of a unit is counted over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from api.groups import goes_whole, has_run
from api.plans import Victim, VictimPod
from api.priority import UnknownPriorityClass, group_priority
from controllers.gangs.keys import GroupKey, spoken_in
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.mirror.group_members import MemberView
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import spoken_pod
from nodes.groups.forms import HIGHEST
from nodes.groups.keys import is_foreign
from nodes.state.columns.flags import KEPT, TERMINATING
from nodes.state.tables import Tables

__all__ = ["difference", "strayed"]

Fault = tuple[tuple[int, ...], str]
"""Its rank, and what it says."""


class Fact(NamedTuple):
    """A pod as the tables have it."""

    node: str | None
    priority: int
    """Its own."""
    group: GroupKey | None
    runs: bool
    """It is bound, and does not terminate."""
    is_kept: bool

    @property
    def may_go(self) -> bool:
        """Whether one may ask for its deletion."""
        return self.runs and not self.is_kept


def facts(tables: Tables) -> dict[str, Fact]:
    """All pods by UID."""
    found = {}
    for row in range(tables.pods.size):
        if tables.pods.live.array[row]:
            view = tables.view(row)
            runs = view.node is not None and not view.flags & TERMINATING
            found[view.uid] = Fact(view.node, view.priority, view.group, runs, bool(view.flags & KEPT))
    return found


def difference(plan: ActivePlan, roster: Roster) -> str:
    """What has changed about members, their nodes or the victims; empty if nothing has. Room is not compared."""
    if plan.resumed and not plan.releases:
        return strayed(plan, roster)
    whole = plan.spec.outcome == "Releases" and roster.count(plan.group).runs
    faults: list[Fault] = [((0,), "the gang runs whole now")] if whole else []
    if not plan.releases:
        faults += _below(1, _of_group(plan, roster))
        faults += _below(2, _of_members(plan, roster))
    return _first([*faults, *_below(3, _of_victims(plan, roster))])


def strayed(plan: ActivePlan, roster: Roster) -> str:
    """Why a plan that has begun to evict cannot come to its end any longer; empty if it can."""
    asks, kind = plan.spec.preemptor.priority, plan.spec.preemptor.kind
    priority, why = roster.group_priority(plan.group), roster.why_no_evictions(plan.group)
    faults: list[Fault] = []
    if plan.phase == "Evicting" and plan.spec.victims:
        if (plan.resumed or not plan.evicted) and not (priority is not None and priority >= asks):
            faults.append(((0,), f"the {kind} has a lower priority now"))
        if why and not plan.evicted:
            faults.append(((1,), f"nothing may be evicted for the {kind} any longer: {why}"))
    if plan.resumed:
        faults += _below(2, _of_victims(plan, roster))
    for place, member in enumerate(roster.waiting(plan).values()):
        wants = roster.waiting_requests(member.uid)
        if wants != member.requests:
            faults.append(((3, place, 0), f"pod {member.name} requests something else now"))
        if roster.has_node(member.node):
            faults += _below(3, _below(place, _below(1, _of_node(member, roster))))
    faults += _below(4, _of_waves(plan, roster))
    return _first(faults)


def _first(faults: Iterable[Fault]) -> str:
    return min(faults, default=((), ""))[1]


def _below(place: int, faults: Iterable[Fault]) -> Iterator[Fault]:
    return (((place, *rank), text) for rank, text in faults)


# ---- the preemptor, and its members


def _of_group(plan: ActivePlan, roster: Roster) -> Iterator[Fault]:
    asks, needed = plan.spec.preemptor, roster.needed(plan.group, but=plan.members)
    if roster.group_priority(plan.group) != asks.priority:
        yield (0,), f"the {asks.kind} has another priority now"
    if plan.spec.victims and roster.why_no_evictions(plan.group):
        yield (1,), f"nothing may be evicted for the {asks.kind} any longer"
    if needed != len(plan.members):
        yield (2,), f"{needed} planned pods are needed now, not {len(plan.members)}"


def _of_members(plan: ActivePlan, roster: Roster) -> Iterator[Fault]:
    members = {each.uid: each for each in roster.members(plan.group)}
    for place, member in enumerate(plan.members.values()):
        yield from _below(place, _of_member(member, members.get(member.uid), roster))


def _of_member(planned: PlannedPod, member: MemberView | None, roster: Roster) -> Iterator[Fault]:
    if member is None:
        yield (0,), f"pod {planned.name} is no member any longer"
    elif member.node is not None:
        yield (1,), f"pod {planned.name} is bound already"
    elif member.requests != planned.requests:
        yield (2,), f"pod {planned.name} requests something else now"
    if not roster.has_node(planned.node):
        yield (3,), f"node {planned.node} is gone"
    yield from _below(4, _of_node(planned, roster))


def _of_waves(plan: ActivePlan, roster: Roster) -> Iterator[Fault]:
    """Members that are bound elsewhere, if a member of a later wave waits."""
    nodes = {each.uid: each.node for each in roster.members(plan.group)}
    for place, member in enumerate(plan.members.values()):
        node = nodes.get(member.uid)
        later = [each for each in roster.waiting(plan).values() if each.wave > member.wave]
        if later and node is not None and node != member.node and not member.any_node:
            where = f"bound to node {node}, and later waves count on it on {member.node}"
            yield (place,), f"pod {member.name} is {where}"


def _of_node(planned: PlannedPod, roster: Roster) -> Iterator[Fault]:
    if refusal := roster.refusal(planned.uid, planned.node):
        yield (0,), f"node {planned.node} does not take pod {planned.name} any longer: {refusal}"


# ---- the victims


def _of_victims(plan: ActivePlan, roster: Roster) -> Iterator[Fault]:
    rules = _Victims(plan, roster._tables)
    for place, victim in enumerate(plan.spec.victims):
        yield from _below(place, rules.of_victim(victim))


class _Victims:
    def __init__(self, plan: ActivePlan, tables: Tables) -> None:
        self._plan, self._tables, self._pods = plan, tables, facts(tables)

    def of_victim(self, victim: Victim) -> Iterator[Fault]:
        """A plan that was resumed may have evicted some of its pods."""
        unit = (victim.namespace, victim.name) if victim.kind == "PodGroup" else None
        for place, pod in enumerate(victim.pods):
            fact, said = self._pods.get(pod.uid), spoken_pod(pod, self._plan.namespace)
            node = fact.node if fact is not None and fact.may_go else None
            if node != pod.node and (node is not None or not self._plan.resumed):
                yield (0, place), f"{said} is not running on {pod.node} any longer"
            if fact is not None and fact.may_go and (why := self._why_kept(pod, fact)):
                yield (1, place), why
            if fact is not None and fact.group not in (None, unit) and self._goes_whole(fact.group):
                yield (3, place), f"{said} belongs to {self._spoken(fact.group)} now, which is evicted whole"
        there = {uid for uid, each in self._pods.items() if each.runs and each.group == unit}
        if unit is not None and there - {pod.uid for pod in victim.pods}:
            is_ours = victim.namespace == self._plan.namespace
            name = f"{victim.namespace}/{victim.name}" if is_ours else victim.uid
            yield (2,), f"PodGroup {name} has other pods now"

    def _spoken(self, group: GroupKey | None) -> str:
        return spoken_in(group, self._plan.namespace) if group is not None else ""

    def _goes_whole(self, group: GroupKey | None) -> bool:
        return group is not None and goes_whole(self._tables.groups.find(*group))

    def _why_kept(self, pod: VictimPod, fact: Fact) -> str:
        """Why a pod that still runs has to stay; empty if it may be evicted."""
        if self._plan.releases:
            return self._why_not_its_own(f"pod {pod.namespace}/{pod.name}", fact)
        priority = self._priority_of_unit(fact)
        lower = priority is not None and priority < self._plan.spec.preemptor.priority
        return "" if lower else f"{spoken_pod(pod, self._plan.namespace)} has no lower priority any longer"

    def _why_not_its_own(self, name: str, fact: Fact) -> str:
        group = self._tables.groups.find(*self._plan.group)
        if group is None or group.metadata.uid != self._plan.spec.preemptor.uid:
            return f"the PodGroup of {name} is gone"
        if self._plan.spec.outcome == "Releases" and has_run(group):
            return f"the PodGroup of {name} has run whole"
        return "" if fact.group == self._plan.group else f"{name} is no member of the PodGroup any longer"

    def _priority_of_unit(self, fact: Fact) -> int | None:
        group = self._tables.groups.find(*fact.group) if fact.group is not None else None
        if group is None:
            return fact.priority
        try:
            own = group_priority(group, self._tables.priority_classes)
        except UnknownPriorityClass:
            return None
        all_of_it = [each.priority for each in self._pods.values() if each.runs and each.group == fact.group]
        if goes_whole(group):
            return min([own, *all_of_it])
        return fact.priority if is_foreign(group.metadata.name) and own == HIGHEST else own
