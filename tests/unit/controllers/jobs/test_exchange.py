"""The controllers of Jobs and PodGroups register where the nodes plane looks for them, before they lead."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
import pytest

from api.groups import PodGroup
from api.integration import QUEUE_NAME_LABEL
from controllers.jobs.batch.controller import JobController
from controllers.jobs.configuration import JobsConfiguration
from controllers.jobs.pod_groups.controller import GroupController
from kube.client import ApiClient
from runtime.exchange.owner_stops import NotStoppedError, OwnerStops, PodOwner
from runtime.exchange.queued_groups import QueuedGroups
from runtime.exchange.reports import Reports
from runtime.exchange.workload_reports import WorkloadReports
from runtime.mirror.views import View
from tests.kit.clock import ManualClock
from tests.kit.objects import pod
from tests.kit.views import NoApi, unconnected

CLIENT: Final = cast(ApiClient, NoApi())
OWNER = PodOwner("batch/v1", "Job", "default", "train", "u")
GROUP = {
    "metadata": {"name": "g", "namespace": "default", "uid": "g", "labels": {QUEUE_NAME_LABEL: "q"}},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
}


async def test_no_job_is_evicted_before_the_controller_of_jobs_acts() -> None:
    stops = OwnerStops()
    await stops.stop([OWNER], "nobody runs Jobs here")
    views, reports, clock = unconnected(), Reports(), ManualClock()
    JobController(JobsConfiguration(), CLIENT, views, reports, 300.0, clock, stops)
    with pytest.raises(NotStoppedError):
        await stops.stop([OWNER], "another gang")


def test_a_group_in_a_queue_waits_in_every_process() -> None:
    views, queued = unconnected(), QueuedGroups()
    GroupController(JobsConfiguration(), CLIENT, views, WorkloadReports(), queued, ManualClock())
    of: dict[type, View[Any]] = {view.resource.type: view for view in views}
    group, member = msgspec.convert(GROUP, PodGroup), pod("p", group="g")
    of[type(member)].upsert(member, listed=True)
    assert not queued.waits(("default", "g"))
    of[PodGroup].upsert(group, listed=True)
    assert queued.waits(("default", "g"))
    assert "default/g waits for quota" in queued.why_waits(member)
