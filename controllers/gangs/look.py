"""What the cluster looks like for a gang and its plan: observations, and the comparison before an eviction.

See docs/decisions/0007.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final, NamedTuple

from api.groups import has_run
from api.plans import PreemptionPlanSpec, Victim, VictimPod
from controllers.gangs.account import Account, asks_with
from controllers.gangs.evidence import Evidence
from controllers.gangs.gated_pods import GatedPods
from controllers.gangs.keys import spoken_in
from controllers.gangs.life import ActivePhase, ActivePlan, GroupKey
from controllers.gangs.marks import is_ours
from controllers.gangs.observations import MembersSeen, PlanSeen
from controllers.gangs.reservations import Reservations
from controllers.gangs.roster import Roster
from controllers.gangs.withheld import spoken_pod

__all__ = ["Looks", "difference", "members_seen", "protected", "unit_changed"]

BEFORE_EVICTING: Final = ("Planned", "Confirmed")


class Looks:
    """Looks at plans.

    Most of a look is kept as long as neither the mirror nor a reservation has changed. A plan waits for the
    scheduler's word, and every call of the scheduler brings a look: each would compare all members and victims again.
    """

    def __init__(
        self, roster: Roster, reservations: Reservations, evidence: Evidence, gated: GatedPods
    ) -> None:
        self._roster, self._reservations, self._evidence = roster, reservations, evidence
        self._gated = gated
        self._kept: dict[GroupKey, _Kept] = {}

    def look(self, plan: ActivePlan, *, trusted: bool) -> PlanSeen:
        """The plan beside the mirror as it is now."""
        stamp = _Stamp(
            self._roster.version,
            self._roster.last_change,
            self._reservations.changes,
            plan.phase,
            plan.evicted,
            plan.resumed,
        )
        kept = self._kept.get(plan.group)
        if kept is None or kept.stamp != stamp or kept.spec is not plan.spec:
            seen = look(plan, self._roster, self._reservations)
            kept = self._kept[plan.group] = _Kept(stamp, plan.spec, seen)
        if kept.seen.group_gone:
            return replace(kept.seen, trusted=trusted)
        before_evicting = plan.phase in BEFORE_EVICTING
        return replace(
            kept.seen,
            trusted=trusted,
            gated=self._gated.has(plan.group) and any(uid in self._gated for uid in plan.members),
            proofs=self._evidence.proofs(plan) if before_evicting and plan.spec.victims else {},
            presented=before_evicting and self._evidence.is_presented(plan.group),
            messages=_messages(plan, self._roster),
        )

    def forget(self, group: GroupKey) -> None:
        """The group's plan has ended."""
        self._kept.pop(group, None)
        self._evidence.forget_plan(group)


class _Stamp(NamedTuple):
    """What a look depends on, the scheduler's word aside."""

    version: int
    """Of the tables: groups, nodes, pods, classes."""
    last_change: int
    """Nominations are counted here."""
    reservations: int
    phase: ActivePhase
    evicted: bool
    resumed: bool


class _Kept(NamedTuple):
    stamp: _Stamp
    spec: PreemptionPlanSpec
    seen: PlanSeen


def look(plan: ActivePlan, roster: Roster, reservations: Reservations) -> PlanSeen:
    """The plan beside the mirror as it is now. Nothing is said of what the scheduler has shown."""
    is_gone = roster.preemptor_uid(plan.group) != plan.spec.preemptor.uid
    if is_gone or roster.minimum(plan.group) is None:
        return PlanSeen(trusted=False, group_gone=True)
    members = {member.uid: member for member in roster.members(plan.group)}
    if plan.releases:
        compares = plan.resumed or plan.phase in BEFORE_EVICTING
        return PlanSeen(trusted=False, changed=difference(plan, roster) if compares else "")
    account = Account(roster, reservations)
    known = members.keys() | roster.succeeded(plan.group)
    gone = [planned.name for uid, planned in plan.members.items() if uid not in known]
    there = [members[uid] for uid in plan.members if uid in members]
    priority = asks_with(plan.spec.preemptor.priority, there)
    return PlanSeen(
        trusted=False,
        member_gone=gone[0] if gone else "",
        members_lost=_members_lost(plan, roster),
        all_bound=not gone and all(member.node is not None for member in there),
        unbound=frozenset(member.uid for member in there if member.node is None),
        changed=difference(plan, roster) if plan.phase in BEFORE_EVICTING else strayed(plan, roster),
        overrun_by=account.overrun(plan.group),
        room_taken=_room_taken(plan, roster, account, priority),
        is_free=_is_free(plan, roster, account, priority),
    )


def members_seen(roster: Roster, key: GroupKey) -> MembersSeen | None:
    """How many members a gang has; None if the group is no gang."""
    count, group, domain = roster.count(key), roster.group(key), roster.domains.of(key)
    gang = group.spec.scheduling_policy.gang if group is not None else None
    if count.minimum is None:
        return None
    first = gang.min_count if gang is not None else count.minimum
    return MembersSeen(
        count.minimum,
        count.members,
        count.bound,
        left=max(0, first - count.succeeded),
        domain=domain.value if domain is not None else "",
        astray=domain.astray if domain is not None else "",
        has_run=group is not None and has_run(group),
    )


def _members_lost(plan: ActivePlan, roster: Roster) -> bool:
    """Whether the gang would not run with the planned members.

    A gang that has run is planned for as it is: a member that comes later is for the next plan.
    """
    group = roster.group(plan.group)
    if group is not None and has_run(group):
        return False
    return roster.needed(plan.group, but=plan.members) > len(plan.members)


def _messages(plan: ActivePlan, roster: Roster) -> dict[str, tuple[str, str]]:
    """What the scheduler says of members that were offered their node; its words, not ours."""
    if not plan.offered:
        return {}
    said = {}
    for member in roster.members(plan.group):
        message = (
            roster.unscheduled_message(member.uid)
            if member.uid in plan.offered and member.node is None
            else ""
        )
        if message and not is_ours(message):
            said[member.uid] = (member.name, message)
    return said


# ---- room


def _room_taken(plan: ActivePlan, roster: Roster, account: Account, priority: int) -> str:
    """Why the unbound members no longer fit where they are planned, victims counted as gone; empty if they do."""
    for (node, resource), amount in sorted(_needs(plan, roster).items()):
        if not roster.has_node(node):
            return f"node {node} is gone"
        room = account.room(node, resource, plan.group, priority)
        if amount > 0 and amount > room:
            return f"node {node} has {max(room, 0)} {resource} left for pods that need {amount}"
    return ""


def _is_free(plan: ActivePlan, roster: Roster, account: Account, priority: int) -> bool:
    """Whether the room is free now, terminating pods counted as still there."""
    return all(
        amount <= 0 or amount <= account.room_now(node, resource, plan.group, priority)
        for (node, resource), amount in _needs(plan, roster).items()
    )


def _needs(plan: ActivePlan, roster: Roster) -> Counter[tuple[str, str]]:
    """What the unbound members need, by (node, resource)."""
    needs: Counter[tuple[str, str]] = Counter()
    for member in roster.waiting(plan).values():
        needs.update({(member.node, resource): amount for resource, amount in member.requests.items()})
    return needs


# ---- the comparison before an eviction


def difference(plan: ActivePlan, roster: Roster) -> str:
    """What has changed about members, their nodes or the victims since the plan was made; empty if nothing has.

    Room is not compared here: every look at a plan does that.
    """
    if plan.releases:
        return _release_changed(plan, roster)
    if plan.resumed:
        return strayed(plan, roster)
    members = {member.uid: member for member in roster.members(plan.group)}
    if changed := _group_changed(plan, roster):
        return changed
    for uid, planned in plan.members.items():
        member = members.get(uid)
        if member is None:
            return f"pod {planned.name} is no member any longer"
        if member.node is not None:
            return f"pod {planned.name} is bound already"
        if member.requests != planned.requests:
            return f"pod {planned.name} requests something else now"
        if not roster.has_node(planned.node):
            return f"node {planned.node} is gone"
        if refusal := roster.refusal(uid, planned.node):
            return f"node {planned.node} does not take pod {planned.name} any longer: {refusal}"
    return _victims_changed(plan, roster)


def strayed(plan: ActivePlan, roster: Roster) -> str:
    """Why a plan that has begun to evict cannot come to its end any longer; empty if it can.

    Room and members are looked at elsewhere, and victims, unless a former process chose them.
    """
    if plan.phase == "Evicting" and plan.spec.victims and (plan.resumed or not plan.evicted):
        priority = roster.group_priority(plan.group)
        if priority is None or priority < plan.spec.preemptor.priority:
            return f"the {plan.spec.preemptor.kind} has a lower priority now"
        if not plan.evicted and (why := roster.why_nobody_goes(plan.group)):
            return f"nobody may go for the {plan.spec.preemptor.kind} any longer: {why}"
    if plan.resumed and (changed := _victims_changed(plan, roster)):
        return changed
    for uid, planned in roster.waiting(plan).items():
        if roster.waiting_requests(uid) != planned.requests:
            return f"pod {planned.name} requests something else now"
        if roster.has_node(planned.node) and (refusal := roster.refusal(uid, planned.node)):
            return f"node {planned.node} does not take pod {planned.name} any longer: {refusal}"
    return ""


def protected(plan: ActivePlan, pod: VictimPod, roster: Roster) -> str:
    """Why a victim that still runs may not go any longer, whatever has gone before it; empty if it may."""
    if roster.evictable(pod.uid) is None:
        return ""
    if plan.releases:
        return _belongs(plan, pod, roster)
    priority = roster.unit_priority(pod.uid)
    if priority is None or priority >= plan.spec.preemptor.priority:
        return f"{spoken_pod(pod, plan.namespace)} has no lower priority any longer"
    return ""


def _release_changed(plan: ActivePlan, roster: Roster) -> str:
    """What has changed about a gang whose bound members are to go; empty if nothing has."""
    if roster.count(plan.group).runs:
        return "the gang runs whole now"
    return _victims_changed(plan, roster)


def _belongs(plan: ActivePlan, pod: VictimPod, roster: Roster) -> str:
    """Why the pod may not go with its own gang any longer; empty if it may. A gang that has run stays."""
    group, name = roster.group(plan.group), f"pod {pod.namespace}/{pod.name}"
    if group is None or group.metadata.uid != plan.spec.preemptor.uid:
        return f"the PodGroup of {name} is gone"
    if has_run(group):
        return f"the PodGroup of {name} has run whole"
    if pod.uid not in roster.running_members(plan.group):
        return f"{name} is no member of the PodGroup any longer"
    return ""


def _group_changed(plan: ActivePlan, roster: Roster) -> str:
    if roster.group_priority(plan.group) != plan.spec.preemptor.priority:
        return f"the {plan.spec.preemptor.kind} has another priority now"
    if plan.spec.victims and not roster.evicts(plan.group):
        return f"nobody may go for the {plan.spec.preemptor.kind} any longer"
    if (needed := roster.needed(plan.group, but=plan.members)) != len(plan.members):
        return f"{needed} planned pods are needed now, not {len(plan.members)}"
    return ""


def _victims_changed(plan: ActivePlan, roster: Roster) -> str:
    """What has changed about the victims; empty if nothing has. Of a plan that was resumed some may have gone."""
    for victim in plan.spec.victims:
        if changed := _victim_changed(victim, plan, roster):
            return changed
    return ""


def _victim_changed(victim: Victim, plan: ActivePlan, roster: Roster) -> str:
    for pod in victim.pods:
        claim = roster.evictable(pod.uid)
        if claim is None and plan.resumed:
            continue
        if claim is None or claim.node != pod.node:
            return f"{spoken_pod(pod, plan.namespace)} is not running on {pod.node} any longer"
    return unit_changed(victim, plan, roster)


def unit_changed(victim: Victim, plan: ActivePlan, roster: Roster) -> str:
    """Why a unit may not begin any longer, whatever has gone before it; empty if it may."""
    for pod in victim.pods:
        if priority := protected(plan, pod, roster):
            return priority
    unit = (victim.namespace, victim.name) if victim.kind == "PodGroup" else None
    if unit is not None and not roster.running_members(unit) <= {pod.uid for pod in victim.pods}:
        return f"{_spoken_group(victim, plan.namespace)} has other pods now"
    for pod in victim.pods:
        group = roster.all_mode_group(pod.uid)
        if group is not None and group != unit:
            said = spoken_pod(pod, plan.namespace)
            return f"{said} belongs to {spoken_in(group, plan.namespace)} now, which goes whole"
    return ""


def _spoken_group(victim: Victim, namespace: str) -> str:
    """The group as messages name it that are read in this namespace."""
    return (
        f"PodGroup {victim.namespace}/{victim.name}"
        if victim.namespace == namespace
        else f"PodGroup {victim.uid}"
    )
