"""All that acts in one term of the quota controller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from api.clock import Clock
from api.plans import PreemptionPlan
from api.workloads import Workload
from controllers.quota.configuration import QuotaConfiguration
from controllers.quota.life.around import Limits
from controllers.quota.life.draft import Step
from controllers.quota.plans.lives import PlanRules
from controllers.quota.plans.need import Need
from controllers.quota.plans.passers import Passers
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.plans.proposals import Proposals
from controllers.quota.plans.resuming import Fence, Resuming
from controllers.quota.plans.resumption import Resumption
from controllers.quota.plans.stored_plans import PlanStore, StoredPlans
from controllers.quota.queues.finalizers import QueueFinalizers
from controllers.quota.queues.queue_statuses import QueueStatuses, QueueViews
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.consequences import Consequences
from controllers.quota.scheduling.cycles import Cycles
from controllers.quota.scheduling.preemptions import Preemptions
from controllers.quota.scheduling.scheduling import Scheduling
from controllers.quota.scheduling.texts import Texts
from controllers.quota.workloads.facts import Facts
from controllers.quota.workloads.following import Following
from controllers.quota.workloads.looking import BACKOFF, Looking
from controllers.quota.workloads.shown import Shown
from controllers.quota.workloads.writer import Outcome, WorkloadWriter
from kube.client import ApiClient
from kube.conditions import ConditionWriter
from kube.recorder import EventRecorder
from kube.sender import Sender
from quota.search.decision import Options
from quota.state.statuses import Tally
from quota.state.workloads import holds_quota, key_of
from runtime.exchange.placements import Placements
from runtime.exchange.reports import Reports
from runtime.mirror.readiness import interrupted
from runtime.mirror.watched_quota import WatchedQuota
from runtime.plans.plan_retention import Retention
from runtime.plans.plan_writer import PlanWriter
from runtime.terms.term import Term
from runtime.work.queue import KeyedQueue
from runtime.work.ranked_slots import RankedSlots
from runtime.work.search_thread import SearchThread

__all__ = ["Known", "Leading"]

SECOND: Final = 1_000_000
WITHOUT_WATCH_SECONDS: Final = 1.0
"""A watch that ends comes back within this time. If not, quota may have changed unseen, and nothing is admitted."""


@dataclass(frozen=True, slots=True)
class Known:
    """What every process knows: projections of watched objects."""

    quota: WatchedQuota
    tally: Tally
    queues: QueueViews
    plans: StoredPlans
    reports: Reports
    apply_plan: Callable[[PreemptionPlan], object]
    """Take a plan that the API server has answered with, before the watch shows it."""
    placements: Placements | None
    """The nodes plane; None if it is not in this process."""
    nodes_changed: Callable[[], None]
    """Nodes or pods have changed. Called while this process leads."""


class Leading:
    """State that ends with the term."""

    def __init__(
        self,
        known: Known,
        settings: QuotaConfiguration,
        search: SearchThread[Options],
        client: ApiClient,
        term: Term,
        clock: Clock,
        admitted_by_others: Callable[[Workload], None],
    ) -> None:
        """`admitted_by_others` is called for a Workload that got quota, and not from us."""
        quota, state, options = known.quota, known.quota.state, search.settings
        self._known, self._clock, self._admitted_by_others = known, clock, admitted_by_others
        sender, once = Sender(client, fence=term), Sender(client, attempts=1, fence=term)
        self._recorder = EventRecorder(sender, clock=clock)
        self._stirred = asyncio.Event()
        """Another cycle may have another answer."""
        self._limits = _limits(settings)
        self._look = look = KeyedQueue[str](backoff=BACKOFF, clock=clock)
        self._following = Following(state, look, self.now, self._stirred.set)
        slots = RankedSlots(settings.writes_in_flight)
        self._writer = WorkloadWriter(client, quota, once, slots, clock, self._written, self._is_called_off)
        self._cluster = Shown(quota)
        store = _plan_store(known, settings, PlanWriter(client, sender), clock)
        deadline = round(settings.plan_deadline_seconds * SECOND)
        self._plans = QuotaPlans(
            store,
            self._cluster,
            PlanRules(options, deadline),
            clock,
            look.add,
            self._plan_changed,
            Need(state),
        )
        self._proposals = Proposals(store, state, clock, self._following.freed)
        fence = Fence(ConditionWriter(sender, clock=clock), quota.workloads.apply, term, clock)
        self._resuming = Resuming(known.plans, self._plans, self._cluster, fence.write_all)
        self._facts = Facts(
            state,
            self._plans.preemption_of,
            self._plans.preempting_of,
            known.reports,
            quota.pauses.why,
        )
        self._looking = Looking(
            self._facts,
            self._following,
            self._recorder,
            self._limits,
            look,
            self.now,
            self._plans.not_evicted,
        )
        self._passers = Passers(state.workloads)
        self._agreement = Agreement(
            known.placements,
            options,
            self.now,
            self._stirred.set,
            self._following.freed,
            known.nodes_changed,
            clock,
        )
        self._scheduling = self._scheduler(search)
        self._statuses = QueueStatuses(
            state,
            known.tally,
            self._following.pending,
            known.queues,
            sender,
            clock,
            fair_sharing=options.fair_sharing,
        )
        self._resumption = Resumption(
            quota.pauses, self._plans, lambda: [*state.queues], self._plan_changed, self._look_at_taken_back
        )
        self._finalizers = QueueFinalizers(state, known.tally, known.queues.changes, sender, clock)

    def _scheduler(self, search: SearchThread[Options]) -> Scheduling:
        """The cycles, over all that was made before."""
        quota, following, writer = self._known.quota, self._following, self._writer
        texts = Texts(self._facts, writer, self._look.add, self.now, self._limits.reason)
        preemptions = Preemptions(
            quota.state, self._plans, self._proposals, self._passers, self._agreement, self.now
        )
        return Scheduling(
            following,
            Cycles(quota, following.pending, preemptions, writer.is_busy, search, self.now),
            Consequences(quota.state, following, preemptions, texts, writer, self.now),
            texts,
            self._stirred,
            interrupted(quota.views, WITHOUT_WATCH_SECONDS),
        )

    def now(self) -> int:
        """Microseconds since 1970."""
        return round(self._clock.wall() * SECOND)

    async def run(self) -> None:
        """Act until cancelled. The views must be as new as the API server."""
        self._following.begin()
        await self._resuming.resume(self._known.quota.state.workloads.values())
        self._proposals.begin()
        reports = self._known.reports
        with reports.workloads.told(self._look.add), reports.dispatched.told(self._look.add):
            await self._act()

    async def _act(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._looking.run(self._writer), name="quota looks")
            tasks.create_task(self._scheduling.run(), name="quota cycles")
            tasks.create_task(self._plans.run(), name="quota plans")
            tasks.create_task(self._proposals.run(), name="proposed plans")
            tasks.create_task(self._resumption.run(), name="pauses")
            tasks.create_task(self._agreement.run(), name="Workloads without a place on nodes")
            tasks.create_task(self._statuses.run(), name="queue statuses")
            tasks.create_task(self._finalizers.run(), name="queue finalizers")

    async def close(self) -> None:
        """Nothing acts any longer."""
        await self._agreement.close()
        await self._writer.close()
        await self._plans.close()
        await self._proposals.close()
        await self._recorder.close()

    # ---- what happens

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """See `runtime.mirror.watched_quota.WorkloadHook`."""
        self._facts.changed(key, before, after)
        if after is not None and self._is_foreign_admission(key, before, after):
            self._judge_foreign(after)
        self._plans.workload_changed(key, before, after)
        self._proposals.workload_changed(key, before, after)
        self._agreement.workload_changed(key, after)
        self._following.workload_changed(key, before, after)
        if before is not None:
            self._passer_changed(before, after)

    def _passer_changed(self, before: Workload, after: Workload | None) -> None:
        if after is None:
            self._passers.forget(before.metadata.uid)
        if self._passers.has_waited(before, after):
            self._following.freed(self._cluster.queue_of(before))

    def _is_foreign_admission(self, key: str, before: Workload | None, after: Workload) -> bool:
        had = before is not None and holds_quota(before)
        return holds_quota(after) and not had and not self._writer.is_ours(key)

    def _judge_foreign(self, workload: Workload) -> None:
        """Somebody else has admitted the Workload: a former leader, or another manager."""
        self._admitted_by_others(workload)
        if not self._known.quota.state.fits_beside_others(key_of(workload)):
            self._facts.take_back(
                workload, "Admitted by a process that does not lead, beyond the quota that is left"
            )

    def _look_at_taken_back(self) -> None:
        for key in [*self._facts.taken_back]:
            self._look.add(key)

    def freed(self, queue: str) -> None:
        """Quota of the ClusterQueue has come back, and not from a Workload that is known."""
        self._following.freed(queue)

    def object_changed(self, kind: str, key: str) -> None:
        """See `runtime.mirror.watched_quota.ObjectHook`."""
        self._following.object_changed(kind, key)
        self._proposals.queues_changed()

    def _is_called_off(self, key: str) -> bool:
        """Whether no plan needs the eviction of the Workload any longer."""
        return self._plans.preemption_of(key) is None

    def _written(self, key: str, step: Step, outcome: Outcome) -> None:
        self._looking.done(key, step, outcome)
        self._stirred.set()

    def _plan_changed(self, queue: str) -> None:
        """A plan has begun or ended: what it promises has changed."""
        self._following.freed(queue)
        self._stirred.set()


def _plan_store(known: Known, settings: QuotaConfiguration, writer: PlanWriter, clock: Clock) -> PlanStore:
    return PlanStore(
        writer, known.plans, known.apply_plan, Retention(settings.plan_retention_seconds, 0), clock
    )


def _limits(settings: QuotaConfiguration) -> Limits:
    """What the rules of a Workload's life read of the settings."""
    return Limits(
        overdue=round(settings.overdue_seconds * SECOND),
        frees_overdue=settings.free_overdue,
        message=round(settings.waiting_message_seconds * SECOND),
        reason=round(settings.waiting_reason_seconds * SECOND),
    )
