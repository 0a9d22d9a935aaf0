"""Dry runs of marks and deletions: the API server checks them, and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set

from api.plans import Victim, VictimPod
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.evicting.refused_evictions import refusal
from controllers.gangs.evicting.rehearsals import Pods, Rehearsals
from controllers.gangs.evicting.runs import AT_ONCE
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.metrics import DRY_RUNS_REFUSED
from controllers.gangs.writing.pod_writer import PodWriter
from kube.errors import ApiError
from runtime.work.ranked_slots import Rank, RankedSlots

__all__ = ["Rehearsing"]


class Rehearsing:
    """Asks about the pods that `Rehearsals` names."""

    def __init__(
        self,
        pods: PodWriter,
        marking: Marking,
        rehearsals: Rehearsals,
        remains: Callable[[VictimPod], bool],
    ) -> None:
        """`remains`: whether the pod is still to be evicted."""
        self._pods, self._marking, self._rehearsals, self._remains = pods, marking, rehearsals, remains

    async def rehearse(self, plan: ActivePlan, rank: Rank, slots: RankedSlots) -> Mapping[str, str]:
        """Have the API server check the evictions of a plan before the first one.

        Returns the pods (UIDs) that it refuses, and why. Raises ApiError if it does not answer.
        """
        chosen = await self._rehearsals.choose(plan, self._remains)
        refused = await self._ask(plan, chosen.asked, rank, slots)
        more = chosen.alike(refused)
        refused |= await self._ask(plan, more, rank, slots)
        self._rehearsals.rehearsed(plan, chosen, more)
        return refused

    async def rehearse_due(
        self, plan: ActivePlan, unit: Victim, begun: Set[str], rank: Rank, slots: RankedSlots
    ) -> tuple[Sequence[VictimPod], Mapping[str, str]]:
        """Have it check what may be refused since then, before the unit begins. `begun`: units (UIDs) that have begun.

        Returns the pods that it was asked about, and the same as `rehearse`.
        """
        due = await self._rehearsals.due(plan, unit, begun)
        refused = await self._ask(plan, due.pods, rank, slots)
        if not refused:
            self._rehearsals.answered(plan, due)
        return [pod for _, pod in due.pods], refused

    async def _ask(self, plan: ActivePlan, pods: Pods, rank: Rank, all_slots: RankedSlots) -> dict[str, str]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(victim: Victim, pod: VictimPod) -> tuple[str, str]:
            async with slots, all_slots.held(rank):
                return pod.uid, await self._ask_about(plan, victim, pod)

        answers = await asyncio.gather(*(one(*each) for each in pods), return_exceptions=True)
        refused = {}
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            if answer[1]:
                refused[answer[0]] = answer[1]
        return refused

    async def _ask_about(self, plan: ActivePlan, victim: Victim, pod: VictimPod) -> str:
        """Returns why the API server would refuse the pod's mark or deletion for good, else an empty text."""
        if not self._remains(pod):
            return ""
        try:
            if await self._marking.rehearse(plan, victim, pod) is not None:
                # What a budget says now is asked again when the pod is evicted.
                end = self._pods.evict_pod if plan.respects_budgets else self._pods.delete_pod
                await end(pod.namespace, pod.name, pod.uid, dry_run=True)
        except ApiError as error:
            return refusal(plan, pod, error, DRY_RUNS_REFUSED)
        return ""
