"""The only one who deletes pods.

See docs/decisions/0004 and 0036.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from itertools import count
from typing import Final

import structlog

from api.plans import Victim, VictimPod
from controllers.gangs.evicting.job_stops import Stopping
from controllers.gangs.evicting.marking import Marking, said
from controllers.gangs.evicting.preparing import Preparing
from controllers.gangs.evicting.refused_evictions import (
    OverBudgetError,
    PausedError,
    lacks_right,
    refusal,
)
from controllers.gangs.evicting.rehearsals import Rehearsals
from controllers.gangs.evicting.rehearsing import Rehearsing
from controllers.gangs.evicting.runs import AT_ONCE, Permission, Run, Unit
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.metrics import EVICTIONS
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import spoken_pod
from controllers.gangs.telling.events import Reporter
from controllers.gangs.writing.pod_writer import Deletion, PodWriter
from kube.errors import ApiError
from runtime.failpoints import failpoint
from runtime.work.pace import Pace
from runtime.work.ranked_slots import Rank, RankedSlots

__all__ = ["Evictor"]

log = structlog.get_logger(__name__)

ALL_AT_ONCE: Final = 48
"""Pods of all plans that are evicted or rehearsed at a time, to begin with: few enough not to crowd others out. More
plans at the same time would all become slow, and pass their deadlines together. Marks of units count by themselves."""
CONFLICTS: Final = 5
"""How often a pod that others write to is marked again at once. After that, the next attempt to evict marks it."""


class Evictor:
    """Carries out a plan's evictions: per pod the condition DisruptionTarget, an event, and a delete.

    For a plan that respects budgets, it is an Eviction in place of the delete.

    The condition names the term, and the delete carries the UID and the resourceVersion that the pod had with it. So
    a delete of an earlier term, which is still on its way, fails once a later term has written the pod.
    Idempotent: pods that are gone, terminating or another pod by now are passed over, so a plan that was cut short
    anywhere is simply evicted again. A unit of several pods is stored as begun, and all its pods are marked, before
    its first pod is evicted. It is then finished. Upstream: kube-scheduler's preemption executor, plus the
    preconditions.
    """

    def __init__(
        self,
        pods: PodWriter,
        roster: Roster,
        reporter: Reporter,
        marking: Marking,
        stopping: Stopping,
        rehearsals: Rehearsals,
    ) -> None:
        self._pods, self._stopping, self.rehearsals = pods, stopping, rehearsals
        self._rehearsing = Rehearsing(pods, marking, rehearsals, self.remains)
        self._roster = roster
        self._reporter = reporter
        self._marking = marking
        self._asked: set[str] = set()
        """Pods (UIDs) whose deletion the API server has accepted. The mirror shows it a moment later."""
        self._slots, self._marking_slots = RankedSlots(ALL_AT_ONCE), RankedSlots(ALL_AT_ONCE)
        self._pace, self._at_work = Pace(), 0
        pods.failed = self._pace.failed
        self._preparing = Preparing(
            marking, stopping, self._pace, self._marking_slots, self.remains, self._refusal
        )
        self._runs = count()

    def remains(self, pod: VictimPod) -> bool:
        """Whether the victim still runs, and its deletion has not been asked for."""
        # A pod of a resumed plan that was not there then has no name: it is gone.
        asked = pod.uid in self._asked or not pod.name
        return not asked and self._roster.evictable(pod.uid) is not None

    def has_asked(self, uid: str) -> bool:
        """Whether the API server has accepted the deletion of the pod, and the mirror need not show it yet."""
        return uid in self._asked

    def may_end(self, pod: VictimPod) -> bool:
        """Whether the pod's namespace is enforced, or the pod belongs to a unit that has begun."""
        return self._pods.may_end(pod.namespace, pod.uid)

    def may_be_marked(self, pod: VictimPod) -> bool:
        """Whether the victim may have our mark, of this term or of an earlier one."""
        return self._marking.has(pod.uid)

    def marked(self, plan: ActivePlan) -> list[VictimPod]:
        """Victims of the plan that run, and may have our mark."""
        return [pod for pod in _pods(plan) if self.may_be_marked(pod) and self.remains(pod)]

    async def rehearse(self, plan: ActivePlan) -> Mapping[str, str]:
        """See `Rehearsing.rehearse`."""
        return await self._rehearsing.rehearse(plan, self._rank(plan, rehearsal=True), self._slots)

    async def evict(self, plan: ActivePlan, victims: Iterable[Victim], permission: Permission) -> bool:
        """Ask for the deletion of these victims of the plan. Returns whether that has been done for all of them.

        The first pod is evicted alone: if the API server refuses us or is away, no second one has been touched. Raises
        what a write raised, after all others have ended.
        """
        await failpoint("evict.before_first")
        self._forget_gone()
        units = [Unit(victim) for victim in victims]
        await self._marking.mark_anew(plan, [unit.victim for unit in units])
        whole = deque(unit.victim for unit in units if len(unit.victim.pods) > 1)
        run = Run(plan, permission, self._rank(plan, rehearsal=False), whole, coming=deque(units))
        if not self._at_work:
            self._pace.begin()
        self._at_work += 1
        try:
            faults = await self._walk(run)
        finally:
            self._at_work -= 1
        await self._tell_stopped(run)
        if faults:
            raise faults[0]
        await self.withdraw(self._preparing.marked_in_vain(run))
        await self._preparing.strike_untouched(run)
        return run.complete

    async def _walk(self, run: Run) -> list[BaseException]:
        """Begin one unit after the other, and wait for all deletions. Returns what was raised."""
        faults = list[BaseException]()
        try:
            while run.coming:
                await self._unit(run, run.coming[0])
                run.coming.popleft()
        except Exception as fault:
            run.stop()
            faults.append(fault)
        except BaseException:
            for task in run.all_tasks():
                task.cancel()
            raise
        finally:
            results = await asyncio.gather(*run.all_tasks(), return_exceptions=True)
            if run.evicted:
                self._reporter.preempted(run.plan, run.evicted)
        return faults + [result for result in results if isinstance(result, BaseException)]

    async def _tell_stopped(self, run: Run) -> None:
        for unit in run.units:
            if unit.why:
                left = [pod for pod in unit.victim.pods if self.remains(pod)]
                await self.withdraw(left)
                await run.permission.stopped(unit.victim, left, unit.why)

    def _forget_gone(self) -> None:
        self._asked = {uid for uid in self._asked if self._roster.evictable(uid) is not None}
        self._marking.forget_gone()

    async def withdraw(self, pods: Iterable[VictimPod]) -> bool:
        """Take our mark off pods that stay. Returns false if the API server did not answer for one of them."""
        return all([await self._marking.withdraw(pod.namespace, pod.name, pod.uid) for pod in pods])

    async def _unit(self, run: Run, unit: Unit) -> None:
        """Begin one unit; tasks evict its pods."""
        for pod in unit.victim.pods:
            if not self.remains(pod):
                continue
            if run.tasks:
                self._preparing.ahead(run)
            await self._acquire(run)
            try:
                goes_on = not (unit.why or run.paused) if unit.begun else await self._begin(run, unit)
            except BaseException:
                self._release(run)
                raise
            if not goes_on:
                self._release(run)
                run.stop()
                return
            is_first = not run.tasks
            run.tasks.append(asyncio.create_task(self._one(run, unit, pod)))
            if is_first:
                await asyncio.wait(run.tasks)
                if run.tasks[0].exception() is not None:
                    run.stop()
                    return

    async def _begin(self, run: Run, unit: Unit) -> bool:
        if not run.may_begin(unit.victim) or not await self._rehearse_due(run, unit.victim):
            return False
        if len(unit.victim.pods) > 1:
            if not await self._preparing.unit(run, unit) or not run.may_begin(unit.victim):
                return False
        elif not await self._stop_owners(run, unit.victim):
            return False
        unit.begun = True
        run.listed.discard(unit.victim.uid)
        run.units.append(unit)
        return True

    async def _rehearse_due(self, run: Run, victim: Victim) -> bool:
        """Ask about what may be refused since the plan was rehearsed. Returns false if the unit may not begin."""
        if run.permission.insists:
            return True
        begun = {unit.victim.uid for unit in run.units}
        asked, refused = await self._rehearsing.rehearse_due(
            run.plan, victim, begun, run.rank, self._marking_slots
        )
        for pod in asked:
            if pod.uid in refused:
                run.permission.refused(pod, refused[pod.uid])
        return not refused and (not asked or run.may_begin(victim))

    async def _stop_owners(self, run: Run, victim: Victim) -> bool:
        await self._stopping.before(victim, said(run.plan, victim))
        return run.may_begin(victim)

    async def _one(self, run: Run, unit: Unit, pod: VictimPod) -> None:
        try:
            if unit.why or run.paused:
                return
            why = run.permission.why_stays(pod)
            if not why:
                try:
                    why = await self._evict_pod(run, unit.victim, pod)
                    await failpoint("evict.between")
                    if why and not run.permission.why_stays(pod):
                        run.permission.refused(pod, why)
                except OverBudgetError as error:
                    why = str(error)
                    run.permission.over_budget(why)
            if why:
                unit.stop(why)
                run.stop()
        except PausedError:
            run.paused = True
            run.stop()
        finally:
            self._release(run)

    def _rank(self, plan: ActivePlan, *, rehearsal: bool) -> Rank:
        """Evictions come first, then the higher priority, then the plan that began first."""
        return int(rehearsal), -plan.spec.preemptor.priority, next(self._runs)

    async def _acquire(self, run: Run) -> None:
        for slots in (self._slots, self._marking_slots):
            slots.resize(self._pace.of(ALL_AT_ONCE))
        run.slots.resize(self._pace.of(AT_ONCE))
        await run.slots.acquire(run.rank)
        try:
            await self._slots.acquire(run.rank)
        except BaseException:
            run.slots.release()
            raise

    def _release(self, run: Run) -> None:
        run.slots.release()
        self._slots.release()

    async def _evict_pod(self, run: Run, victim: Victim, pod: VictimPod) -> str:
        """Ask for the deletion of one pod. Returns why it stays, else an empty text. Raises OverBudgetError, and
        PausedError."""
        if not self.remains(pod):
            return ""
        try:
            result = await self._delete(run, victim, pod)
        except ApiError as error:
            # An admission webhook, say: it would be refused until the plan's deadline, and every next plan's.
            return self._refusal(run, victim, pod, error)
        if result is Deletion.PAUSED:
            raise PausedError
        if result is Deletion.CHANGED:
            return run.permission.why_stays(pod)
        if result is Deletion.OVER_BUDGET:
            EVICTIONS.labels("over_budget").inc()
            raise OverBudgetError(
                f"a PodDisruptionBudget does not allow the eviction of {spoken_pod(pod, run.plan.namespace)}"
            )
        self._asked.add(pod.uid)
        self._marking.accepted(pod.uid)
        EVICTIONS.labels(result).inc()
        log.info(
            "evicted", plan=run.plan.name, namespace=pod.namespace, pod=pod.name, node=pod.node, result=result
        )
        return ""

    def _refusal(self, run: Run, victim: Victim, pod: VictimPod, error: ApiError) -> str:
        """Why the API server refuses the pod for good. Raises the error if another attempt may succeed.

        A right that is missing is waited for if the unit is in pieces.
        """
        in_pieces = len(victim.pods) > 1 and not all(map(self.remains, victim.pods))
        if lacks_right(error) and (run.permission.insists or in_pieces):
            raise error
        return refusal(run.plan, pod, error, EVICTIONS.labels("refused"))

    async def _delete(self, run: Run, victim: Victim, pod: VictimPod) -> Deletion:
        """Mark and delete, and again if somebody else has written the pod between the two. Raises ApiError.

        CHANGED: the pod may not be evicted as it is now. PAUSED: nor is any other pod for now.
        """
        version = self._marking.version(pod.uid)
        end = self._pods.evict_pod if run.plan.respects_budgets else self._pods.delete_pod
        for _ in range(CONFLICTS):
            if run.permission.is_paused():
                return Deletion.PAUSED
            if not version:
                with self._pace.timed():
                    marked = await self._marking.mark(run.plan, victim, pod)
                if marked is None or marked.leaves:
                    return Deletion.GONE
                version = marked.version
            await failpoint("evict.marked")
            with self._pace.timed():
                result = await end(
                    pod.namespace, pod.name, pod.uid, version, wanted=lambda: not run.permission.is_paused()
                )
            if result in (Deletion.DELETED, Deletion.GONE):
                run.evicted.add(pod.uid)
            if result is not Deletion.CHANGED or run.permission.why_stays(pod):
                return result
            version = ""
        where = f"pod {pod.namespace}/{pod.name}"
        raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"{where} is written by others all the time")


def _pods(plan: ActivePlan) -> list[VictimPod]:
    return [pod for victim in plan.spec.victims for pod in victim.pods]
