"""The controller of PodGroups in queues: follows them in every process, and acts while it leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.clock import Clock
from controllers.jobs.configuration import JobsConfiguration
from controllers.jobs.pod_groups.leading import GroupLeading
from controllers.jobs.pod_groups.mirrors import GroupMirrors
from controllers.jobs.pod_groups.writer import GroupWriter
from controllers.jobs.writer import JobWriter
from kube.client import ApiClient
from kube.conditions import ConditionWriter
from kube.recorder import EventRecorder
from kube.sender import Sender
from runtime.exchange.queued_groups import QueuedGroups
from runtime.exchange.workload_reports import Reporter, WorkloadReports
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced
from runtime.mirror.views import Views
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["GroupController"]


class GroupController:
    """What every process knows is made here. What acts is made in `lead` and ends with it (`GroupLeading`)."""

    name: Final = "groups-in-queues"

    def __init__(
        self,
        settings: JobsConfiguration,
        client: ApiClient,
        views: Views,
        reports: WorkloadReports,
        queued: QueuedGroups,
        clock: Clock,
    ) -> None:
        """`reports`: where the quota controller learns what holds of Workloads. `queued`: what the gang controller is
        told of groups."""
        self._client, self._clock, self._reports, self._queued = client, clock, reports, queued
        self._mirrors = GroupMirrors(views, settings)
        self._not_synced = not_synced(self._mirrors.views)
        queued.answered_by(self._mirrors)

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"groups-in-queues-synced": self._not_synced}

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`."""
        mirrors = self._mirrors
        await mirrors.wait_synced()
        watched = (mirrors.pod_view, mirrors.group_view, mirrors.workload_view)
        await catch_up(self._client, watched, term.began, self._clock)
        sender = Sender(self._client, attempts=1, fence=term)
        recorder = EventRecorder(Sender(self._client, fence=term), clock=self._clock)
        conditions = ConditionWriter(Sender(self._client, fence=term), clock=self._clock)
        reporter = Reporter(self._reports)
        leading = GroupLeading(
            mirrors,
            GroupWriter(self._client, sender, conditions, mirrors.pod_view.apply),
            JobWriter(self._client, sender, _pass_over, mirrors.workload_view.apply),
            recorder,
            reporter,
            self._queued,
            self._clock,
        )
        try:
            await leading.run()
        finally:
            reporter.close()
            self._queued.clear()
            await recorder.close()


def _pass_over(job: object) -> None:
    """No Job is written."""
    del job
