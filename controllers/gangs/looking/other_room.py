"""Room that kube-scheduler frees for one of its own gangs by its own rule, beside a plan of ours for that gang."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.looking.comparison import BEFORE_EVICTING
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPod, WaitingPods

__all__ = ["OtherRoom", "OtherRoomSeen"]


class OtherRoomSeen(NamedTuple):
    """See the fields of `PlanSeen` with these names."""

    other_room: str = ""
    last_mark: float = 0.0


class OtherRoom:
    """The scheduler does that while no process of ours answers, and where an answer of ours is lost.

    It shows in two ways. Members are nominated to other nodes. Or pods on planned nodes are marked that a driven plan
    has not evicted.
    """

    def __init__(self, roster: Roster, waiting: WaitingPods, marks: SchedulerMarks) -> None:
        self._roster, self._waiting, self._marks = roster, waiting, marks

    def look(self, plan: ActivePlan) -> OtherRoomSeen:
        """What the cluster shows of it now."""
        if not (plan.is_native or plan.is_steered) or plan.releases:
            return OtherRoomSeen()
        nodes = {member.node for member in plan.members.values()}
        unbound = self._roster.gang_members(
            plan.group
        ).unbound  # the scheduler may have taken others than planned
        nominated = [pod for uid in unbound if (pod := self._waiting.find(uid)) and pod.nominated]
        strays = [pod for pod in nominated if pod.nominated not in nodes and self._counts(plan, pod)]
        marked = self._marked(plan, nodes)
        if not strays and not marked:
            return OtherRoomSeen()
        nodes |= {pod.nominated for pod in strays}
        return OtherRoomSeen(_words(strays, marked), self._marks.last_on(nodes))

    def _counts(self, plan: ActivePlan, pod: WaitingPod) -> bool:
        """Whether the scheduler has nominated the pod. A plan of ours that has ended may have done so, too."""
        if pod.nominated == PULSE_NODE:
            return False
        if plan.taken_up is not None:
            return True
        return plan.made is not None and bool(self._marks.on(pod.nominated, since=plan.made))

    def _marked(self, plan: ActivePlan, nodes: Collection[str]) -> str:
        """A node of a driven plan with pods that the scheduler has evicted meanwhile; empty if there is none."""
        before = plan.phase in BEFORE_EVICTING
        if plan.is_steered or plan.taken_up is None or not (before or plan.resumed):
            return ""
        planned = frozenset[str]() if before else plan.victims
        return min((node for node in nodes if self._marks.on(node, since=0.0) - planned), default="")


def _words(strays: Collection[WaitingPod], marked: str) -> str:
    if strays:
        first = min(strays, key=lambda pod: pod.name)
        return f"kube-scheduler frees room for pod {first.name} on node {first.nominated}, which is not in the plan"
    return f"kube-scheduler has evicted pods on node {marked} by its own rule"
