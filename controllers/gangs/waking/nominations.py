"""Withdraws nominations of members that wait without a plan for them: the scheduler keeps that room from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPod, WaitingPods
from controllers.gangs.waking.waker import Waker

__all__ = ["Nominations"]


class Nominations:
    """Of the members of gangs, whoever made them. What cannot be withdrawn now is withdrawn later."""

    def __init__(self, waiting: WaitingPods, roster: Roster, evidence: Evidence, waker: Waker) -> None:
        self._waiting, self._roster, self._evidence, self._waker = waiting, roster, evidence, waker

    def __len__(self) -> int:
        """Pods that have a nomination."""
        return len(self._waiting.nominated)

    async def withdraw_others(self, plan: ActivePlan) -> None:
        """Of the gang's members that the plan does not place."""
        members = (member.uid for member in self._roster.members(plan.group))
        others = (self._waiting.find(uid) for uid in members if uid not in plan.members)
        await self._withdraw(pod for pod in others if pod is not None)

    async def withdraw_left(self, keeps: Callable[[GroupKey], bool]) -> None:
        """Of the pods of every group that does not keep them: no plan will use that room."""
        await self._withdraw(pod for pod in self._waiting.nominated if not self._is_kept(pod, keeps))

    def _is_kept(self, pod: WaitingPod, keeps: Callable[[GroupKey], bool]) -> bool:
        view = self._roster.candidate(pod.uid)
        return view is None or view.group is None or keeps(view.group)

    async def _withdraw(self, pods: Iterable[WaitingPod]) -> None:
        found = [pod for pod in pods if pod.nominated not in ("", PULSE_NODE)]
        for pod in found:
            self._evidence.withdrawing(pod.uid)
        await self._waker.withdraw(found)
