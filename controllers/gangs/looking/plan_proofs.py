"""The proofs of one plan. They are kept until something changes about a member, its node or what is known of it."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.looking.alike_members import AlikeMembers
from controllers.gangs.looking.plan_changes import PlanChanges
from controllers.gangs.looking.plan_parts import planned_on
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.offers import Offers
from controllers.gangs.scheduler.proofs import PlannedMember, Verdict, prove
from nodes.state.columns.flags import NEVER

__all__ = ["PlanProofs", "gone_from", "victims_on"]

CUT_AT_MOST: Final = 2
"""Number of truncated attempts after which we stop waiting for a complete one."""


def victims_on(spec: PreemptionPlanSpec) -> Mapping[str, list[str]]:
    """The pods (UIDs) that the plan evicts, by node."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for victim in spec.victims:
        for pod in victim.pods:
            found[pod.node].append(pod.uid)
    return found


def gone_from(node: str, victims: Iterable[str], roster: Roster) -> dict[str, int]:
    """The pods on the node that a plan counts as gone: own priority by UID. `victims`: the plan's, on this node."""
    gone = roster.leaving_from(node)
    for uid in victims:
        priority = roster.own_priority(uid)
        if priority is not None:
            gone[uid] = priority
    return gone


class PlanProofs:
    """What is proven of the planned members that are not bound."""

    def __init__(
        self,
        plan: ActivePlan,
        roster: Roster,
        offers: Offers,
        scheduler: SchedulerConfiguration,
        changes: PlanChanges,
    ) -> None:
        self._plan, self._roster, self._offers, self._scheduler = plan, roster, offers, scheduler
        self._planned, self._victims = planned_on(plan), plan.victims
        self._victims_on = victims_on(plan.spec)
        self._node_of = {pod.uid: pod.node for victim in plan.spec.victims for pod in victim.pods}
        self._changes = changes
        self._unseen = changes.begin(self._planned, [*plan.members, *self._victims])
        self._gone: dict[str, Mapping[str, int]] = {}
        self._leaving: dict[str, _Leaving] = {}
        self._own: dict[str, tuple[Verdict, PlannedMember]] = {}
        """What the attempts on a member itself prove, by UID."""
        self._alike = AlikeMembers(plan, roster, offers)
        self._proofs: dict[str, MemberProof] = {}
        self._succeeded: Set[str] = frozenset()
        self._shown: set[str] = set()
        """Members (UIDs) that the scheduler has shown something about since."""
        self._refused: set[str] = set()
        """Members that the scheduler has refused. Whether that counts depends on pods anywhere."""
        self._apart = -1
        """The last change of pods that may keep others off nodes."""
        self._lapses = _Lapses()

    def is_about(self, plan: ActivePlan) -> bool:
        """Whether this is the plan, in whatever phase."""
        return plan.spec is self._plan.spec and plan.members is self._plan.members

    @property
    def members(self) -> Collection[str]:
        """UIDs of all planned members."""
        return self._plan.members.keys()

    def shown(self, uid: str) -> None:
        """Something may have been shown of the member."""
        self._shown.add(uid)

    def end(self) -> None:
        """The plan has ended."""
        self._changes.end(self._unseen)

    def now(self) -> dict[str, MemberProof]:
        """What is proven by now: by UID, in the plan's order."""
        self._changes.follow()
        again, nodes = self._out_of_date()
        for uid in again:
            if self._roster.waits(self._plan.group, uid):
                self._prove(uid)
            else:
                self._forget(uid)
        concerned = self._own.keys() & (again | self._alike.renew(again, nodes, self._leaving))
        is_new = not concerned <= self._proofs.keys()
        for uid in concerned:
            self._conclude(uid)
        if is_new:
            self._proofs = {uid: self._proofs[uid] for uid in self._plan.members if uid in self._proofs}
        return self._proofs.copy()

    def _out_of_date(self) -> tuple[set[str], set[str]]:
        """UIDs of the members whose proof may have changed, and the planned nodes about which something has."""
        unseen, members = self._unseen, self._plan.members
        again = {uid for uid in unseen.pods if uid in members} | self._shown | self._lapses.take(self._offers)
        again |= self._ended()
        nodes = {node for node in self._planned if not self._roster.changes.is_counted(node)}
        nodes |= self._planned.keys() if unseen.everything else unseen.nodes
        nodes.update(self._node_of[uid] for uid in unseen.pods if uid in self._node_of)
        nodes &= self._planned.keys()
        for node in nodes:
            self._gone[node] = gone = gone_from(node, self._victims_on.get(node, ()), self._roster)
            self._leaving[node] = _Leaving(gone, self._victims)
            again.update(member.uid for member in self._planned[node])
        if self._apart != self._roster.changes.apart:
            self._apart = self._roster.changes.apart
            again |= self._refused
        unseen.clear()
        self._shown.clear()
        return again, nodes

    def _ended(self) -> Set[str]:
        """UIDs of the members that have Succeeded or not since the last call."""
        before = self._succeeded
        self._succeeded = self._plan.members.keys() & self._roster.succeeded(self._plan.group)
        return before ^ self._succeeded

    def _forget(self, uid: str) -> None:
        self._proofs.pop(uid, None)
        self._own.pop(uid, None)
        self._refused.discard(uid)
        self._lapses.put(uid, None)

    def _prove(self, uid: str) -> None:
        """Find out what the attempts on the member itself prove."""
        planned = self._as_planned(uid)
        shown = self._offers.shown(uid, planned.node)
        self._refused.discard(uid)
        verdict = prove(shown, planned)
        if self._is_repelled(uid, verdict, planned):
            planned = replace(planned, asks_about_others=True)
            verdict = prove(shown, planned)
        self._own[uid] = verdict, planned
        self._lapses.put(uid, self._offers.lapses_first(uid))

    def _conclude(self, uid: str) -> None:
        """What these prove together with the attempts on members that are like it."""
        offers, (own, planned) = self._offers, self._own[uid]
        verdict = self._alike.verdict(uid, own, planned)
        if verdict is not own and self._is_repelled(uid, verdict, planned):
            verdict = self._alike.verdict(uid, own, replace(planned, asks_about_others=True))
        cannot_tell = planned.kept_away or offers.cut(uid) >= CUT_AT_MOST
        is_current = offers.is_current(uid, planned.node)
        self._proofs[uid] = MemberProof(
            verdict.proof,
            verdict.seen,
            offers.attempted(uid),
            verdict.doubt,
            cannot_tell,
            is_current,
            by_another=verdict is not own,
        )

    def _is_repelled(self, uid: str, verdict: Verdict, planned: PlannedMember) -> bool:
        """Whether a refusal may come from pods anywhere. All running pods are looked at only if it matters."""
        if not verdict.is_refusal:
            return False
        self._refused.add(uid)
        return self._roster.may_be_repelled(uid, planned.node)

    def _as_planned(self, uid: str) -> PlannedMember:
        member, view = self._plan.members[uid], self._roster.candidate(uid)
        return PlannedMember(
            node=member.node,
            priority=view.priority if view is not None else 0,
            gone=self._gone[member.node],
            victims=self._victims,
            never=view is not None and bool(view.flags & NEVER),
            asks_about_others=view is not None and view.pod_class.asks_about_others,
            kept_away=view is not None and self._scheduler.keeps_away(view.pod_class.resources),
            nomination_changes=self._roster.nomination_changes(member.node),
        )


@dataclass(frozen=True, slots=True)
class _Leaving(Collection[str]):
    """The pods (UIDs) that will be gone from a node where a plan places a member. Empty if none leaves that node."""

    gone: Mapping[str, int]
    """Those of the node."""
    victims: frozenset[str]
    """The plan's, on whatever node."""

    def __bool__(self) -> bool:
        return bool(self.gone)

    def __contains__(self, uid: object) -> bool:
        return bool(self.gone) and (uid in self.gone or uid in self.victims)

    def __iter__(self) -> Iterator[str]:
        return iter(self.gone.keys() | self.victims if self.gone else ())

    def __len__(self) -> int:
        return len(self.gone.keys() | self.victims) if self.gone else 0


class _Lapses:
    """Which members have something that lapses, and when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        """By member (UID): since when the oldest thing is known that will lapse. In monotonic seconds."""
        self._queue: list[tuple[float, str]] = []
        """The same, the oldest one first. Some entries do not count any longer."""

    def put(self, uid: str, since: float | None) -> None:
        """What is known of the member. None: nothing will lapse."""
        if since is None:
            self._since.pop(uid, None)
        elif self._since.get(uid) != since:
            self._since[uid] = since
            heapq.heappush(self._queue, (since, uid))

    def take(self, offers: Offers) -> set[str]:
        """Members (UIDs) whose offers have lapsed."""
        lapsed = set()
        while self._queue and not offers.lasts(self._queue[0][0]):
            since, uid = heapq.heappop(self._queue)
            if self._since.get(uid) == since:
                del self._since[uid]
                lapsed.add(uid)
        return lapsed
