"""The last look before the first eviction: is the cluster still the one the plan was made for?"""

from __future__ import annotations

from api.plans import Victim, VictimPod
from controllers.gangs.plans import ActivePlan
from controllers.gangs.roster import Roster

__all__ = ["difference", "protected"]


def difference(plan: ActivePlan, roster: Roster) -> str:
    """What has changed about members, their nodes or the victims since the plan was made; empty if nothing has.

    Room is checked on every look at a plan (`gangs.assess`), not only here.
    """
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
    for victim in plan.spec.victims:
        if changed := _victim_changed(victim, plan, roster):
            return changed
    return ""


def protected(plan: ActivePlan, pod: VictimPod, roster: Roster) -> str:
    """Why a victim that still runs may not go any longer, whatever has gone before it; empty if it may."""
    if not roster.is_evictable(pod.uid):
        return ""
    priority = roster.unit_priority(pod.uid)
    if priority is None or priority >= plan.spec.preemptor.priority:
        return f"pod {pod.namespace}/{pod.name} has no lower priority any longer"
    return ""


def _group_changed(plan: ActivePlan, roster: Roster) -> str:
    if roster.group_priority(plan.group) != plan.spec.preemptor.priority:
        return "the PodGroup has another priority now"
    if plan.spec.victims and not roster.evicts(plan.group):
        return "nobody may go for the PodGroup any longer"
    if (needed := roster.needed(plan.group, but=plan.members)) != len(plan.members):
        return f"{needed} planned pods are needed now, not {len(plan.members)}"
    return ""


def _victim_changed(victim: Victim, plan: ActivePlan, roster: Roster) -> str:
    for pod in victim.pods:
        claim = roster.staying(pod.uid)
        if claim is None or claim.node != pod.node:
            return f"pod {pod.namespace}/{pod.name} is not running on {pod.node} any longer"
        if priority := protected(plan, pod, roster):
            return priority
    if victim.kind == "PodGroup":
        whole = roster.staying_members((victim.namespace, victim.name))
        if whole != {pod.uid for pod in victim.pods}:
            return f"PodGroup {victim.namespace}/{victim.name} has other pods now"
    elif (group := roster.all_mode_group(victim.pods[0].uid)) is not None:
        return f"pod {victim.namespace}/{victim.name} belongs to PodGroup {'/'.join(group)} now, which goes whole"
    return ""
