"""What a look at a plan sees: every member and victim is compared, and every proof made, with nothing kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from api.groups import has_run
from api.plans import PreemptionPlanSpec
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.lifecycle.plan_seen import MemberProof, PlanSeen
from controllers.gangs.looking.alike_members import WITNESSES, heard
from controllers.gangs.looking.comparison import BEFORE_EVICTING, Walk, steered_difference
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.plan_proofs import CUT_AT_MOST
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.probes import NUMBERS
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account, asks_with
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.proofs import PlannedMember, Proof, Verdict, prove
from controllers.gangs.scheduler.rejections import is_ours
from nodes.groups.keys import is_native_name
from nodes.state.columns.flags import NEVER, TERMINATING
from nodes.state.tables import Tables
from tests.twins.gangs.comparing import difference, strayed

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
    asks = before_evicting and plan.spec.victims and not plan.is_steered
    looks_at_gates = asks and not plan.releases and gated.has(plan.group)
    gates = frozenset(uid for uid in plan.members if looks_at_gates and uid in gated)
    return replace(
        found,
        trusted=True,
        gates=gates,
        shut=not all(gated.can_open(uid) for uid in gates),
        tried=bool(gates)
        and all(evidence._offers.attempted(uid) is not None for uid in found.unbound if uid not in gates),
        gated=gated.has(plan.group) and any(uid in gated for uid in plan.members),
        proofs=proofs(plan, roster, evidence) if asks else {},
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
        changed=_changed(plan, roster),
        overrun_by=account.overrun(plan.group),
        room_taken=_room_taken(plan, roster, account, priority),
        is_free=_is_free(plan, roster, account, priority),
    )


def _changed(plan: ActivePlan, roster: Roster) -> str:
    if plan.is_steered and not plan.begun:
        return steered_difference(plan, roster, Walk(plan, roster))
    return difference(plan, roster) if plan.phase in BEFORE_EVICTING else strayed(plan, roster)


def _members_lost(plan: ActivePlan, roster: Roster) -> bool:
    """Whether those that are bound and those that are planned are fewer than must run. A gang that has run is planned
    for as it is."""
    group, minimum = roster.group(plan.group), roster.minimum(plan.group)
    bound = {each.uid for each in roster.members(plan.group) if each.node is not None}
    has_run_whole = group is not None and has_run(group)
    return not has_run_whole and minimum is not None and len(bound | plan.members.keys()) < minimum


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
    """What the unbound members need, by (node, resource). For some of them the scheduler chooses the node."""
    needs: Counter[tuple[str, str]] = Counter()
    for member in roster.waiting(plan).values():
        amounts = {} if member.any_node else member.requests
        needs.update({(member.node, resource): amount for resource, amount in amounts.items()})
    return needs


# ---- proofs


def proofs(plan: ActivePlan, roster: Roster, evidence: Evidence) -> dict[str, MemberProof]:
    """What is proven of each planned member that is not bound, by UID."""
    waiting = roster.waiting(plan)
    if is_native_name(plan.group[1]):
        return {uid: _of_class(uid, plan, roster, evidence) for uid in waiting}
    gone = _gone(plan.spec, {member.node for member in waiting.values()}, roster)
    return {
        uid: _proof(member, gone.get(member.node, {}), plan, roster, evidence)
        for uid, member in waiting.items()
    }


def _of_class(uid: str, plan: ActivePlan, roster: Roster, evidence: Evidence) -> MemberProof:
    """One member of a native gang speaks for all of its class, planned or not."""
    offers, node, view = evidence._offers, plan.members[uid].node, roster.candidate(uid)
    alike = [
        each.uid
        for each in roster.members(plan.group)
        if each.node is None and roster.class_key(each.uid) == roster.class_key(uid)
    ]
    ends = [at for each in alike if (at := offers.attempted(each)) is not None]
    is_offered = any(offers.shown(each, node).is_offered for each in alike)
    return MemberProof(
        Proof.CONFIRMED if is_offered else Proof.UNKNOWN,
        f"filter was offered {node} for a member like it"
        if is_offered
        else f"the scheduler has not named {node} for a member like it",
        max(ends, default=None),
        cannot_tell=view is not None and evidence._scheduler.keeps_away(view.pod_class.requests.keys()),
    )


def _is_presented(group: GroupKey, roster: Roster, evidence: Evidence) -> bool:
    return any(
        member.node is None and evidence._offers.presented(member.uid) is not None
        for member in roster.members(group)
    )


def _proof(
    member: PlannedPod, gone: Mapping[str, int], plan: ActivePlan, roster: Roster, evidence: Evidence
) -> MemberProof:
    """What is proven of a member. `gone`: the pods on its node that the plan counts as gone."""
    offers, scheduler = evidence._offers, evidence._scheduler
    attempted = offers.attempted(member.uid)
    view = roster.candidate(member.uid)
    planned = PlannedMember(
        node=member.node,
        priority=view.priority if view is not None else 0,
        gone=gone,
        victims=plan.victims,
        never=view is not None and bool(view.flags & NEVER),
        asks_about_others=view is not None and view.pod_class.asks_about_others,
        kept_away=view is not None and scheduler.keeps_away(view.pod_class.requests.keys()),
        nomination_changes=roster.nomination_changes(member.node),
    )
    verdict = _verdict(planned, member.uid, plan, roster, evidence)
    # All running pods are looked at only if it makes a difference.
    if verdict.is_refusal and roster.may_be_repelled(member.uid, member.node):
        planned = replace(planned, asks_about_others=True)
        verdict = _verdict(planned, member.uid, plan, roster, evidence)
    cannot_tell = planned.kept_away or offers.cut(member.uid) >= CUT_AT_MOST
    is_current = offers.is_current(member.uid, member.node)
    by_another = verdict != prove(offers.shown(member.uid, member.node), planned)
    return MemberProof(
        verdict.proof, verdict.seen, attempted, verdict.doubt, cannot_tell, is_current, by_another=by_another
    )


def _verdict(
    planned: PlannedMember, uid: str, plan: ActivePlan, roster: Roster, evidence: Evidence
) -> Verdict:
    """What attempts on the member prove, and otherwise attempts on members that are like it."""
    offers = evidence._offers
    verdict = prove(offers.shown(uid, planned.node), planned)
    if verdict.proof is not Proof.UNKNOWN or verdict.is_refusal:
        return verdict
    others = [each for each in _like(uid, plan, roster) if each != uid]
    is_offered = any(
        prove(offers.shown(each, planned.node), planned).proof is Proof.CONFIRMED for each in others
    )
    ended = sorted((at, each) for each in others if (at := offers.attempted(each)) is not None)
    tried = [each for _, each in ended[-WITNESSES:]] if offers.attempted(uid) is None else []
    return heard(
        verdict, planned, [offers.shown(each, planned.node) for each in tried], is_offered=is_offered
    )


def _like(uid: str, plan: ActivePlan, roster: Roster) -> list[str]:
    """The planned members that wait and are like this one, itself included."""

    def kind(each: str) -> tuple[object, ...] | None:
        view = roster.candidate(each)
        if view is None or each not in roster.waiting(plan):
            return None
        labels = {key: value for key, value in view.labels.items() if key not in NUMBERS}
        never = view.flags & NEVER
        return view.pod_class.key, str(sorted(labels.items())), view.priority, view.scheduler, never

    shape = next((members for members in plan.alike if uid in members), ())
    return [each for each in shape if kind(each) is not None and kind(each) == kind(uid)]


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
