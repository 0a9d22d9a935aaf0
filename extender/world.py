"""What the verbs may ask: the mirror, the gangs and the reservations as they are at the moment of the call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from api.core import Pod
from controllers.gangs.events import Reporter
from controllers.gangs.gangs import TURNED_DOWN_SECONDS, Gangs
from controllers.gangs.marks import HOLD_MARK
from controllers.gangs.plans import ActivePlan
from controllers.gangs.release import Waker
from controllers.gangs.roster import Roster, group_of
from extender.metrics import PARKED
from extender.verbs import Hold, Offer, PodView

__all__ = ["LiveWorld"]

STARTING = HOLD_MARK + "not ready, pod groups wait"


class LiveWorld:
    """`extender.verbs.World` over the live mirror; runs on the event loop, between the planner's steps."""

    def __init__(
        self,
        roster: Roster,
        gangs: Gangs,
        waker: Waker,
        reporter: Reporter,
        ready: Callable[[], bool],
        nudge: Callable[[], None],
    ) -> None:
        self._roster, self._gangs, self._waker, self._reporter = roster, gangs, waker, reporter
        self._ready, self._nudge = ready, nudge
        self.now: Callable[[], float] = time.monotonic

    @property
    def ready(self) -> bool:
        """Whether the mirror may be trusted; without it nobody is evicted and pods of groups wait."""
        return self._ready()

    def verdict(self, pod: Pod) -> Hold | Offer | None:
        """What to do with a pod of a gang; None for a pod that is to be treated as an ordinary one."""
        key = group_of(pod)
        if key is None:
            return None
        if not self._ready():
            return Hold(STARTING)
        group = self._roster.group(key)
        if group is None:
            self._reporter.unknown_group(pod, key)
            return Hold(f"{HOLD_MARK}there is no PodGroup {'/'.join(key)}")
        if group.spec.scheduling_policy.gang is None:
            return None
        gang = self._gangs.gather(key)
        if gang.plan is None:
            return None if self._gangs.is_satisfied(gang) else Hold(gang.hold_text)
        member = gang.plan.members.get(pod.metadata.uid)
        if gang.plan.phase != "Ready" or member is None:
            return Hold(gang.hold_text)
        return Offer(member.node)

    def offered(self, pod: Pod, *, among: bool) -> None:
        """Note what the scheduler does with its chance: to bind the pod, or to find its node unfit again and again."""
        plan, uid = self._plan_of(pod), pod.metadata.uid
        if plan is None:
            return
        if among:
            message = next((c.message for c in pod.status.conditions or [] if c.type == "PodScheduled"), "")
            plan.offered.setdefault(uid, (self.now(), message))
            plan.missed.pop(uid, None)
        elif self.now() - plan.missed.setdefault(uid, self.now()) > TURNED_DOWN_SECONDS:
            plan.turned_down = f"the scheduler's own filters keep pod {pod.metadata.name} off its node"
            self._nudge()

    def held(self, pod: Pod) -> None:
        """Filter turned the pod down because of its own gang."""
        self._waker.hold(group_of(pod), pod)

    def kept_out(self, pod: Pod) -> None:
        """Filter kept the pod out of reserved room, which other groups' plans give back."""
        self._waker.hold(None, pod)

    def priority(self, pod: Pod) -> int:
        """The pod's priority: its group's, if it has one."""
        key = group_of(pod)
        priority = self._roster.group_priority(key) if key is not None else None
        return (pod.spec.priority or 0) if priority is None else priority

    def free(self, node: str, resource: str) -> int:
        """Allocatable less what pods hold that are not terminating."""
        return self._roster.free(node, resource)

    def bound(self, uid: str) -> PodView | None:
        """The bound pod of this UID, None if there is none."""
        claim = self._roster.staying(uid)
        if claim is None:
            node = self._roster.leaving(uid)
            return PodView(node, 0, unit_is_group=False, leaving=True) if node is not None else None
        priority = self._roster.unit_priority(uid)
        if priority is None:
            return None
        return PodView(claim.node, priority, self._roster.all_mode_group(uid) is not None)

    def preempt_called(self, pod: Pod) -> None:
        """The scheduler wants to preempt for a pod of a gang: it did not take what filter offered it, if it did."""
        PARKED.inc()
        plan = self._plan_of(pod)
        if plan is not None and pod.metadata.uid in plan.offered:
            plan.turned_down = f"the scheduler found no room for pod {pod.metadata.name} on its node"
            self._nudge()

    def nothing_to_evict(self, pod: Pod, reasons: Mapping[str, str]) -> None:
        """Every node that the scheduler offered was struck out (reason per node)."""
        PARKED.inc()
        self._reporter.nothing_to_evict(pod, list(reasons.values()))

    def _plan_of(self, pod: Pod) -> ActivePlan | None:
        """The plan that is being carried out for the pod's gang."""
        key = group_of(pod)
        gang = self._gangs.get(key) if key is not None else None
        return gang.plan if gang is not None else None
