"""The quota controller: follows queues and Workloads in every process, and acts while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from api.clock import Clock
from api.workloads import Workload
from controllers.quota.configuration import QuotaConfiguration
from controllers.quota.kueue_lease import Alone
from controllers.quota.leading import Known, Leading
from controllers.quota.metrics import export_kueues
from controllers.quota.plans.stored_plans import StoredPlans
from controllers.quota.queues.queue_statuses import QueueViews
from controllers.quota.scheduling.promised_places import PromisedPlaces
from kube.client import ApiClient
from kube.recorder import EventRecorder
from kube.sender import Sender
from quota.search.decision import Options
from quota.state.remains import Remains
from quota.state.statuses import Tally
from runtime.exchange.placements import Placements
from runtime.exchange.reports import Reports
from runtime.metrics import PLAN_OVERDUE_SECONDS
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced
from runtime.mirror.resources import PLANS
from runtime.mirror.views import Views
from runtime.mirror.watched_quota import WatchedQuota
from runtime.terms.term import Term
from runtime.work.search_thread import SearchThread
from serving.ops import Check

__all__ = ["QuotaController"]


class QuotaController:
    """What every process knows is made here; what acts is made in `lead` and ends with it (`Leading`)."""

    name: Final = "quota"

    def __init__(
        self,
        settings: QuotaConfiguration,
        search: SearchThread[Options],
        client: ApiClient,
        views: Views,
        clock: Clock,
        reports: Reports,
        placements: Placements | None = None,
    ) -> None:
        """`reports`: of those who run the pods of Workloads, and of a manager of several clusters. `placements`: the
        nodes plane; None if it is not in this process."""
        export_kueues()
        self._settings, self._search, self._client, self._clock = settings, search, client, clock
        quota = WatchedQuota(views)
        tally = Tally(self._count_changed)
        self._queues = QueueViews(views)
        if not settings.require_placement:
            placements = None
        stored = StoredPlans(self._plan_changed)
        self._places = PromisedPlaces(placements, stored, quota.state) if placements is not None else None
        self._plans = views.watch(PLANS, stored)
        PLAN_OVERDUE_SECONDS.labels("quota").set_function(
            lambda: stored.overdue_seconds(clock.wall(), settings.plan_deadline_seconds)
        )
        self._known = Known(
            quota, tally, self._queues, stored, reports, self._plans.apply, placements, self._nodes_changed
        )
        self._alone = Alone(client, settings.kueue_lease, clock)
        self._leading: Leading | None = None
        self._ended = float("-inf")
        """When this process ceased to lead last, in monotonic seconds."""
        self._watched = (*quota.views, self._plans)
        self._not_synced = not_synced(self._watched)
        quota.on_workload(self._workload_changed)
        quota.on_remains(self._remains_changed)
        quota.on_object(self._object_changed)

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"quota-synced": self._not_synced, "quota-alone": lambda: self._alone.problem or None}

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`."""
        since, quota = max(term.began, self._ended), self._known.quota
        await quota.wait_synced()
        await self._plans.wait_synced()
        recorder = EventRecorder(Sender(self._client, fence=term), clock=self._clock)
        try:
            while True:
                await self._alone.wait(recorder)
                await catch_up(self._client, self._watched, since, self._clock)
                await self._act(term)
                since = self._ended
        finally:
            await recorder.close()

    async def _act(self, term: Term) -> None:
        """Act until Kueue begins to manage, or until cancelled."""
        leading = self._leading = Leading(
            self._known,
            self._settings,
            self._search,
            self._client,
            term,
            self._clock,
            self._alone.suspect,
        )
        running = asyncio.create_task(leading.run(), name="quota acts")
        try:
            await self._alone.until_kueue_manages(running)
        finally:
            self._leading = None
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await leading.close()
            self._ended = self._clock.monotonic()

    # ---- what is watched

    def _workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        if after is None:
            self._known.tally.remove(key)
        else:
            self._known.tally.put(after)
        if self._leading is not None:
            self._leading.workload_changed(key, before, after)
        if self._places is not None:
            self._places.changed(key)

    def _nodes_changed(self) -> None:
        if self._places is not None:
            self._places.again()

    def _plan_changed(self, preemptor: str) -> None:
        if self._places is not None:
            self._places.changed(preemptor)

    def _remains_changed(self, key: str, before: Remains | None, after: Remains | None) -> None:
        if after is not None:
            self._known.tally.keep(after)
        if self._leading is not None and before is not None and before.cluster_queue:
            self._leading.freed(before.cluster_queue)

    def _count_changed(self, kind: str, key: str) -> None:
        self._queues.changes.changed(kind, key)

    def _object_changed(self, kind: str, key: str) -> None:
        if self._leading is not None:
            self._leading.object_changed(kind, key)
