"""What the verbs may ask: the mirror, the gangs and the reservations as they are at the moment of the call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from api.core import Pod
from controllers.gangs.controller import GangController
from controllers.gangs.gangs import Gang
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, hold_text
from controllers.gangs.lifecycle.observations import NotOffered, Observation, Offered, PreemptCalled
from controllers.gangs.promised.account import pod_asks_with
from controllers.gangs.scheduler.rejections import HOLD_MARK
from controllers.gangs.waking.parked import Why
from extender.metrics import PARKED
from extender.verbs import PASSING, UNKNOWN_VICTIM, BoundPod, Hold, Offer, Within
from nodes.groups.keys import is_foreign, is_owned, short_name

__all__ = ["LiveWorld"]

STARTING = HOLD_MARK + "not ready, pod groups wait"


class LiveWorld:
    """`extender.verbs.World` over the gang controller. It runs on the event loop, between the planner's steps."""

    def __init__(self, controller: GangController, in_touch: Callable[[], bool]) -> None:
        """`in_touch`: see `extender.service.Election`."""
        self._controller, self._roster, self._in_touch = controller, controller.roster, in_touch

    @property
    def leads(self) -> bool:
        """Whether this process is the one that answers for all."""
        return self._controller.in_charge is not None

    @property
    def ready(self) -> bool:
        """Whether this process leads, and its mirror may be trusted."""
        return self._leading is not None

    @property
    def follows(self) -> bool:
        """Whether the mirror may be trusted, and another process may lead."""
        return not self.leads and self._in_touch() and self._controller.is_trusted()

    @property
    def _leading(self) -> Leading | None:
        return self._controller.in_charge if self._controller.is_trusted() else None

    def not_ready(self, pod: Pod) -> None:
        """Remember whoever called in vain. That is no promise: it only says whom to bring back."""
        self._controller.parked.note(pod, Why.NOT_READY)

    def verdict(self, pod: Pod) -> Hold | Offer | Within | None:
        """What to do with a pod of a gang; None for a pod that is to be treated as an ordinary one."""
        key, leading = self._roster.gang_of(pod), self._leading
        if leading is not None:
            leading.called(pod)
            leading.reporter.ambiguous_group(pod)
            leading.reporter.misread_pod(pod)
        plan = leading.plan_of(pod) if leading is not None else None
        if plan is not None:
            return _by_plan(plan, pod)
        if why := self._controller.queued.why_waits(pod):
            return Hold(f"{HOLD_MARK}{why}")
        if leading is None:
            return self._verdict_without_leader(pod, key)
        if key is None:
            return None
        if is_foreign(key[1]) and self._roster.minimum(key) is None:
            return self._without_object(pod, key)
        if self._roster.group(key) is None:
            leading.reporter.unknown_group(pod, key)
            return Hold(f"{HOLD_MARK}there is no PodGroup {'/'.join(key)}")
        if self._roster.minimum(key) is None:
            return None
        life = leading.gangs.gather(key).life
        if life.plan is not None:
            return _by_plan(life.plan, pod)
        runs = self._roster.count(key).runs
        return self._beside_the_gang(key) if runs else Hold(hold_text(key, life.phase))

    def _verdict_without_leader(self, pod: Pod, key: GroupKey | None) -> Hold | None:
        """Pods with a stored plan wait, and so do pods of groups, unless the group is known not to be a gang."""
        if self._controller.reservations.claimant(pod.metadata.uid) is not None:
            return Hold(STARTING)
        if key is None:
            return None
        if is_foreign(key[1]) and self._roster.minimum(key) is None:
            return self._without_object(pod, key)
        is_basic = self._roster.group(key) is not None and self._roster.minimum(key) is None
        return None if is_basic and self.follows else Hold(STARTING)

    def _without_object(self, pod: Pod, key: GroupKey) -> Hold | None:
        """For a group of another kind that is no gang, or of which its own controller knows nothing either.

        If its object is about to come, the pod is held, and brought back within a second.
        """
        if not self._controller.awaits_object(pod, key):
            return None
        what = "the owner of pod group" if is_owned(key[1]) else "the object of pod group"
        return Hold(f"{HOLD_MARK}{what} {key[0]}/{short_name(key[1])} is not known yet")

    def _beside_the_gang(self, key: GroupKey) -> Within | None:
        nodes = self._roster.domains.nodes(key)
        return Within(nodes) if nodes is not None else None

    def offered(self, pod: Pod, *, among: bool) -> None:
        """Note what the scheduler does with its chance: to bind the pod, or to find its node unfit again and again."""
        uid, name = pod.metadata.uid, pod.metadata.name
        message = next((c.message for c in pod.status.conditions or [] if c.type == "PodScheduled"), "")
        self._observe(pod, Offered(uid, message) if among else NotOffered(uid, name))

    def held(self, pod: Pod) -> None:
        """Filter turned the pod down because of its own gang."""
        if not self.ready:
            self.not_ready(pod)
        if (acting := self._controller.acting) is not None:
            acting.waker.hold(self._gang_of(pod), pod)

    def attempted(self, pod: Pod) -> None:
        """What filter let the pod do in an earlier attempt counts no longer."""
        self._controller.reservations.grants.settle(pod.metadata.uid)

    def barred(self, pod: Pod, names: Iterable[str]) -> list[str]:
        """On which of these nodes the pod would take promised room. It may be on its way to the others from now on."""
        requests, priority = self._controller.roster.asks_for(pod), self.priority(pod)
        if not self.leads:
            return self._barred_without_leader(pod, priority, names)
        judged = self._controller.leftover.judge(pod.metadata.uid, requests, priority, names)
        if judged.open:
            self._controller.reservations.grants.note(pod, judged.open, requests)
        if judged.barred and (acting := self._controller.acting) is not None:
            if not acting.waker.is_held(pod.metadata.uid):  # its gang may bring it back as well
                acting.waker.hold(None, pod)
            acting.kept_out.hold(pod, priority, requests, judged.barred)
        return judged.barred

    def _barred_without_leader(self, pod: Pod, priority: int, names: Iterable[str]) -> list[str]:
        """Every node with claims that the pod must respect: what other processes let onto it is not known here."""
        reservations = self._controller.reservations
        barred = [
            name
            for name in names
            if reservations.is_reserved(name) and reservations.holders(name, at_least=priority)
        ]
        if barred:
            self.not_ready(pod)
        return barred

    def outside(self, pod: Pod) -> None:
        """Filter found no node of its gang's domain for the pod."""
        if (acting := self._controller.acting) is not None:
            acting.waker.hold_outside(self._roster.gang_of(pod), pod)

    def priority(self, pod: Pod) -> int:
        """The pod's priority; of a member that differs from its group, the lower one of both."""
        return pod_asks_with(self._roster, pod)

    def why_nobody_goes(self, pod: Pod) -> str:
        """Why nobody may go for a member of a gang; empty for any other pod, and if somebody may."""
        key = self._roster.gang_of(pod)
        if key is None or self._roster.minimum(key) is None:
            return ""
        return self._roster.why_nobody_goes(key)

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

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """Remember what the scheduler offers, whether or not there is a plan yet."""
        if self._controller.leading is not None:
            self._controller.leading.evidence.filter_called(pod, nodes)

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """The scheduler wants to preempt for a pod of a gang: it did not take what filter offered it, if it did."""
        PARKED.inc()
        if self._controller.leading is not None:
            self._controller.leading.evidence.preempt_called(pod, candidates)
            if (key := self._gang_of(pod)) is not None:
                self._controller.parked.note_member(pod, key)
        self._observe(pod, PreemptCalled(pod.metadata.uid, pod.metadata.name))

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """Whether a plan is made for this pod, for which the scheduler would break groups that go whole."""
        key, leading = self._roster.gang_of(pod), self._leading
        is_member = key is not None and self._roster.minimum(key) is not None
        if leading is None or is_member or not leading.preempts_alone(pod, candidates):
            return False
        PARKED.inc()
        return True

    def nothing_to_evict(self, pod: Pod, reasons: Mapping[str, str]) -> None:
        """Every node that the scheduler offered was struck out (reason per node)."""
        PARKED.inc()
        if PASSING.intersection(reasons.values()):
            self._controller.parked.note(pod, Why.RESERVED)
        elif UNKNOWN_VICTIM in reasons.values():  # our watch is behind: the scheduler has just seen it
            self._controller.parked.note(pod, Why.NOT_READY)
        if self._controller.leading is not None:
            self._controller.leading.reporter.nothing_to_evict(pod, list(reasons.values()))

    def _gang_of(self, pod: Pod) -> GroupKey | None:
        leading = self._controller.leading
        return leading.gang_of(pod) if leading is not None else self._roster.gang_of(pod)

    def _observe(self, pod: Pod, observation: Observation) -> None:
        key, leading = self._gang_of(pod), self._controller.leading
        gang: Gang | None = leading.gangs.get(key) if key is not None and leading is not None else None
        if leading is not None and gang is not None:
            leading.gangs.observe(gang, observation)
            if gang.life.plan is not None and gang.life.plan.turned_down:
                leading.nudge()


def _by_plan(plan: ActivePlan, pod: Pod) -> Hold | Offer:
    """What to do with a pod of a gang that has this plan."""
    member = plan.members.get(pod.metadata.uid)
    if plan.phase == "Ready" and member is not None:
        return Offer(member.node)
    return Hold(hold_text(plan.group, "Gathering" if plan.releases else plan.phase))
