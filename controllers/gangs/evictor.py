"""The only one who deletes pods.

See docs/decisions/0004.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import structlog

from api.plans import Victim, VictimPod
from controllers.gangs.events import Reporter
from controllers.gangs.life import ActivePlan
from controllers.gangs.metrics import EVICTIONS
from controllers.gangs.roster import Roster
from controllers.gangs.writer import Deletion, Writer
from kube.client import ApiError
from runtime.failpoints import failpoint

__all__ = ["Evictor"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16
"""Pods being evicted at a time: enough to hide the API server's latency, few enough not to crowd others out."""


class Evictor:
    """Carries out a plan's evictions: per pod the condition DisruptionTarget, an event, a delete with UID precondition.

    Idempotent: pods that are gone, terminating or another pod by now are passed over, so a plan that was cut short
    anywhere is simply evicted again. A deletion that is refused for good ends the plan. Upstream: kube-scheduler's
    preemption executor, plus the UID precondition.
    """

    def __init__(self, writer: Writer, roster: Roster, reporter: Reporter) -> None:
        self._writer = writer
        self._roster = roster
        self._reporter = reporter

    async def evict(
        self,
        plan: ActivePlan,
        *,
        may_evict: Callable[[VictimPod], bool],
        refused: Callable[[str, str], None],
    ) -> bool:
        """Ask for the deletion of every victim. Returns whether that has been done for all of them.

        `may_evict` is asked right before each pod. `refused` is told of a pod (UID) that the API server does not
        delete, and why.

        The first pod goes alone: if the API server refuses us, no second one has been touched.
        """
        pods = [(victim, pod) for victim in plan.spec.victims for pod in victim.pods]
        await failpoint("evict.before_first")
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(victim: Victim, pod: VictimPod) -> bool:
            async with slots:
                if not may_evict(pod):
                    return False
                why = await self._evict_pod(plan, victim, pod)
                if why:
                    refused(pod.uid, why)
                await failpoint("evict.between")
                return not why

        for victim, pod in pods[:1]:
            if not await one(victim, pod):
                return False
        results = await asyncio.gather(*(one(*each) for each in pods[1:]), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return all(results)

    async def _evict_pod(self, plan: ActivePlan, victim: Victim, pod: VictimPod) -> str:
        """Ask for the deletion of one pod. Returns why the API server refuses it for good, else an empty text."""
        if self._roster.evictable(pod.uid) is None:
            return ""
        preemptor = plan.spec.preemptor
        whom = f"{preemptor.kind} {preemptor.namespace}/{preemptor.name}"
        said = f"{whom} (priority {preemptor.priority}) preempts this pod"
        if victim.kind == "PodGroup":
            said += f" with all of PodGroup {victim.namespace}/{victim.name}"
        try:
            marked = await self._writer.mark_disruption_target(pod.namespace, pod.name, pod.uid, said)
            if marked:
                self._reporter.preempted(plan, victim, pod)
                result = await self._writer.delete_pod(pod.namespace, pod.name, pod.uid)
            else:
                result = Deletion.GONE
        except ApiError as error:
            if error.is_retriable or error.status == HTTPStatus.UNAUTHORIZED:
                raise
            # An admission webhook, say: it would be refused until the plan's deadline, and every next plan's.
            EVICTIONS.labels("refused").inc()
            return f"pod {pod.namespace}/{pod.name} cannot be evicted: {error}"
        EVICTIONS.labels(result).inc()
        log.info(
            "evicted", plan=plan.name, namespace=pod.namespace, pod=pod.name, node=pod.node, result=result
        )
        return ""
