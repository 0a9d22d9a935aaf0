"""What a unit of several pods needs before its first pod is evicted: it is stored as begun, and all pods are marked.

While one unit is evicted, the next ones are prepared. See docs/decisions/0147.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Final

from api.plans import Victim, VictimPod
from controllers.gangs.evicting.job_stops import Stopping
from controllers.gangs.evicting.marking import Marking, said
from controllers.gangs.evicting.runs import AT_ONCE, Run, Unit
from kube.errors import ApiError
from runtime.failpoints import failpoint
from runtime.work.pace import Pace
from runtime.work.ranked_slots import RankedSlots

__all__ = ["Preparing"]

BEGIN_AT_ONCE: Final = 16
"""Units of several pods that are stored as begun in one write. One without evicted pods needs no finishing."""

Refusal = Callable[[Run, Victim, VictimPod, ApiError], str]
"""Why the API server refuses the pod for good. Raises the error if another attempt may succeed."""


class Preparing:
    """Stores and marks units, the next one or some ahead."""

    def __init__(
        self,
        marking: Marking,
        stopping: Stopping,
        pace: Pace,
        slots: RankedSlots,
        remains: Callable[[VictimPod], bool],
        refusal: Refusal,
    ) -> None:
        """`slots`: of the marks of all plans. `remains`: whether a pod runs, and its deletion was not asked for."""
        self._marking, self._stopping, self._slots = marking, stopping, slots
        self._pace, self._remains, self._refusal = pace, remains, refusal

    async def unit(self, run: Run, unit: Unit) -> bool:
        """Prepare the unit that is next, unless that was done ahead. Returns whether it may begin."""
        if unit.preparation is None:
            self._start(run, unit)
        return unit.preparation is not None and await unit.preparation

    def ahead(self, run: Run) -> None:
        """Begin to prepare the units that come next: as many as have pods for all slots of the plan.

        The first pod of all is evicted alone, so nothing is prepared ahead before that. Nor is a unit whose owners must
        stop: they would not start again if it does not begin.
        """
        pods = 0
        for unit in run.coming:
            if run.stopped or pods >= self._pace.of(AT_ONCE):
                return
            if unit.begun:
                continue
            pods += len(unit.victim.pods)
            if len(unit.victim.pods) < 2 or unit.preparation is not None:
                continue
            if self._stopping.stops_somebody(unit.victim):
                return
            if any(map(self._remains, unit.victim.pods)):
                self._start(run, unit)

    def marked_in_vain(self, run: Run) -> list[VictimPod]:
        """Pods of units that this run has marked, and that do not begin. Marks that were there before stay, until the
        plan ends: they may be the evidence that the unit had begun."""
        units = (unit for unit in run.prepared if unit.is_ahead and not unit.was_marked)
        return [pod for unit in units for pod in unit.victim.pods if self._marking.has(pod.uid)]

    async def strike_untouched(self, run: Run) -> None:
        """The units that were stored as begun, and do not begin after all, are not to be finished."""
        if run.stopped and run.listed:
            await run.permission.begin([unit.victim for unit in run.units])

    def _start(self, run: Run, unit: Unit) -> None:
        unit.preparation = asyncio.create_task(self._prepare(run, unit))
        run.prepared.append(unit)

    async def _prepare(self, run: Run, unit: Unit) -> bool:
        if not await self._list(run, unit.victim):
            return False
        await self._stopping.before(unit.victim, said(run.plan, unit.victim))
        return run.may_begin(unit.victim) and await self._mark(run, unit)

    async def _list(self, run: Run, victim: Victim) -> bool:
        """Store that the unit and those after it have begun. Returns whether it may begin: the plan may have ended
        meanwhile."""
        async with run.listing:
            if victim.uid not in run.listed:
                if not run.may_begin(victim):
                    return False
                await self._list_begun(run, victim)
                await failpoint("evict.begun")
        return run.may_begin(victim)

    async def _list_begun(self, run: Run, victim: Victim) -> None:
        while run.unlisted[0].uid != victim.uid:
            run.unlisted.popleft()  # nobody of it is left
        ahead = list(islice(run.unlisted, BEGIN_AT_ONCE))
        begun = [unit.victim for unit in run.units]
        listed = [unit.victim for unit in run.prepared if unit.is_ahead and unit.victim.uid in run.listed]
        await run.permission.begin([*begun, *listed, *ahead])
        run.listed.update(each.uid for each in ahead)
        for _ in ahead:
            run.unlisted.popleft()

    async def _mark(self, run: Run, unit: Unit) -> bool:
        """Mark all pods of the unit. Whoever finishes it later knows by that that it was begun.

        Returns false if the unit may not begin after all.
        """
        unit.was_marked = any(self._marking.has(pod.uid) for pod in unit.victim.pods)
        left = [pod for pod in unit.victim.pods if self._remains(pod) and not self._marking.version(pod.uid)]
        at_once = self._pace.of(AT_ONCE)
        for pods in (left[:1], *(left[at : at + at_once] for at in range(1, len(left), at_once))):
            marks = (self._mark_pod(run, unit, pod) for pod in pods)
            faults = [fault for fault in await asyncio.gather(*marks, return_exceptions=True) if fault]
            if faults:
                raise faults[0]
            if unit.why:
                run.listed.discard(unit.victim.uid)
                run.units.append(unit)
                run.stop()
            if run.stopped:
                return False
        return run.may_begin(unit.victim)  # the plan may have ended meanwhile

    async def _mark_pod(self, run: Run, unit: Unit, pod: VictimPod) -> None:
        async with self._slots.held(run.rank):
            if run.stopped:
                return
            try:
                with self._pace.timed():
                    await self._marking.mark(run.plan, unit.victim, pod)
            except ApiError as error:
                why = self._refusal(run, unit.victim, pod, error)
                run.permission.refused(pod, why)
                unit.stop(why)
