"""What a look at a native gang's plan sees besides: nominations, what kube-scheduler marks, and its next attempt."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from api.groups import INITIALLY_SCHEDULED
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.plan_seen import SteeredSeen
from controllers.gangs.looking.other_room import OtherRoom
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.scheduler.attempts import Estimate

__all__ = ["SteeredLook"]

PREEMPTS: Final = "found a placement for podgroup, preempting"
"""Part of the condition's message if the scheduler preempts for the group. Tried on 1.37.1."""


class SteeredLook:
    """Looks at plans of native gangs. Most of what it sees concerns those by which the scheduler evicts."""

    def __init__(
        self,
        roster: Roster,
        waiting: WaitingPods,
        marks: SchedulerMarks,
        estimate: Callable[[GroupKey, float | None], Estimate],
    ) -> None:
        self._roster, self._waiting, self._marks, self._estimate = roster, waiting, marks, estimate
        self._other = OtherRoom(roster, waiting, marks)

    def look(self, plan: ActivePlan, unbound: Collection[str]) -> SteeredSeen:
        """`unbound`: UIDs of the planned members that wait."""
        other = self._other.look(plan)
        if not plan.is_steered:
            return SteeredSeen(other_room=other.other_room, last_mark=other.last_mark)
        answer, attempt = self._answer(plan.group), self._estimate(plan.group, plan.opened)
        return SteeredSeen(
            has_nominations=all(self._is_nominated(plan, uid) for uid in unbound),
            marked=frozenset(uid for uid in plan.victims if self._is_marked(plan, uid)),
            unplanned=self._unplanned(plan),
            next_attempt=attempt.latest,
            attempt_known=attempt.is_known,
            answer=answer,
            preempts=PREEMPTS in answer,
            other_room=other.other_room,
            last_mark=other.last_mark,
        )

    def _answer(self, key: GroupKey) -> str:
        group = self._roster.group(key)
        said = (group.status.conditions if group is not None and group.status is not None else None) or ()
        return next((each.message for each in said if each.type == INITIALLY_SCHEDULED), "")

    def _is_nominated(self, plan: ActivePlan, uid: str) -> bool:
        pod = self._waiting.find(uid)
        return pod is None or pod.nominated == plan.members[uid].node

    def _is_marked(self, plan: ActivePlan, uid: str) -> bool:
        """A victim may be gone before its mark is seen."""
        left = plan.handed_over is not None and self._roster.evictable(uid) is None
        return left or uid in self._marks

    def _unplanned(self, plan: ActivePlan) -> frozenset[str]:
        if plan.opened is None or not (plan.begun or plan.handed_over is not None):
            return frozenset()
        nodes, since = {member.node for member in plan.members.values()}, plan.opened
        return (
            frozenset(uid for node in nodes for uid in self._marks.ever_on(node, since=since)) - plan.victims
        )
