"""What one decision is made from."""

from __future__ import annotations

import pytest

from api.dispatch import DispatchedWorkload, DispatchPlan, DispatchPlanSpec, DispatchPlanStatus
from api.meta import ObjectMeta
from api.multikueue import DISPATCHED_BY, FENCED_BY, ORIGIN_LABEL
from controllers.multikueue.clusters.probe import Probed
from controllers.multikueue.life.seen import Mark
from tests.unit.controllers.multikueue.dispatching_stage import (
    JOBS,
    KEY,
    WORKLOADS,
    Json,
    Stage,
    job,
    workload,
)

RESERVED = "2026-01-01T00:00:00Z"


@pytest.fixture
async def stage() -> Stage:
    made = Stage("a", "b")
    made.submit()
    return made


def copy(term: str = "manager-1/1", **status: object) -> Json:
    annotations = {DISPATCHED_BY: f"uid-manager/uid-w/{RESERVED}", FENCED_BY: term}
    meta = {"name": "w", "namespace": "n", "uid": "uid-copy", "labels": {ORIGIN_LABEL: "origin"}}
    return {"metadata": {**meta, "annotations": annotations}, "spec": {}, "status": status}


async def test_the_workload_its_job_and_its_clusters_in_the_configs_order(stage: Stage) -> None:
    stage.workers["b"].put(WORKLOADS, copy())
    seen = stage.gathering().of(KEY)
    assert (seen.check, seen.attempt, seen.manager) == ("clusters", RESERVED, "uid-manager")
    assert seen.job is not None
    assert [(each.name, each.reach, each.copy is not None) for each in seen.clusters] == [
        ("a", "Connected", False),
        ("b", "Connected", True),
    ]
    found = seen.clusters[1].copy
    assert found is not None
    assert found.mark == Mark("uid-manager", "uid-w", RESERVED)


async def test_only_copies_that_this_term_has_written_to_are_fenced(stage: Stage) -> None:
    stage.workers["a"].put(WORKLOADS, copy("manager-0/7"))
    stage.workers["b"].put(WORKLOADS, copy())
    assert stage.gathering().of(KEY).fenced == {"b"}


async def test_a_cluster_that_left_the_config_is_seen_while_it_has_something(stage: Stage) -> None:
    stage.fleet.configured = ("a",)
    gathering = stage.gathering()
    assert gathering.of(KEY).others == ()
    stage.workers["b"].put(WORKLOADS, copy())
    assert [each.name for each in gathering.of(KEY).others] == ["b"]


async def test_a_chosen_cluster_that_does_not_exist_is_lost_by_time_alone(stage: Stage) -> None:
    stage.submit(clusterName="gone")
    gathering = stage.gathering()
    (found,) = gathering.of(KEY).others
    assert (found.name, found.reach, found.why) == ("gone", "Away", "MultiKueueCluster gone does not exist")
    stage.clock.advance(900)  # type: ignore[attr-defined]  # a ManualClock
    assert gathering.of(KEY).others[0].reach == "Lost"


async def test_without_a_known_config_nothing_is_configured(stage: Stage) -> None:
    stage.fleet.configured = None
    seen = stage.gathering().of(KEY)
    assert (seen.is_configured, seen.clusters) == (False, ())


async def test_a_workload_that_is_gone_leaves_what_it_has_in_clusters(stage: Stage) -> None:
    stage.workers["b"].put(WORKLOADS, copy())
    stage.here.remove(WORKLOADS, "w")
    seen = stage.gathering().of(KEY)
    assert (seen.workload, seen.check, seen.attempt) == (None, "", "")
    assert [each.name for each in seen.others] == ["b"]


async def test_an_owner_without_an_adapter_is_refused(stage: Stage) -> None:
    stage.here.put(JOBS, job(managedBy="another"))
    assert "Expecting spec.managedBy" in stage.gathering().of(KEY).refusal


async def test_a_job_of_the_name_that_is_not_the_owner_is_none(stage: Stage) -> None:
    stage.here.remove(JOBS, "j")
    other = job()
    other["metadata"]["uid"] = "uid-another"
    stage.here.put(JOBS, other)
    assert stage.gathering().of(KEY).job is None


async def test_a_gate_in_a_status_shows_that_a_cluster_honours_gates_before_it_was_tried(
    stage: Stage,
) -> None:
    connection = stage.fleet.connections["a"]
    connection.probed = Probed(None, "NotTried", "")
    stage.workers["a"].put(WORKLOADS, copy())
    assert not stage.gathering().of(KEY).clusters[0].honours_gates
    stage.workers["a"].put(WORKLOADS, copy(preemptionGates=stage.closed()))
    assert stage.gathering().of(KEY).clusters[0].honours_gates
    connection.probed = Probed(False, "NotHonoured", "")
    assert not stage.gathering().of(KEY).clusters[0].honours_gates


async def test_a_workload_without_the_check_is_not_the_managers(stage: Stage) -> None:
    stage.here.put(WORKLOADS, workload(admissionChecks=[]))
    seen = stage.gathering().of(KEY)
    assert (seen.check, seen.clusters, seen.refusal) == ("", (), "")


async def test_a_cluster_that_left_the_config_in_its_turn_is_seen_until_the_turn_is_over(
    stage: Stage,
) -> None:
    """After a restart its copy is not known, if it cannot be reached."""
    turns = stage.mirrors.turns
    turns.upsert(plan("b", ""))
    stage.fleet.configured = ("a",)
    assert [each.name for each in stage.gathering().of(KEY).others] == ["b"]
    turns.upsert(plan("b", "Ended"))
    assert stage.gathering().of(KEY).others == ()


def plan(cluster: str, phase: str) -> DispatchPlan:
    of = DispatchedWorkload("w", "uid-w", RESERVED, 0)
    spec = DispatchPlanSpec(of, 1, cluster, "LeastDisruption", "why", RESERVED, RESERVED, [])
    status = DispatchPlanStatus(phase, "") if phase else None  # type: ignore[arg-type] # a phase
    return DispatchPlan(metadata=ObjectMeta(name="turn", namespace="n"), spec=spec, status=status)


async def test_a_cluster_that_nobody_names_any_longer_is_not_remembered(stage: Stage) -> None:
    """Its silence begins anew if it is named again."""
    stage.submit(clusterName="gone")
    gathering = stage.gathering()
    gathering.of(KEY)
    stage.clock.advance(900)  # type: ignore[attr-defined]  # a ManualClock
    gathering.tidy()
    assert gathering.of(KEY).others[0].reach == "Lost"
    stage.submit()
    gathering.tidy()
    stage.submit(clusterName="gone")
    assert gathering.of(KEY).others[0].reach == "Away"
