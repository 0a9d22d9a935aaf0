"""The only one who deletes pods.

See docs/decisions/0004.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

import structlog

from api.plans import Preemptor, Victim, VictimPod
from controllers.gangs.events import Reporter
from controllers.gangs.life import ActivePlan
from controllers.gangs.metrics import EVICTIONS
from controllers.gangs.roster import Roster
from controllers.gangs.writer import Deletion, Writer
from kube.client import ApiError
from runtime.failpoints import failpoint

__all__ = ["Evictor", "Permission"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16
"""Pods being evicted at a time: enough to hide the API server's latency, few enough not to crowd others out."""
NO_LONGER_LOWER: Final = "it has no lower priority any longer"


class Permission(Protocol):
    """What the evictor asks before it acts, and where it tells what came of it."""

    def may_evict(self, pod: VictimPod) -> bool:
        """Whether a unit may begin with this pod."""

    def may_finish(self, pod: VictimPod) -> bool:
        """Whether the pod of a unit that has begun may still go. Asked right before each pod."""

    async def begin(self, victim: Victim) -> None:
        """Store that the unit has begun. Raises an error if it cannot be stored: nobody of the unit goes then."""

    async def refused(self, victim: Victim, pod: VictimPod, why: str) -> None:
        """The pod stays."""


@dataclass(slots=True)
class _Unit:
    victim: Victim
    begun: bool = False
    stopped: bool = False
    """One of its pods stays."""


@dataclass(slots=True)
class _Run:
    """One walk through victims."""

    plan: ActivePlan
    permission: Permission
    complete: bool = True
    """Every deletion has been asked for."""
    stopped: bool = False
    """No unit begins any longer."""
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def stop(self) -> None:
        """Somebody stays: begin no other unit."""
        self.complete, self.stopped = False, True


class Evictor:
    """Carries out a plan's evictions: per pod the condition DisruptionTarget, an event, a delete with UID precondition.

    Idempotent: pods that are gone, terminating or another pod by now are passed over, so a plan that was cut short
    anywhere is simply evicted again. A unit of several pods is stored as begun before its first pod goes, and is then
    finished. Upstream: kube-scheduler's preemption executor, plus the UID precondition.
    """

    def __init__(self, writer: Writer, roster: Roster, reporter: Reporter) -> None:
        self._writer = writer
        self._roster = roster
        self._reporter = reporter

    async def rehearse(self, plan: ActivePlan) -> Mapping[str, str]:
        """Have the API server check every mark and deletion, and change nothing.

        Returns the pods (UIDs) that it refuses, and why. Raises ApiError if it does not answer.
        """
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(victim: Victim, pod: VictimPod) -> tuple[str, str]:
            async with slots:
                return pod.uid, await self._evict_pod(plan, victim, pod, dry_run=True)

        pods = [(victim, pod) for victim in plan.spec.victims for pod in victim.pods]
        answers = await asyncio.gather(*(one(*each) for each in pods), return_exceptions=True)
        refused = {}
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            if answer[1]:
                refused[answer[0]] = answer[1]
        return refused

    async def evict(self, plan: ActivePlan, victims: Iterable[Victim], permission: Permission) -> bool:
        """Ask for the deletion of these victims of the plan. Returns whether that has been done for all of them.

        The first pod goes alone: if the API server refuses us, no second one has been touched. Raises what a write
        raised, after all others have ended.
        """
        await failpoint("evict.before_first")
        run = _Run(plan, permission)
        try:
            for victim in victims:
                await self._unit(run, victim)
        finally:
            results = await asyncio.gather(*run.tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return run.complete

    async def _unit(self, run: _Run, victim: Victim) -> None:
        """Begin one unit; its pods go in tasks."""
        unit = _Unit(victim)
        for pod in victim.pods:
            await run.slots.acquire()
            try:
                goes_on = not unit.stopped if unit.begun else await self._begin(run, unit, pod)
            except BaseException:
                run.slots.release()
                raise
            if not goes_on:
                run.slots.release()
                run.stop()
                return
            is_first = not run.tasks
            run.tasks.append(asyncio.create_task(self._one(run, unit, pod)))
            if is_first:
                await asyncio.wait(run.tasks)

    async def _begin(self, run: _Run, unit: _Unit, pod: VictimPod) -> bool:
        if run.stopped or not run.permission.may_evict(pod):
            return False
        unit.begun = True
        if len(unit.victim.pods) > 1:
            await run.permission.begin(unit.victim)
            await failpoint("evict.begun")
        return True

    async def _one(self, run: _Run, unit: _Unit, pod: VictimPod) -> None:
        try:
            why = "" if run.permission.may_finish(pod) else NO_LONGER_LOWER
            if not why:
                why = await self._evict_pod(run.plan, unit.victim, pod)
                await failpoint("evict.between")
            if why:
                unit.stopped = True
                run.stop()
                await self._writer.unmark_disruption_target(pod.namespace, pod.name, pod.uid)
                await run.permission.refused(unit.victim, pod, why)
        finally:
            run.slots.release()

    async def _evict_pod(
        self, plan: ActivePlan, victim: Victim, pod: VictimPod, *, dry_run: bool = False
    ) -> str:
        """Ask for the deletion of one pod. Returns why the API server refuses it for good, else an empty text."""
        if self._roster.evictable(pod.uid) is None:
            return ""
        said = _said(plan.spec.preemptor, victim)
        where = pod.namespace, pod.name, pod.uid
        result = Deletion.GONE
        try:
            if await self._writer.mark_disruption_target(*where, said, dry_run=dry_run):
                if not dry_run:
                    self._reporter.preempted(plan, victim, pod)
                result = await self._writer.delete_pod(*where, dry_run=dry_run)
        except ApiError as error:
            if error.is_retriable or error.status == HTTPStatus.UNAUTHORIZED:
                raise
            # An admission webhook, say: it would be refused until the plan's deadline, and every next plan's.
            EVICTIONS.labels("refused").inc()
            return f"pod {pod.namespace}/{pod.name} cannot be evicted: {error}"
        if not dry_run:
            EVICTIONS.labels(result).inc()
            log.info(
                "evicted", plan=plan.name, namespace=pod.namespace, pod=pod.name, node=pod.node, result=result
            )
        return ""


def _said(preemptor: Preemptor, victim: Victim) -> str:
    """The message of a victim's condition."""
    who = f"{preemptor.kind} {preemptor.namespace}/{preemptor.name}"
    said = f"{who} (priority {preemptor.priority}) preempts this pod"
    if victim.kind == "PodGroup":
        said += f" with all of PodGroup {victim.namespace}/{victim.name}"
    return said
