"""What the cluster looks like for a gang and its plan: observations.

See docs/decisions/0007 and docs/decisions/0044.
"""

from __future__ import annotations

from api.groups import has_run
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.looking.comparison import BEFORE_EVICTING
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.kept_look import KeptLook
from controllers.gangs.looking.plan_changes import PlanChanges
from controllers.gangs.looking.steered_look import SteeredLook
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account
from controllers.gangs.promised.reservations import Reservations

__all__ = ["Looks"]


class Looks:
    """Looks at plans. What is seen of a member, a node or a victim is kept until something changes about it."""

    def __init__(
        self,
        roster: Roster,
        reservations: Reservations,
        evidence: Evidence,
        gated: GatedPods,
        steered: SteeredLook,
    ) -> None:
        self._roster, self._reservations, self._evidence = roster, reservations, evidence
        self._steered = steered
        self._account = Account(roster, reservations)
        self._gated = gated
        self._changes = PlanChanges(roster.changes)
        self._seen = reservations.changed.count
        """How many changes of reservations were followed."""
        self._kept: dict[GroupKey, KeptLook] = {}

    def look(self, plan: ActivePlan, *, trusted: bool) -> PlanSeen:
        """The plan beside the mirror as it is now."""
        try:
            return self._look(plan, trusted)
        except Exception:
            self.forget(plan.group)  # what was unseen may have been lost
            raise

    def _look(self, plan: ActivePlan, trusted: bool) -> PlanSeen:
        roster, evidence = self._roster, self._evidence
        is_gone = roster.preemptor_uid(plan.group) != plan.spec.preemptor.uid
        if is_gone or roster.minimum(plan.group) is None:
            return PlanSeen(trusted=trusted, group_gone=True)
        self._follow()
        kept = self._kept.get(plan.group)
        if kept is None or not kept.is_about(plan):
            kept = self._begin(plan)
        changed = kept.follow(plan)
        before_evicting = plan.phase in BEFORE_EVICTING
        gated = self._gated.has(plan.group) and self._gated.any_of(plan.members.keys())
        asks = before_evicting and plan.spec.victims and not plan.is_steered
        proofs = evidence.proofs(plan) if asks else {}
        presented = before_evicting and evidence.is_presented(plan.group)
        messages = kept.messages(plan.offered)
        gates = self._gated.among(plan.members.keys()) if gated and asks else frozenset[str]()
        if plan.releases:
            return PlanSeen(
                trusted=trusted,
                changed=changed,
                gated=gated,
                proofs=proofs,
                presented=presented,
                messages=messages,
            )
        members, nodes = kept.members, kept.nodes
        steered = self._steered.look(plan, members.unbound)
        return PlanSeen(
            trusted=trusted,
            member_gone=members.gone,
            unbound=members.unbound,
            members_lost=_members_lost(plan, roster),
            all_bound=not members.gone and not members.unbound,
            changed=changed,
            proofs=proofs,
            presented=presented,
            messages=messages,
            overrun_by=self._reservations.first(nodes.takers),
            room_taken=nodes.room_taken,
            is_free=nodes.is_free,
            gated=gated,
            gates=gates,
            shut=bool(gates) and self._gated.any_shut(gates),
            tried=bool(gates) and evidence.has_tried(members.unbound - gates),
            **steered.by_name(),
        )

    def forget(self, group: GroupKey) -> None:
        """The group's plan has ended."""
        kept = self._kept.pop(group, None)
        if kept is not None:
            kept.end()
        self._evidence.forget_plan(group)

    def _begin(self, plan: ActivePlan) -> KeptLook:
        former = self._kept.get(plan.group)
        if former is not None:
            former.end()
        claimed = {claim.node for claim in self._reservations.claims(plan.group).values()}
        kept = self._kept[plan.group] = KeptLook(plan, self._roster, self._account, self._changes, claimed)
        return kept

    def _follow(self) -> None:
        """Note what has changed around which plan."""
        self._changes.follow()
        seen, self._seen = self._seen, self._reservations.changed.count
        if seen == self._seen:
            return
        changed = self._reservations.changed.since(seen)
        if changed is None:
            for kept in self._kept.values():
                kept.unseen.everything = True
                kept.watch(claim.node for claim in self._reservations.claims(kept.group).values())
            return
        for node in {node for node, _ in changed}:
            for group in self._reservations.claimants(node):
                if group in self._kept:
                    self._kept[group].watch((node,))
            self._changes.nodes_changed((node,))
        # A claim for a pod says whether its nomination to another node counts.
        self._changes.nodes_changed({self._roster.changes.nomination(uid) for _, uid in changed})


def _members_lost(plan: ActivePlan, roster: Roster) -> bool:
    """Whether the gang would not run with the planned members.

    A gang that has run is planned for as it is: a member that comes later is for the next plan.
    """
    group = roster.group(plan.group)
    if group is not None and has_run(group):
        return False
    return roster.needed(plan.group, but=plan.members) > len(plan.members)
