"""What filter gives a pod by the plan of its gang."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from api.core import Pod
from controllers.gangs.filter_answers import AnyOf, Hold, InPass, Offer
from controllers.gangs.keys import lone_pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, PlannedPod, hold_text
from controllers.gangs.mirror.pausing import why_paused
from controllers.gangs.mirror.roster import Roster
from runtime.mirror.pauses import Pauses

__all__ = ["PlanAnswers"]

FIRST_TURN: Final = 2
"""After this number of reminders, another member may find the domain. The first one is hardly being bound then."""


class PlanAnswers:
    """Members are offered their nodes when the plan lets them; the others are held."""

    def __init__(self, roster: Roster, pauses: Pauses) -> None:
        self._roster, self._pauses = roster, pauses

    def by_plan(self, plan: ActivePlan, pod: Pod) -> Hold | Offer | AnyOf:
        """What to do with a pod of a gang that has this plan."""
        uid = pod.metadata.uid
        member = plan.members.get(uid)
        if plan.is_steered:
            offers = plan.is_open and (plan.evicted or not why_paused(self._pauses, plan.spec))
            return Offer(member.node) if offers and member else Hold(hold_text(plan.group, plan.phase))
        if plan.phase != "Ready" or not self._passes(plan, uid, member):
            return Hold(hold_text(plan.group, "Gathering" if plan.releases else plan.phase))
        return Offer(member.node) if member and not member.any_node else self._by_scheduler(plan, uid)

    def in_passes(
        self, key: GroupKey, plan: ActivePlan, given: Hold | Offer | AnyOf
    ) -> Hold | Offer | AnyOf | InPass:
        """The same, if kube-scheduler tries the gang in passes. `given`: what the plan alone gives the pod."""
        if plan.spec.evicted_by is UNSET or isinstance(given, AnyOf):
            return given
        if isinstance(given, Hold):
            return InPass(key, plan, given, None)
        return InPass(key, plan, Hold(hold_text(key, plan.phase)), given.node)

    def _passes(self, plan: ActivePlan, uid: str, member: PlannedPod | None) -> bool:
        """Whether the pod may be bound now by a plan that is Ready. `member`: as it is planned, if it is."""
        return plan.has_turn(member) if member is not None else self._may_take_part(plan, uid)

    def _may_take_part(self, plan: ActivePlan, uid: str) -> bool:
        """Whether this pod beyond minCount may be bound before the gang runs.

        That is so if it is like a planned member whose devices are not modelled. That one may find none, and no room is
        claimed for either of them.
        """
        own, of = self._roster.class_key(uid), self._roster.class_key
        return any(each.any_node and of(each.uid) == own for each in self._in_turn(plan))

    def _in_turn(self, plan: ActivePlan) -> list[PlannedPod]:
        """The members that wait, without those of later waves."""
        return [each for each in self._roster.waiting(plan).values() if plan.has_turn(each)]

    def _by_scheduler(self, plan: ActivePlan, uid: str) -> Hold | AnyOf:
        """What to do with a pod of the plan whose devices are not modelled (docs/decisions/0093).

        The first member of a gang with a topology key finds the domain for all. It is one that uses devices. If it is
        not bound for long, others like it get their turn, one after each reminder.
        """
        key, domains = plan.spec.domain.topology_key if plan.spec.domain else None, self._roster.domains
        if key is None or lone_pod(plan.group) is not None:
            return AnyOf(None)
        bound = domains.nodes(plan.group)
        if bound is not None:
            return AnyOf(bound)
        classes = [(each.uid, self._roster.class_key(each.uid)) for each in self._in_turn(plan)]
        alike = [each for each, its_class in classes if its_class == classes[0][1]]
        if not alike or uid != alike[max(0, plan.wakes - FIRST_TURN) % len(alike)]:
            return Hold(hold_text(plan.group, plan.phase))
        return AnyOf(
            domains.outside(key, {each.value for each in plan.spec.domains if each.outcome != "Fits"})
        )
