"""What schedulers have shown of the members of gangs, and what that proves of a plan.

It lives as long as a term: a process that begins to lead has seen nothing, and asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from api.clock import Clock
from api.core import Pod
from api.plans import PreemptionPlanSpec
from controllers.gangs.life import ActivePlan, GroupKey, PlannedPod, victim_uids
from controllers.gangs.observations import MemberProof
from controllers.gangs.offers import Offers
from controllers.gangs.proofs import PlannedMember, prove
from controllers.gangs.roster import Roster, group_of
from controllers.gangs.scheduler_configuration import SchedulerConfiguration
from controllers.gangs.waiting import DEFAULT_SCHEDULER, PULSE_NODE
from nodes.state.snapshot import NEVER

__all__ = ["Evidence"]


CUT_AT_MOST: Final = 2
"""After so many attempts of which only a part was shown, a further one will not show more."""


class _Said(NamedTuple):
    """What a scheduler last wrote into the status of a pod that waits."""

    generation: int
    message: str
    """Of the condition PodScheduled."""
    nominated: str


class _Stamp(NamedTuple):
    """What proofs depend on besides what the scheduler shows."""

    version: int
    """Of the tables."""
    change: int
    """The last change of a node, its pods or its nominations."""
    second: int
    """Offers lapse."""


@dataclass(slots=True)
class _Proven:
    """The proofs of a plan, as of a stamp."""

    spec: PreemptionPlanSpec
    stamp: _Stamp
    gone: Mapping[str, Mapping[str, int]]
    proofs: dict[str, MemberProof]
    open: set[str] = field(default_factory=set)
    """Members (UIDs) of which the scheduler has shown something since."""


class Evidence:
    """Collects attempts on members that wait, from the verbs and from the watch."""

    def __init__(
        self,
        roster: Roster,
        scheduler: SchedulerConfiguration,
        clock: Clock,
        on_presented: Callable[[GroupKey, str], None],
        *,
        offer_seconds: float,
        gang_of: Callable[[Pod], GroupKey | None] = group_of,
    ) -> None:
        """`on_presented` is told of each sign that a scheduler works on a member (group, UID).

        `gang_of`: which gang the pod is a member of, if it is of any.
        """
        self._roster, self._scheduler, self._on_presented = roster, scheduler, on_presented
        self._clock, self._gang_of = clock, gang_of
        self._offers = Offers(clock, roster, scheduler, offer_seconds=offer_seconds)
        self._said: dict[str, _Said] = {}
        self._proven: dict[GroupKey, _Proven] = {}
        self._callers: set[str] = set()
        """Names of the schedulers that have called us."""
        self._withdrawn: set[str] = set()
        """UIDs of pods whose nomination we withdraw."""

    # ---- what happens

    def called(self, pod: Pod) -> None:
        """A scheduler asked us about a pod of any kind."""
        self._callers.add(pod.spec.scheduler_name or DEFAULT_SCHEDULER)

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """The scheduler named nodes for a member."""
        self._reopen(pod)
        self._offers.filter_called(pod, nodes)
        self._presented(pod)

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """The scheduler named candidates for a member: victims (UIDs) by node."""
        self._reopen(pod)
        self._offers.preempt_called(pod, candidates)
        self._presented(pod)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        if pod is not None:
            self._reopen(pod)
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

    def expire(self) -> None:
        """Forget what has lapsed. To be called about once a second."""
        self._offers.expire()

    def _reopen(self, pod: Pod) -> None:
        """Something may have been shown of the pod."""
        key = self._gang_of(pod)
        proven = self._proven.get(key) if key is not None else None
        if proven is not None:
            proven.open.add(pod.metadata.uid)

    def _presented(self, pod: Pod) -> None:
        key = self._gang_of(pod)
        if key is not None:
            self._on_presented(key, pod.metadata.uid)

    # ---- what it proves

    def offers(self, spec: PreemptionPlanSpec, members: Collection[str]) -> dict[str, set[str]]:
        """Which of the plan's nodes the scheduler offered to which member (UID), the plan's victims counted as gone."""
        nodes = {placement.node for placement in spec.placements}
        gone = self._gone(spec, nodes)
        victims = victim_uids(spec)
        leaving = {node: victims | gone[node].keys() if node in gone else frozenset() for node in nodes}
        return self._offers.offers(members, leaving)

    def has_called(self, scheduler: str) -> bool:
        """Whether the scheduler of this name has asked us about any pod."""
        return (scheduler or DEFAULT_SCHEDULER) in self._callers

    def is_presented(self, group: GroupKey) -> bool:
        """Whether a scheduler works on a member of the group that is not bound."""
        return any(
            member.node is None and self._offers.presented(member.uid) is not None
            for member in self._roster.members(group)
        )

    def is_untried(self, group: GroupKey) -> bool:
        """Whether the group has members that wait and that no scheduler was seen to try."""
        return any(
            member.node is None
            and self._offers.presented(member.uid) is None
            and not self._roster.unscheduled_message(member.uid)
            for member in self._roster.members(group)
        )

    def proofs(self, plan: ActivePlan) -> dict[str, MemberProof]:
        """What is proven of each planned member that is not bound, by UID.

        Proofs are kept for a second at most while nothing changes, except those of members that were shown something.
        """
        stamp = _Stamp(self._roster.version, self._roster.last_change, int(self._clock.monotonic()))
        kept, victims = self._proven.get(plan.group), plan.victims
        if kept is None or kept.stamp != stamp or kept.spec is not plan.spec:
            waiting = self._roster.waiting(plan)
            gone = self._gone(plan.spec, {member.node for member in waiting.values()})
            kept = self._proven[plan.group] = _Proven(plan.spec, stamp, gone, {})
            again: Set[str] = waiting.keys()
        else:
            again = kept.open & kept.proofs.keys()
        for uid in again:
            member = plan.members[uid]
            kept.proofs[uid] = self._proof(member, kept.gone.get(member.node, {}), victims)
        kept.open.clear()
        return kept.proofs.copy()

    def forget_plan(self, group: GroupKey) -> None:
        """The group's plan has ended."""
        self._proven.pop(group, None)

    def _proof(self, member: PlannedPod, gone: Mapping[str, int], victims: frozenset[str]) -> MemberProof:
        attempted = self._offers.attempted(member.uid)
        view = self._roster.candidate(member.uid)
        planned = PlannedMember(
            node=member.node,
            priority=view.priority if view is not None else 0,
            gone=gone,
            victims=victims,
            never=view is not None and bool(view.flags & NEVER),
            asks_about_others=view is not None and bool(view.pod_class.unmodelled),
            kept_away=view is not None and self._scheduler.keeps_away(view.pod_class.requests.keys()),
            nomination_changes=self._roster.nomination_changes(member.node),
        )
        shown = self._offers.shown(member.uid, member.node)
        verdict = prove(shown, planned)
        # All running pods are looked at only if it makes a difference.
        if verdict.is_refusal and self._roster.may_be_repelled(member.uid, member.node):
            verdict = prove(shown, replace(planned, asks_about_others=True))
        cannot_tell = planned.kept_away or self._offers.cut(member.uid) >= CUT_AT_MOST
        is_current = self._offers.is_current(member.uid, member.node)
        return MemberProof(verdict.proof, verdict.seen, attempted, verdict.doubt, cannot_tell, is_current)

    def _gone(self, spec: PreemptionPlanSpec, nodes: set[str]) -> dict[str, dict[str, int]]:
        """The pods that the plan counts as gone: own priority by UID, by node."""
        gone = self._roster.leaving_on(nodes)
        for victim in spec.victims:
            for pod in victim.pods:
                priority = self._roster.own_priority(pod.uid) if pod.node in nodes else None
                if priority is not None:
                    gone.setdefault(pod.node, {})[pod.uid] = priority
        return gone


def _said(pod: Pod) -> _Said:
    scheduled = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    by_scheduler = (
        scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"
    )
    message = scheduled.message if scheduled is not None and by_scheduler else ""
    return _Said(pod.metadata.generation, message, pod.status.nominated_node_name)
