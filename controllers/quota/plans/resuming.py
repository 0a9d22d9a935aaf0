"""What a new term resumes: the plans that a former term was carrying out.

An old leader may have sent evictions that have not arrived. So every victim that a stored plan could still evict is
written first, with our word for the new term. Then what the old term sends is refused (409): its writes carry the
resourceVersion that it had read. Only after that each plan is compared with the cluster, and goes on or ends.

See docs/decisions/0041.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.kueue import API_VERSION
from api.times import rfc3339_micro
from api.workloads import Workload
from controllers.quota.life.plan_life import Ending
from controllers.quota.life.planned import Planned, with_names
from controllers.quota.plans.plan_look import Cluster, holds_same
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.plans.stored_plans import StoredPlans
from controllers.quota.workloads.writer import path_of
from kube.conditions import ConditionWriter, Target
from kube.errors import ApiError
from kube.retry import Retry
from quota.state.workloads import is_evicting, key_of
from runtime.plans.plan_writer import decoded
from runtime.terms.term import Term

__all__ = ["FENCED", "Fence", "Resuming"]

log = structlog.get_logger(__name__)

FENCED: Final = "reprieve.dev/Fenced"
"""The condition of a Workload that a new term has written before it resumed a plan that evicts it. It stays."""
AT_ONCE: Final = 16
"""Writes in flight."""
BACKOFF: Final = Backoff(0.2, 5.0)

OLDER: Final = Ending("Aborted", "Replaced", "a later plan for the same preemptor has taken its place")


class Fence:
    """Writes victims so that no write of a former term can change them."""

    def __init__(
        self,
        writer: ConditionWriter,
        apply: Callable[[Workload], object],
        term: Term,
        clock: Clock,
        *,
        backoff: Backoff = BACKOFF,
    ) -> None:
        """`apply` gets each Workload as the API server answers: it is newer than what the watch shows."""
        self._writer, self._apply, self._backoff = writer, apply, backoff
        # A process may begin to act more than once in a term.
        self._message = (
            "writes of former terms are refused from now on "
            f"[term {term.number} of {term.holder}, {rfc3339_micro(clock.wall())}]"
        )
        self._room = asyncio.Semaphore(AT_ONCE)

    async def write_all(self, workloads: Iterable[Workload]) -> None:
        """Write all of them, however long that takes: nobody may be evicted before.

        Those that are gone are passed over, and those that the API server lets nobody write.
        """
        async with asyncio.TaskGroup() as tasks:
            for each in workloads:
                tasks.create_task(self._write(each))

    async def _write(self, workload: Workload) -> None:
        meta, retry = workload.metadata, Retry(self._backoff)
        target = Target(
            path=path_of(workload),
            api_version=API_VERSION,
            kind="Workload",
            metadata=meta,
            conditions=workload.status.conditions or (),
        )
        while True:
            try:
                async with self._room:
                    body = await self._writer.write(target, FENCED, "True", "TermBegan", self._message)
            except ApiError as error:
                wait = retry.failed(error)
                if not error.is_retriable and error.status != 409:
                    # A former term may not write it, either.
                    log.warning("a victim cannot be fenced", workload=key_of(workload), error=str(error))
                    return
            else:
                if body is not None:
                    self._apply(decoded(body, Workload))
                return
            await asyncio.sleep(wait)


class Resuming:
    """Resumes stored plans, once, at the begin of a term. The views must be as new as the API server."""

    def __init__(
        self,
        stored: StoredPlans,
        plans: QuotaPlans,
        cluster: Cluster,
        fence: Callable[[Iterable[Workload]], Awaitable[None]],
    ) -> None:
        self._stored, self._plans, self._cluster, self._fence = stored, plans, cluster, fence

    async def resume(self, workloads: Iterable[Workload]) -> None:
        """Fence all victims, then take the plans over: each goes on, or its end is stored.

        `workloads`: all that exist.
        """
        active = [each.plan for each in self._stored if each.plan is not None]
        keys = {each.metadata.uid: key_of(each) for each in workloads} if active else {}
        plans = [with_names(plan, keys) for plan in active]
        await self._fence(list(self._in_reach(plans)))
        current = newest(plans)
        for plan in sorted(plans, key=lambda plan: (plan.decided, plan.key)):
            is_current = current[plan.preemptor] is plan
            self._plans.take_over(plan, None if is_current else OLDER)
        self._plans.look_at_all()

    def _in_reach(self, plans: Iterable[Planned]) -> Iterable[Workload]:
        """The victims whose eviction may still be on its way. Each comes once.

        A victim that is evicted, or has given its quota back, was written after the old term had read it.
        """
        found: dict[str, Workload] = {}
        for plan in plans:
            for uid, victim in plan.victims.items():
                workload = self._cluster.find(victim.key, uid)
                if workload is None or is_evicting(workload):
                    continue
                if holds_same(victim, workload):
                    found[uid] = workload
        log.info("victims of stored plans are fenced", workloads=sorted(map(key_of, found.values())))
        return found.values()


def newest(plans: Iterable[Planned]) -> dict[str, Planned]:
    """The current plan of each preemptor (key): the one that was decided last."""
    current: dict[str, Planned] = {}
    for plan in sorted(plans, key=lambda plan: (plan.decided, plan.key)):
        current[plan.preemptor] = plan
    return current
