"""What schedulers have shown of the members of gangs, and what that proves of a plan.

It lives as long as a term: a process that begins to lead has seen nothing, and asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from math import inf
from typing import NamedTuple

from api.clock import Clock
from api.core import Pod
from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, victim_uids
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.looking.native_proofs import native_proofs
from controllers.gangs.looking.plan_changes import PlanChanges
from controllers.gangs.looking.plan_proofs import PlanProofs, gone_from, victims_on
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import PULSE_NODE
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.messages import refusal
from controllers.gangs.scheduler.offers import OFFER_SECONDS, Offers

__all__ = ["Evidence"]


class _Said(NamedTuple):
    """What a scheduler last wrote into the status of a pod that waits."""

    generation: int
    message: str
    """Of the condition PodScheduled."""
    nominated: str


class Evidence:
    """Collects attempts on members that wait, from the verbs and from the watch."""

    def __init__(
        self,
        roster: Roster,
        scheduler: SchedulerConfiguration,
        clock: Clock,
        on_presented: Callable[[GroupKey, str], None],
        *,
        offer_seconds: float = OFFER_SECONDS,
        gang_of: Callable[[Pod], GroupKey | None] | None = None,
    ) -> None:
        """`on_presented` is called for each sign that a scheduler works on a member (group, UID).

        `gang_of`: which gang the pod is a member of, if it is of any; None: what the roster says.
        """
        self._roster, self._scheduler, self._on_presented = roster, scheduler, on_presented
        self._clock, self._gang_of = clock, gang_of or roster.gang_of
        self._offers = Offers(clock, roster, scheduler, offer_seconds=offer_seconds)
        self._said: dict[str, _Said] = {}
        self._changes = PlanChanges(roster.changes)
        self._proven: dict[GroupKey, PlanProofs] = {}
        self._plans_of: dict[str, set[PlanProofs]] = {}
        """What is proven of the plans that place a pod, by its UID."""
        self._withdrawn: set[str] = set()
        """UIDs of pods whose nomination we withdraw."""

    # ---- what happens

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """The scheduler named nodes for a member."""
        self._shown(pod.metadata.uid)
        self._offers.filter_called(pod, nodes)
        self._presented(pod)

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """The scheduler named candidates for a member: victims (UIDs) by node. None: they were not read."""
        self._shown(pod.metadata.uid)
        self._offers.preempt_called(pod, candidates)
        self._presented(pod)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        self._shown(uid)
        if pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name or self._gang_of(pod) is None:
            self._said.pop(uid, None)
            self._withdrawn.discard(uid)
            self._offers.forget(uid)
            return
        before, said = self._said.get(uid), _said(pod)
        self._said[uid] = said
        is_ours = not said.nominated and uid in self._withdrawn
        if said.nominated != (before.nominated if before is not None else ""):
            self._withdrawn.discard(uid)
        if before is None:
            if said.message:
                self._offers.message_seen(pod, said.message, arrived=False)
            return
        if before.generation != said.generation:
            self._offers.forget(uid)
        if said.message not in ("", before.message):
            self._offers.message_seen(pod, said.message, arrived=True)
            self._presented(pod)
        elif not (said.nominated or is_ours) and before.nominated not in ("", PULSE_NODE):
            self._offers.sign_seen(uid)
            self._presented(pod)

    def withdrawing(self, uid: str) -> None:
        """We are about to withdraw a member's nomination: its end will be no sign of a scheduler."""
        self._withdrawn.add(uid)

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`. Nobody waits for what lapses here."""
        return inf

    def tick(self, *, trusted: bool) -> bool:
        """Forget what has lapsed."""
        self._offers.expire()
        return False

    def _shown(self, uid: str) -> None:
        """Something may have been shown of the pod."""
        for proven in self._plans_of.get(uid, ()):
            proven.shown(uid)

    def _presented(self, pod: Pod) -> None:
        key = self._gang_of(pod)
        if key is not None:
            self._on_presented(key, pod.metadata.uid)

    # ---- what it proves

    def offers(self, spec: PreemptionPlanSpec, members: Collection[str]) -> dict[str, set[str]]:
        """Which of the plan's nodes the scheduler offered to which member (UID), the plan's victims counted as gone."""
        victims, there = victim_uids(spec), victims_on(spec)
        leaving = {}
        for node in {placement.node for placement in spec.placements}:
            gone = gone_from(node, there.get(node, ()), self._roster)
            leaving[node] = victims | gone.keys() if gone else frozenset[str]()
        return self._offers.offers(members, leaving)

    def is_presented(self, group: GroupKey) -> bool:
        """Whether a scheduler works on a member of the group that is not bound."""
        return not self._roster.gang_members(group).unbound.isdisjoint(self._offers.all_presented)

    def is_untried(self, group: GroupKey, gated: Container[str]) -> bool:
        """Whether the group has members that wait and that no scheduler was seen to try. `gated`: pods (UIDs) that have
        our scheduling gate: nobody tries them."""
        return any(
            member.node is None
            and member.uid not in gated
            and self._offers.presented(member.uid) is None
            and not self._roster.unscheduled_message(member.uid)
            for member in self._roster.members(group)
        )

    def has_tried(self, members: Iterable[str]) -> bool:
        """Whether the scheduler has finished an attempt on each of these members (UIDs)."""
        return all(self._offers.attempted(uid) is not None for uid in members)

    def proofs(self, plan: ActivePlan) -> dict[str, MemberProof]:
        """What is proven of each planned member that is not bound: by UID, in the plan's order."""
        if plan.is_native:
            return native_proofs(plan, self._roster, self._offers, self._scheduler)
        proven = self._proven.get(plan.group)
        if proven is None or not proven.is_about(plan):
            self.forget_plan(plan.group)
            proven = PlanProofs(plan, self._roster, self._offers, self._scheduler, self._changes)
            self._proven[plan.group] = proven
            for uid in plan.members:
                self._plans_of.setdefault(uid, set()).add(proven)
        return proven.now()

    def forget_plan(self, group: GroupKey) -> None:
        """The group's plan has ended."""
        proven = self._proven.pop(group, None)
        if proven is None:
            return
        proven.end()
        for uid in proven.members:
            self._plans_of[uid].discard(proven)
            if not self._plans_of[uid]:
                del self._plans_of[uid]


def _said(pod: Pod) -> _Said:
    return _Said(pod.metadata.generation, refusal(pod) or "", pod.status.nominated_node_name)
