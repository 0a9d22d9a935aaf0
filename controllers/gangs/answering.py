"""The face of the gang room for the verbs: what they may ask, what they report, and the values that they get.

An answer is what is known at the moment of the call. Nothing here waits, and nothing is planned. No other module lets
somebody outside of the room reach into it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from api.core import Pod
from controllers.gangs.controller import GangController
from controllers.gangs.filter_answers import AnyOf, BoundPod, FreeRoom, Hold, InPass, Offer, Within
from controllers.gangs.lifecycle.life import GroupKey, hold_text
from controllers.gangs.lifecycle.observations import NotOffered, Observation, Offered, PreemptCalled
from controllers.gangs.looking.attempt_book import tries_nominated
from controllers.gangs.metrics import PARKED
from controllers.gangs.plan_answers import PlanAnswers
from controllers.gangs.promised.account import pod_asks_with
from controllers.gangs.promised.free_room import FreeRoom as Finder
from controllers.gangs.promised.spared import native_group
from controllers.gangs.scheduler.rejections import HOLD_MARK, PROMISED, RESERVED, SPARED
from controllers.gangs.waking.parked import TurnedDown
from nodes.groups.keys import is_foreign, is_native_name, is_owned, short_name

__all__ = [
    "HOLD_MARK",
    "PROMISED",
    "RESERVED",
    "ROOM_IS_RESERVED",
    "SPARED",
    "STARTING",
    "UNKNOWN_VICTIM",
    "VICTIM_LEAVES",
    "Answering",
    "AnyOf",
    "BoundPod",
    "FreeRoom",
    "Hold",
    "InPass",
    "Offer",
    "Within",
]

STARTING: Final = HOLD_MARK + "not ready, pod groups wait"

ROOM_IS_RESERVED: Final = "room there is reserved"
VICTIM_LEAVES: Final = "a victim leaves for a pod group"
UNKNOWN_VICTIM: Final = "a victim is not known there"
PASSING: Final = frozenset({ROOM_IS_RESERVED, VICTIM_LEAVES})
"""Reasons against a node that pass when a plan ends."""


class Answering:
    """`extender.verbs.Face` over the gang controller. It runs on the event loop, between the planner's steps."""

    def __init__(
        self, controller: GangController, in_touch: Callable[[], bool], *, stands_in: bool = False
    ) -> None:
        """`in_touch`: see `extender.service.Election`. `stands_in`: our own mode is not Enforce, and the answers are
        those of a standby of a leader that enforces. Which namespaces that are is not known: it may be all."""
        self._controller, self._in_touch, self._stands_in = controller, in_touch, stands_in
        self._mirror, self._roster = controller.known.mirror, controller.known.mirror.roster
        self._promises, self._waiters = controller.known.promises, controller.known.waiters
        self._free = Finder(self._roster, self._promises)
        self._plans = PlanAnswers(self._roster, self._mirror.pauses)

    # ---- who answers

    @property
    def leads(self) -> bool:
        """Whether this process is the one that answers for all."""
        return self._controller.leading is not None

    @property
    def decides(self) -> bool:
        """Whether this process leads, and its mirror may be trusted."""
        return self._controller.deciding is not None

    @property
    def follows(self) -> bool:
        """Whether the mirror may be trusted, and another process may lead."""
        return not self.leads and self._in_touch() and self._mirror.is_trusted()

    def observes(self, pod: Pod) -> bool:
        """Whether the pod is left to its scheduler, because its namespace is observed.

        Until namespaces have been listed, a pod of one that is not known gets what an enforced one gets.
        """
        modes, namespace = self._controller.known.modes, pod.metadata.namespace
        if self._stands_in or not modes.observes(namespace):
            return False
        return modes.knows(namespace) or self._mirror.watched.namespaces.synced

    def heard(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """A scheduler has called about a pod that is left to it. `candidates`: those of a preempt call."""
        if (deciding := self._controller.deciding) is not None:
            deciding.called(pod)
        if candidates is not None:
            self._controller.preempt_heard(pod, candidates)

    # ---- filter

    def verdict(self, pod: Pod) -> Hold | Offer | AnyOf | InPass | Within | FreeRoom | None:
        """What to do with a pod of a gang; None for a pod that is to be treated as an ordinary one."""
        key, deciding = self._roster.gang_of(pod), self._controller.deciding
        if deciding is not None:
            deciding.called(pod)
        plan = deciding.lone.plan_of(pod) if deciding is not None else None
        if plan is not None:
            return self._plans.by_plan(plan, pod)
        if why := self._controller.quota.why_waits(pod):
            return Hold(f"{HOLD_MARK}{why}")
        native = self._roster.native_beside(pod)
        if native is not None and (hold := self._without_object(pod, native)) is not None:
            return hold  # if it is basic, the pod belongs to its gang
        if deciding is None:
            return self._verdict_without_leader(pod, key)
        if key is None:
            return None
        if is_foreign(key[1]) and self._roster.minimum(key) is None:
            return self._without_object(pod, key)
        if self._roster.group(key) is None:
            deciding.telling.unknown_group(pod, key)
            return Hold(f"{HOLD_MARK}there is no PodGroup {'/'.join(key)}")
        if self._roster.minimum(key) is None:
            return None
        life = deciding.gangs.gather(key).life
        if life.plan is not None:
            return self._plans.in_passes(key, life.plan, self._plans.by_plan(life.plan, pod))
        if self._roster.count(key).runs:
            deciding.passing.forget(key)
            return self._beside_the_gang(key)
        hold = Hold(hold_text(key, life.phase))
        return InPass(key, None, hold, None) if deciding.passing.knows(key) else hold

    def _verdict_without_leader(self, pod: Pod, key: GroupKey | None) -> Hold | None:
        """Pods with a stored plan wait, and so do pods of groups, unless the group is known not to be a gang."""
        if self._promises.claims_for(pod.metadata.uid):
            return Hold(STARTING)
        if native_group(pod) is not None and not self.follows:
            return Hold(STARTING)  # it is not known where its scheduler would break a unit for it
        if key is None:
            return None
        if is_foreign(key[1]) and self._roster.minimum(key) is None:
            return self._without_object(pod, key)
        is_basic = self._roster.group(key) is not None and self._roster.minimum(key) is None
        return None if is_basic and self.follows else Hold(STARTING)

    def _without_object(self, pod: Pod, key: GroupKey) -> Hold | None:
        """For a group of another kind that is no gang, or that its own controller does not know either.

        If its object is about to come, the pod is held, and brought back within a second.
        """
        if not self._mirror.awaits_object(pod, key):
            return None
        what = "the owner of pod group" if is_owned(key[1]) else "the object of pod group"
        return Hold(f"{HOLD_MARK}{what} {key[0]}/{short_name(key[1])} is not known yet")

    def in_pass(self, pod: Pod, tried: InPass, nodes: list[str]) -> Hold | Offer:
        """What a pod gets in the pass that goes on. `nodes`: the names in the call."""
        deciding = self._controller.deciding
        if deciding is None:
            return Hold(STARTING)
        offered = tried.node if self._may_offer(pod, tried, nodes) else None
        node = deciding.passing.answer(tried.group, tried.plan, pod.metadata.uid, nodes, offered)
        if node is None:
            return tried.otherwise
        if node in nodes:
            deciding.attempts.offered(tried.group)
        return Offer(node)

    def _may_offer(self, pod: Pod, tried: InPass, nodes: Collection[str]) -> bool:
        """Whether the scheduler evicts nobody for the pod on the node that the plan offers it, unless it should."""
        if tried.node is None or tried.plan is None or tried.plan.is_steered or tried.node not in nodes:
            return True
        return not self._simulates(tried.group) and self._free.is_free(
            pod, self._roster.asks_for(pod), tried.node
        )

    def _beside_the_gang(self, key: GroupKey) -> Within | FreeRoom | None:
        nodes = self._roster.domains.nodes(key)
        if is_native_name(key[1]):
            return FreeRoom(nodes)
        return Within(nodes) if nodes is not None else None

    def _simulates(self, key: GroupKey) -> bool:
        """Whether the scheduler would evict for what it is offered now: it has found no room for the group itself.

        It may know more than our watch has shown: what it has placed a moment ago, and room that it keeps.
        """
        deciding = self._controller.deciding
        return deciding is not None and deciding.attempts.simulates(key)

    def free_node(self, pod: Pod, names: Collection[str]) -> str | None:
        """A node with free room for the pod, which is a member beyond minCount; None if no node has it."""
        key = self._roster.gang_of(pod)
        if (deciding := self._controller.deciding) is not None:
            deciding.attempts.called(pod, names)
        if key is None or self._simulates(key):
            return None
        return self._free.find(pod, self._roster.asks_for(pod), self.priority(pod), names)

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """Remember what the scheduler offers, whether or not there is a plan yet."""
        if (leading := self._controller.leading) is not None:
            leading.evidence.filter_called(pod, nodes)
            leading.attempts.called(pod, nodes)

    def offered(self, pod: Pod, *, among: bool) -> None:
        """Note what the scheduler does with its chance: to bind the pod, or to find its node unfit again and again."""
        uid, name = pod.metadata.uid, pod.metadata.name
        message = next((c.message for c in pod.status.conditions or [] if c.type == "PodScheduled"), "")
        self._report(pod, Offered(uid, message) if among else NotOffered(uid, name))

    def held(self, pod: Pod) -> None:
        """Filter turned the pod down because of its own gang."""
        if not self.decides:
            self.answered_in_vain(pod)
        gang = self._gang_of(pod)
        if gang is None and native_group(pod) is not None:
            return  # its group has a backoff, and nothing else brings it back
        if (waking := self._controller.waking) is not None:
            waking.hold(gang, pod)

    def outside(self, pod: Pod) -> None:
        """Filter found no node of its gang's domain for the pod."""
        if (waking := self._controller.waking) is not None:
            waking.hold_outside(pod)

    def attempted(self, pod: Pod) -> None:
        """What filter let the pod do in an earlier attempt counts no longer."""
        self._controller.asked_about(pod.metadata.uid)
        self._promises.attempted(pod)

    def let_through(self, pod: Pod, nodes: Collection[str]) -> None:
        """The scheduler may put the pod on one of these nodes, or nominate it there. None named: on any node."""
        self._promises.let_through(pod, nodes)

    def barred(self, pod: Pod, names: Iterable[str]) -> list[str]:
        """On which of these nodes the pod would take promised room. It may be on its way to the others from now on."""
        requests, priority = self._roster.asks_for(pod), self.priority(pod)
        if not self.leads:
            # What other processes let onto a node is not known here.
            barred = [name for name in names if self.is_promised(name, at_least=priority)]
            if barred:
                self.answered_in_vain(pod)
            return barred
        barred = self._promises.let_pass(pod, requests, priority, names)
        if barred and (waking := self._controller.waking) is not None:
            waking.keep_out(pod, priority, requests, barred)
        return barred

    def taken(self, pod: Pod, names: Iterable[str]) -> list[str]:
        """The same for a pod that is left to its scheduler. Nobody brings it back."""
        priority = self.priority(pod)
        if not self.leads:
            return [name for name in names if self.is_promised(name, at_least=priority)]
        return self._promises.let_pass(pod, self._roster.asks_for(pod), priority, names)

    def spares(self, pod: Pod, names: Sequence[str]) -> list[str]:
        """On which of these nodes a member of a native group would break a unit that its scheduler does not know."""
        key = native_group(pod)
        if key is None or not names:
            return []
        if not self.leads:
            # What the leader has offered is not known here.
            return self._promises.spared.all_units_on(key, pod, names)
        refused = self._promises.spared.refused(key, pod, self._roster.asks_for(pod), names)
        may_preempt = self._roster.preempts_by_pod(key) and not self._is_member(pod)
        is_nowhere = len(refused) == len(names) and not tries_nominated(pod, names)
        deciding = self._controller.deciding if may_preempt and is_nowhere else None
        if deciding is not None:
            deciding.wants_plan(pod, names)
        return refused

    # ---- preempt

    def evicts_for(self, pod: Pod) -> bool:
        """Whether the plan of the pod's gang evicts: what its members were shown before does not count any longer."""
        leading = self._controller.leading
        key = leading.lone.gang_of(pod) if leading is not None else None
        gang = leading.gangs.get(key) if leading is not None and key is not None else None
        plan = gang.life.plan if gang is not None else None
        return plan is not None and plan.phase == "Evicting"

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        """The scheduler wants to preempt for a pod of a gang: it did not take what filter offered it, if it did."""
        PARKED.inc()
        if (leading := self._controller.leading) is not None:
            leading.evidence.preempt_called(pod, candidates)
            if (key := leading.lone.gang_of(pod)) is not None:
                self._waiters.await_gang(pod, key)
        self._report(pod, PreemptCalled(pod.metadata.uid, pod.metadata.name))

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """Whether a plan is made for this pod, for which the scheduler would break groups that are evicted whole."""
        deciding = self._controller.deciding
        if deciding is None or self._is_member(pod) or not deciding.preempts_alone(pod, candidates):
            return False
        PARKED.inc()
        return True

    def nothing_to_evict(self, pod: Pod, reasons: Mapping[str, str]) -> None:
        """Every node that the scheduler offered was struck out (reason per node)."""
        PARKED.inc()
        if PASSING.intersection(reasons.values()):
            self._waiters.await_room(pod)
        elif UNKNOWN_VICTIM in reasons.values():  # our watch is behind: the scheduler has just seen it
            self.answered_in_vain(pod)
        if (leading := self._controller.leading) is not None:
            leading.telling.nothing_to_evict(pod, list(reasons.values()))

    def answered_in_vain(self, pod: Pod) -> None:
        """Remember a pod that called in vain. That is no promise: it only says which pods to bring back."""
        if self._roster.comes_by_backoff(pod):
            return
        self._waiters.await_leader(pod)

    def why_no_evictions(self, pod: Pod) -> str:
        """Why nothing may be evicted for a member of a gang; empty for any other pod, and if something may."""
        key = self._roster.gang_of(pod)
        if key is None or self._roster.minimum(key) is None:
            return ""
        return self._roster.why_no_evictions(key)

    def priority(self, pod: Pod) -> int:
        """The pod's priority; of a member that differs from its group, the lower one of both."""
        return pod_asks_with(self._roster, pod)

    def bound(self, uid: str) -> BoundPod | None:
        """The pod of this UID, which the scheduler counts as bound. None if there is none, or it is not known.

        The scheduler counts a pod from the moment on at which it chooses a node. The binding comes a little later.
        """
        leaving, claim = self._roster.leaving(uid), self._roster.staying(uid)
        if leaving is not None:
            return BoundPod(leaving.node, 0, unit_is_group=False, leaving=True)
        priority = self._roster.unit_priority(uid)
        if priority is None or (claim is None and self._roster.candidate(uid) is None):
            return None
        node = claim.node if claim is not None else None
        goes_whole, group = self._roster.all_mode_group(uid) is not None, self._roster.group_of_pod(uid)
        kept = self._roster.is_kept(uid)
        return BoundPod(node, priority, goes_whole, in_group=group is not None, kept=kept)

    # ---- promised room

    @property
    def promises_room(self) -> bool:
        """Whether room is promised anywhere."""
        return bool(self._promises)

    def is_promised(self, node: str, *, at_least: int | None = None) -> bool:
        """Whether plans of priority `at_least` or more claim room on the node; None: any plans."""
        return self._promises.is_reserved(node, at_least=at_least)

    def is_awaited(self, uid: str, *, at_least: int | None = None) -> bool:
        """Whether the pod is to leave for a plan of priority `at_least` or more; None: for any plan."""
        return self._promises.awaits(uid, at_least=at_least)

    # ---- other replicas

    def take_notice(self) -> bytes | None:
        """The pods that this process has turned down, as a notice to the leader; None if there are no such pods."""
        turned_down = self._waiters.hand_over()
        return msgspec.json.encode(turned_down) if turned_down else None

    def put_back(self, notice: bytes) -> None:
        """The leader was not told."""
        self._waiters.put_back(msgspec.json.decode(notice, type=TurnedDown))

    def told(self, notice: bytes) -> bool:
        """Another process names pods that it has turned down. Returns whether this one leads and brings them back.

        Raises msgspec.DecodeError.
        """
        return self._controller.told(msgspec.json.decode(notice, type=TurnedDown))

    def _is_member(self, pod: Pod) -> bool:
        """Whether the pod belongs to a gang that we plan for."""
        key = self._roster.gang_of(pod)
        return key is not None and self._roster.minimum(key) is not None

    def _gang_of(self, pod: Pod) -> GroupKey | None:
        leading = self._controller.leading
        return leading.lone.gang_of(pod) if leading is not None else self._roster.gang_of(pod)

    def _report(self, pod: Pod, observation: Observation) -> None:
        if (leading := self._controller.leading) is not None:
            leading.report(pod, observation)
