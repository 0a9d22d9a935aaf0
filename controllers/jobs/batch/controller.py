"""The jobs controller: follows Jobs and their Workloads in every process, and acts while it leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.clock import Clock
from controllers.jobs.batch.evicted_on_nodes import EvictedOnNodes
from controllers.jobs.batch.leading import Leading
from controllers.jobs.batch.mirrors import JobMirrors
from controllers.jobs.configuration import JobsConfiguration
from controllers.jobs.writer import JobWriter
from kube.client import ApiClient
from kube.recorder import EventRecorder
from kube.sender import Sender
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.reports import Reports
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced
from runtime.mirror.views import Views
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["JobController"]


class JobController:
    """What every process knows is made here. What acts is made in `lead` and ends with it (`Leading`)."""

    name: Final = "jobs"

    def __init__(
        self,
        settings: JobsConfiguration,
        client: ApiClient,
        views: Views,
        reports: Reports,
        overdue_seconds: float,
        clock: Clock,
        stops: OwnerStops | None = None,
    ) -> None:
        """`reports`: where the quota controller learns what holds of Workloads, and what a manager of several clusters
        says of those that it has sent to one. `overdue_seconds`: after this
        time the pods of an evicted Job are named. `stops`: where the nodes plane asks that Jobs stop; None: it does
        not."""
        self._client, self._clock, self._stops = client, clock, stops or OwnerStops()
        self._reports, self._overdue = reports, overdue_seconds
        self._stops.will_be_served()
        self._mirrors = JobMirrors(views, settings)
        self._not_synced = not_synced(self._mirrors.views)

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"jobs-synced": self._not_synced}

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`."""
        mirrors = self._mirrors
        await mirrors.wait_synced()
        await catch_up(self._client, (mirrors.job_view, mirrors.workload_view), term.began, self._clock)
        recorder = EventRecorder(Sender(self._client, fence=term), clock=self._clock)
        writer = JobWriter(
            self._client,
            Sender(self._client, attempts=1, fence=term),
            mirrors.job_view.apply,
            mirrors.workload_view.apply,
        )
        evicted = EvictedOnNodes(mirrors, self._clock)
        leading = Leading(mirrors, writer, recorder, self._reports, evicted, self._overdue, self._clock)
        try:
            with self._stops.served(evicted):
                await leading.run()
        finally:
            await recorder.close()
