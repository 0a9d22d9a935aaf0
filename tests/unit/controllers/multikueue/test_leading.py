"""What acts in one term, with all that it is made of: from quota to a Job in one cluster."""

from __future__ import annotations

import msgspec

from api.clock import SYSTEM_CLOCK
from api.multikueue import PREBUILT_WORKLOAD_ANNOTATION
from controllers.multikueue.leading import Leading
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.dispatching_stage import (
    JOBS,
    TURNS,
    WORKLOADS,
    condition,
    workload,
)
from tests.unit.controllers.multikueue.leading_stage import BLOCKED, GATED, SETTINGS, Manager


async def test_the_first_cluster_that_admits_the_copy_gets_the_job_and_the_others_lose_theirs() -> None:
    stage = Manager("a", "b")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
        assert stage.report.nominated == ("a", "b")
        stage.change("b", WORKLOADS, "w", condition("QuotaReserved"), condition("Admitted"))
        await stage.chooses("b")
        await until(lambda: stage.report.check is not None and stage.report.check.state == "Ready")
        assert stage.report.check is not None
        assert stage.report.check.message == 'The workload was admitted on "b"'
        there = stage.workers["b"].of(JOBS)["j"]
        assert there["spec"]["suspend"] is True
        assert there["metadata"]["annotations"][PREBUILT_WORKLOAD_ANNOTATION] == "w"
        assert stage.copy("a") is None
        assert stage.workers["a"].of(JOBS) == {}
    at = {entry: index for index, entry in enumerate(stage.log)}
    others_copy = at["a", "DELETE", "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w"]
    assert others_copy < at["b", "POST", "/apis/batch/v1/namespaces/n/jobs"]


async def test_a_turn_is_stored_before_its_gate_opens_and_no_other_gate_does() -> None:
    stage = Manager("a", "b")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
        for name in ("a", "b"):
            stage.change(name, WORKLOADS, "w", BLOCKED, GATED, preemptionGates=stage.closed())
        await until(lambda: stage.gate("a") == "Open")
        (turn,) = stage.here.of(TURNS).values()
        assert (turn["spec"]["cluster"], turn["spec"]["number"]) == ("a", 1)
        assert stage.gate("b") == "Closed"
    plan = ("", "POST", "/apis/reprieve.dev/v1alpha1/namespaces/n/dispatchplans")
    gate = ("a", "PATCH", "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w/status")
    assert stage.log.index(plan) < stage.log.index(gate)


async def test_nothing_stays_in_any_cluster_when_the_workload_is_gone() -> None:
    stage = Manager("a", "b")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
        stage.here.remove(WORKLOADS, "w")
        await until(lambda: not any(stage.copy(name) for name in stage.workers))
        await until(lambda: stage.reports.of("uid-w") is None)


async def test_a_change_of_the_priority_here_is_one_there() -> None:
    stage = Manager("a")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
        changed = workload()
        changed["spec"]["priority"] = 77
        changed["metadata"]["generation"] = 2
        stage.here.put(WORKLOADS, changed)
        await until(lambda: (stage.copy("a") or {})["spec"]["priority"] == 77)


async def test_what_was_reported_is_taken_back_with_the_end_of_the_term() -> None:
    stage = Manager("a")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
        assert stage.report.nominated == ("a",)
    assert stage.reports.of("uid-w") is None


async def test_what_belongs_to_nobody_here_is_collected_without_any_event() -> None:
    stage = Manager("a")
    stage.submit()
    async with stage.acting():
        await stage.has_copies()
    stage.here.remove(WORKLOADS, "w")
    again = msgspec.structs.replace(SETTINGS, gc_interval_seconds=0.01)
    stage.leading = Leading(
        again, stage.mirrors, stage.reports, stage.client, stage.identity, stage.term, SYSTEM_CLOCK
    )
    async with stage.acting():
        await until(lambda: stage.copy("a") is None)
    assert stage.log[-1][:2] == ("a", "DELETE")
