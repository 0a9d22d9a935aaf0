"""What has changed about a plan since it was made: the comparison before an eviction, whole and in parts.

See docs/decisions/0007.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol

from api.groups import has_run
from api.plans import Victim, VictimPod
from controllers.gangs.keys import spoken_in
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.mirror.group_members import MemberView
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import spoken_pod

__all__ = [
    "BEFORE_EVICTING",
    "Parts",
    "Walk",
    "difference",
    "first_elsewhere",
    "member_differs",
    "member_elsewhere",
    "member_strays",
    "over_budget",
    "protected",
    "steered_difference",
    "strayed",
    "unit_changed",
    "victim_changed",
]

BEFORE_EVICTING: Final = ("Planned", "Confirmed")


# ---- the whole plan


class Parts(Protocol):
    """What has changed about members and victims. Each answer is about the first one, in the plan's order, that has
    changed; it is empty if none has.
    """

    def member_differs(self) -> str:
        """See the function of this name."""

    def member_strays(self) -> str:
        """See the function of this name. Members that are bound or have Succeeded are not asked about."""

    def member_elsewhere(self) -> str:
        """See the function `first_elsewhere`."""

    def victim_changed(self) -> str:
        """See the function of this name."""


class Walk:
    """Looks at one member or victim after the other."""

    def __init__(self, plan: ActivePlan, roster: Roster) -> None:
        self._plan, self._roster = plan, roster

    def member_differs(self) -> str:
        """See `Parts`."""
        members = self._roster.gang_members(self._plan.group)
        planned = self._plan.members.items()
        found = (member_differs(pod, members.find(uid), self._roster) for uid, pod in planned)
        return next(filter(None, found), "")

    def member_strays(self) -> str:
        """See `Parts`."""
        waiting = self._roster.waiting(self._plan).values()
        return next(filter(None, (member_strays(pod, self._roster) for pod in waiting)), "")

    def member_elsewhere(self) -> str:
        """See `Parts`."""
        members = self._roster.gang_members(self._plan.group)
        found = {uid: member_elsewhere(pod, members.find(uid)) for uid, pod in self._plan.members.items()}
        elsewhere = {uid: text for uid, text in found.items() if text}
        return first_elsewhere(self._plan, elsewhere, self._roster.waiting(self._plan))

    def victim_changed(self) -> str:
        """See `Parts`."""
        plan, roster = self._plan, self._roster
        return next(filter(None, (victim_changed(each, plan, roster) for each in plan.spec.victims)), "")


def difference(plan: ActivePlan, roster: Roster, parts: Parts | None = None) -> str:
    """What has changed about members, their nodes or the victims since the plan was made; empty if nothing has.

    Room is not compared here: every look at a plan does that. Without `parts`, the plan is walked over.
    """
    parts = parts or Walk(plan, roster)
    if plan.releases:
        runs = not plan.withdraws and roster.count(plan.group).runs
        return "the gang runs whole now" if runs else parts.victim_changed()
    if plan.resumed:
        return strayed(plan, roster, parts)
    return _group_changed(plan, roster) or parts.member_differs() or parts.victim_changed()


def steered_difference(plan: ActivePlan, roster: Roster, parts: Parts) -> str:
    """What has changed about a steered plan by which nobody was evicted yet; empty if nothing has.

    The scheduler binds its members while it is in the same phase.
    """
    return _group_changed(plan, roster) or parts.member_strays() or parts.victim_changed()


def strayed(plan: ActivePlan, roster: Roster, parts: Parts) -> str:
    """Why a plan that has begun to evict cannot come to its end any longer; empty if it can.

    Room and members are looked at elsewhere, and victims, unless a former process chose them.
    """
    changed = _may_not_evict(plan, roster)
    if not changed and plan.resumed:
        changed = parts.victim_changed()
    return changed or parts.member_strays() or parts.member_elsewhere()


def _group_changed(plan: ActivePlan, roster: Roster) -> str:
    if roster.group_priority(plan.group) != plan.spec.preemptor.priority:
        return f"the {plan.spec.preemptor.kind} has another priority now"
    if (why := roster.why_not_tried(plan.group)) is not None:
        return f"the scheduler does not try the {plan.spec.preemptor.kind} any longer: {why.message}"
    if plan.spec.victims and not roster.evicts(plan.group):
        return f"nothing may be evicted for the {plan.spec.preemptor.kind} any longer"
    if (needed := roster.needed(plan.group, but=plan.members)) != len(plan.members):
        return f"{needed} planned pods are needed now, not {len(plan.members)}"
    return ""


def _may_not_evict(plan: ActivePlan, roster: Roster) -> str:
    """Why a plan that has begun to evict may not evict any longer, victims and members aside."""
    if plan.phase != "Evicting" or not plan.spec.victims or (plan.evicted and not plan.resumed):
        return ""
    priority = roster.group_priority(plan.group)
    if priority is None or priority < plan.spec.preemptor.priority:
        return f"the {plan.spec.preemptor.kind} has a lower priority now"
    if not plan.evicted and (why := roster.why_no_evictions(plan.group)):
        return f"nothing may be evicted for the {plan.spec.preemptor.kind} any longer: {why}"
    return ""


# ---- one member


def member_differs(planned: PlannedPod, member: MemberView | None, roster: Roster) -> str:
    """What has changed about a planned pod or its node; empty if nothing has. `member`: None if it is none now."""
    if member is None:
        return f"pod {planned.name} is no member any longer"
    if member.node is not None:
        return f"pod {planned.name} is bound already"
    if member.requests != planned.requests:
        return f"pod {planned.name} requests something else now"
    if planned.any_node:
        return ""
    if not roster.has_node(planned.node):
        return f"node {planned.node} is gone"
    return _refused(planned, roster)


def member_strays(planned: PlannedPod, roster: Roster) -> str:
    """Why a planned pod that waits cannot use its node any longer; empty if it can. The node may be gone."""
    if roster.waiting_requests(planned.uid) != planned.requests:
        return f"pod {planned.name} requests something else now"
    asks = roster.has_node(planned.node) and not planned.any_node
    return _refused(planned, roster) if asks else ""


def member_elsewhere(planned: PlannedPod, member: MemberView | None) -> str:
    """Why a planned pod that is bound is not where the plan has it; empty if it is there, or waits."""
    if member is None or member.node in (None, planned.node) or planned.any_node:
        return ""
    return f"pod {planned.name} is bound to node {member.node}, and later waves count on it on {planned.node}"


def first_elsewhere(plan: ActivePlan, elsewhere: Mapping[str, str], waiting: Collection[str]) -> str:
    """Why the waves that are left may not hold: a member of an earlier one is bound elsewhere. Empty if none is.

    The filters took each later member with the earlier ones on their nodes. `elsewhere`: see `member_elsewhere`, by
    UID; `waiting`: UIDs of the planned members that are not bound.
    """
    if not elsewhere:
        return ""
    last = max((plan.members[uid].wave for uid in waiting), default=0)
    return next(
        (elsewhere[uid] for uid, each in plan.members.items() if uid in elsewhere and each.wave < last), ""
    )


def _refused(planned: PlannedPod, roster: Roster) -> str:
    refusal = roster.refusal(planned.uid, planned.node)
    if not refusal:
        return ""
    return f"node {planned.node} does not take pod {planned.name} any longer: {refusal}"


# ---- budgets


def over_budget(victims: Iterable[Victim], plan: ActivePlan, roster: Roster) -> str:
    """Which budget does not allow the eviction of what is left of these victims any longer; empty if all do.

    A plan that was made while budgets were not respected ends if they are to be respected now.
    """
    if plan.releases:
        return ""
    if not plan.respects_budgets:
        respects = roster.budget_policy(plan.group) == "Respect"
        return "PodDisruptionBudgets are to be respected now" if respects else ""
    pods = (pod.uid for victim in victims for pod in victim.pods if roster.evictable(pod.uid) is not None)
    return roster.over_budget(pods, plan.namespace)


# ---- one victim


def protected(plan: ActivePlan, pod: VictimPod, roster: Roster) -> str:
    """Why a victim that still runs may not be evicted any longer, whatever was evicted before it; empty if it may."""
    if roster.evictable(pod.uid) is None:
        return ""
    if plan.releases:
        return _belongs(plan, pod, roster)
    priority = roster.unit_priority(pod.uid)
    if priority is None or priority >= plan.spec.preemptor.priority:
        return f"{spoken_pod(pod, plan.namespace)} has no lower priority any longer"
    return ""


def _belongs(plan: ActivePlan, pod: VictimPod, roster: Roster) -> str:
    """Why the pod may not be evicted with its own gang any longer; empty if it may. A gang that has run is evicted only
    if it has lost its quota."""
    group, name = roster.group(plan.group), f"pod {pod.namespace}/{pod.name}"
    if group is None or group.metadata.uid != plan.spec.preemptor.uid:
        return f"the PodGroup of {name} is gone"
    if has_run(group) and not plan.withdraws:
        return f"the PodGroup of {name} has run whole"
    if pod.uid not in roster.running_members(plan.group):
        return f"{name} is no member of the PodGroup any longer"
    return ""


def victim_changed(victim: Victim, plan: ActivePlan, roster: Roster) -> str:
    """What has changed about a victim; empty if nothing has. Of a plan that was resumed it may have gone in part."""
    for pod in victim.pods:
        claim = roster.evictable(pod.uid)
        if claim is None and plan.resumed:
            continue
        if claim is None or claim.node != pod.node:
            return f"{spoken_pod(pod, plan.namespace)} is not running on {pod.node} any longer"
    return unit_changed(victim, plan, roster)


def unit_changed(victim: Victim, plan: ActivePlan, roster: Roster) -> str:
    """Why a unit may not begin any longer, whatever was evicted before it; empty if it may."""
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
            return f"{said} belongs to {spoken_in(group, plan.namespace)} now, which is evicted whole"
    return ""


def _spoken_group(victim: Victim, namespace: str) -> str:
    """The group as messages name it that are read in this namespace."""
    return (
        f"PodGroup {victim.namespace}/{victim.name}"
        if victim.namespace == namespace
        else f"PodGroup {victim.uid}"
    )
