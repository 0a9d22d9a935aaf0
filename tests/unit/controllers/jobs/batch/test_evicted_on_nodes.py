"""Jobs stop before their gang is evicted for another on nodes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from api.jobs import TemplatedJob
from controllers.jobs.batch.evicted_on_nodes import PATIENT_SECONDS, EvictedOnNodes
from controllers.jobs.batch.mirrors import JobMirrors
from controllers.jobs.configuration import JobsConfiguration
from kube.client import ApiClient
from runtime.exchange.owner_stops import NotStoppedError, PodOwner
from runtime.mirror.views import Views
from tests.kit.apiserver import Api
from tests.kit.jobs import UID, condition, job, read_job, read_workload

OWNER = PodOwner("batch/v1", "Job", "ns", "train", UID)


class Stage:
    """A Job that runs, and a plane that asks it to stop."""

    def __init__(self) -> None:
        api = Api()
        self.clock = api.clock
        self.mirrors = JobMirrors(Views(cast(ApiClient, api), clock=self.clock), JobsConfiguration())
        self.evicted, self.told = EvictedOnNodes(self.mirrors, self.clock), list[str]()
        self.job(suspend=False)

    def job(self, **spec: Any) -> TemplatedJob:
        read = read_job(job(**spec))
        self.mirrors.jobs.upsert(read)
        self.evicted.changed("TemplatedJob", "ns/train")
        return read

    def asks(self, owner: PodOwner = OWNER) -> asyncio.Task[None]:
        return asyncio.create_task(self.evicted.stop([owner], "another gang"))


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def workload(**status: str) -> Any:
    body = {
        "metadata": {"name": "w", "namespace": "ns", "uid": "w"},
        "spec": {},
        "status": {"conditions": [condition(kind, value) for kind, value in status.items()]},
    }
    return read_workload(body)


async def test_it_is_evicted_and_the_plane_waits_until_it_is_suspended() -> None:
    stage = Stage()
    with stage.evicted.told(stage.told.append):
        asked = stage.asks()
        await turns()
        assert stage.told == ["ns/train"]
        running = stage.job(suspend=False)
        await turns()
        assert not asked.done()
        why = stage.evicted.why(running, workload(QuotaReserved="True"))
        assert why == ("Preempted", "Preempted on nodes: another gang")
        stage.job(suspend=True)
        await asked


async def test_it_is_evicted_once() -> None:
    stage = Stage()
    asked = stage.asks()
    await turns()
    running = stage.job(suspend=False)
    assert stage.evicted.why(running, workload(QuotaReserved="True", Evicted="True")) is None
    assert stage.evicted.why(running, workload(QuotaReserved="True")) is None
    stage.job(suspend=True)
    await asked


async def test_a_job_that_is_not_suspended_keeps_its_pods() -> None:
    stage = Stage()
    asked = stage.asks()
    await turns()
    stage.clock.advance(PATIENT_SECONDS)
    stage.job(suspend=False)
    with pytest.raises(NotStoppedError, match="ns/train"):
        await asked


@pytest.mark.parametrize(
    "owner",
    [
        OWNER._replace(uid="another"),
        OWNER._replace(name="another"),
        OWNER._replace(kind="ReplicaSet", api_version="apps/v1"),
        OWNER._replace(api_version="example.com/v1"),
    ],
)
async def test_others_are_passed_over(owner: PodOwner) -> None:
    stage = Stage()
    with stage.evicted.told(stage.told.append):
        await stage.asks(owner)
    assert stage.told == []


async def test_a_job_outside_of_queues_is_passed_over() -> None:
    stage = Stage()
    stage.job(queue="", suspend=False)
    with stage.evicted.told(stage.told.append):
        await stage.asks()
    assert stage.told == []


async def test_two_plans_may_wait_for_one_job() -> None:
    stage = Stage()
    asked = [stage.asks(), stage.asks()]
    await turns()
    assert not any(each.done() for each in asked)
    stage.job(suspend=True)
    await asyncio.gather(*asked)
