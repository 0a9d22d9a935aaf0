"""What a look at a plan sees: every member and victim is compared, and every proof made, with nothing kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from api.groups import has_run
from api.plans import PreemptionPlanSpec, Victim, VictimPod
from controllers.gangs.keys import GroupKey, spoken_in
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.lifecycle.observations import MemberProof, PlanSeen
from controllers.gangs.looking.comparison import BEFORE_EVICTING
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.plan_proofs import CUT_AT_MOST
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import spoken_pod
from controllers.gangs.promised.account import Account, asks_with
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.proofs import PlannedMember, prove
from controllers.gangs.scheduler.rejections import is_ours
from nodes.state.columns.flags import NEVER, TERMINATING
from nodes.state.tables import Tables

__all__ = ["seen"]


def seen(
    plan: ActivePlan, roster: Roster, reservations: Reservations, evidence: Evidence, gated: GatedPods
) -> PlanSeen:
    """See `controllers.gangs.looking.look.Looks`, for a mirror that is trusted."""
    roster = Roster(roster._tables)
    found = look(plan, roster, reservations)
    if found.group_gone:
        return replace(found, trusted=True)
    before_evicting = plan.phase in BEFORE_EVICTING
    return replace(
        found,
        trusted=True,
        gated=gated.has(plan.group) and any(uid in gated for uid in plan.members),
        proofs=proofs(plan, roster, evidence) if before_evicting and plan.spec.victims else {},
        presented=before_evicting and _is_presented(plan.group, roster, evidence),
        messages=_messages(plan, roster),
    )


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


# ---- proofs


def proofs(plan: ActivePlan, roster: Roster, evidence: Evidence) -> dict[str, MemberProof]:
    """What is proven of each planned member that is not bound, by UID."""
    waiting = roster.waiting(plan)
    gone = _gone(plan.spec, {member.node for member in waiting.values()}, roster)
    return {
        uid: _proof(member, gone.get(member.node, {}), plan.victims, roster, evidence)
        for uid, member in waiting.items()
    }


def _is_presented(group: GroupKey, roster: Roster, evidence: Evidence) -> bool:
    return any(
        member.node is None and evidence._offers.presented(member.uid) is not None
        for member in roster.members(group)
    )


def _proof(
    member: PlannedPod, gone: Mapping[str, int], victims: frozenset[str], roster: Roster, evidence: Evidence
) -> MemberProof:
    """What is proven of a member. `gone`: the pods on its node that the plan counts as gone."""
    offers, scheduler = evidence._offers, evidence._scheduler
    attempted = offers.attempted(member.uid)
    view = roster.candidate(member.uid)
    planned = PlannedMember(
        node=member.node,
        priority=view.priority if view is not None else 0,
        gone=gone,
        victims=victims,
        never=view is not None and bool(view.flags & NEVER),
        asks_about_others=view is not None and view.pod_class.asks_about_others,
        kept_away=view is not None and scheduler.keeps_away(view.pod_class.requests.keys()),
        nomination_changes=roster.nomination_changes(member.node),
    )
    shown = offers.shown(member.uid, member.node)
    verdict = prove(shown, planned)
    # All running pods are looked at only if it makes a difference.
    if verdict.is_refusal and roster.may_be_repelled(member.uid, member.node):
        verdict = prove(shown, replace(planned, asks_about_others=True))
    cannot_tell = planned.kept_away or offers.cut(member.uid) >= CUT_AT_MOST
    is_current = offers.is_current(member.uid, member.node)
    return MemberProof(verdict.proof, verdict.seen, attempted, verdict.doubt, cannot_tell, is_current)


def _gone(spec: PreemptionPlanSpec, nodes: set[str], roster: Roster) -> dict[str, dict[str, int]]:
    """The pods that the plan counts as gone: own priority by UID, by node."""
    gone = _leaving_on(nodes, roster._tables)
    for victim in spec.victims:
        for pod in victim.pods:
            priority = roster.own_priority(pod.uid) if pod.node in nodes else None
            if priority is not None:
                gone.setdefault(pod.node, {})[pod.uid] = priority
    return gone


def _leaving_on(nodes: Collection[str], tables: Tables) -> dict[str, dict[str, int]]:
    """The terminating pods on these nodes: own priority by UID, by node."""
    found: dict[str, dict[str, int]] = {}
    for row in range(tables.pods.size):
        view = tables.view(row)
        if view.flags & TERMINATING and view.node is not None and view.node in nodes:
            found.setdefault(view.node, {})[view.uid] = view.priority
    return found


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
        if not plan.evicted and (why := roster.why_no_evictions(plan.group)):
            return f"nothing may be evicted for the {plan.spec.preemptor.kind} any longer: {why}"
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
        return f"nothing may be evicted for the {plan.spec.preemptor.kind} any longer"
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
            return f"{said} belongs to {spoken_in(group, plan.namespace)} now, which is evicted whole"
    return ""


def _spoken_group(victim: Victim, namespace: str) -> str:
    """The group as messages name it that are read in this namespace."""
    return (
        f"PodGroup {victim.namespace}/{victim.name}"
        if victim.namespace == namespace
        else f"PodGroup {victim.uid}"
    )
