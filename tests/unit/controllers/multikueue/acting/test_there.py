"""Writes in worker clusters: what is sent, what an answer means, and what is never said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from api.multikueue import DISPATCHED_BY, FENCED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL
from controllers.multikueue.clusters.client import NO_DRY_RUN
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    CreateJob,
    Deactivate,
    DeleteCopy,
    DeleteJob,
    FenceCopy,
    OpenGate,
    ReadJob,
    SetPriority,
    SuspendJob,
    There,
    TryJob,
)
from kube.errors import ApiError
from tests.unit.controllers.multikueue.acting.stage import OURS, RESERVED, Acting
from tests.unit.controllers.multikueue.dispatching_stage import JOBS, KEY, WORKLOADS, Json


@pytest.fixture
async def stage() -> Acting:
    return Acting()


async def test_a_copy_has_its_mark_and_the_term(stage: Acting) -> None:
    copy = await stage.copied()
    assert copy["metadata"]["annotations"] == {DISPATCHED_BY: OURS, FENCED_BY: "manager-1/1"}
    assert copy["metadata"]["labels"] == {ORIGIN_LABEL: "origin"}
    assert copy["spec"]["preemptionGates"] == [{"name": "kueue.x-k8s.io/multikueue"}]
    assert stage.fleet.connections["a"].copy(KEY) is not None


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "the cluster refuses the Workload (400)"),
        (403, "the manager may not create a Workload there, or a quota or policy refuses it (403)"),
        (404, "its namespace or the kind Workload does not exist there (404)"),
        (422, "the cluster refuses the Workload (422)"),
    ],
)
async def test_a_refusal_puts_the_cluster_out_in_our_words(stage: Acting, status: int, words: str) -> None:
    """A worker cluster is not trusted to say anything here."""
    stage.refuse("POST", ApiError(status, "Odd", "the worker's own text"))
    await stage.act(CreateCopy(has_gate=True))
    assert (stage.memory.out["a"].reason, stage.memory.out["a"].message) == ("Odd", words)


@pytest.mark.parametrize("status", [0, 401, 429, 500, 503])
@pytest.mark.parametrize("act", [CreateCopy(has_gate=True), CreateJob(), TryJob()])
async def test_a_fault_that_passes_is_tried_again(stage: Acting, status: int, act: There) -> None:
    method = "POST dry run" if isinstance(act, TryJob) else "POST"
    stage.refuse(method, ApiError(status, "Fault", ""))
    with pytest.raises(ApiError):
        await stage.act(act)
    assert stage.memory.out == {}


async def test_a_copy_that_a_lost_answer_has_left_is_adopted(stage: Acting) -> None:
    await stage.copied()
    stage.api.written.clear()
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out == {}
    assert stage.api.written == []


@pytest.mark.parametrize(
    "meta",
    [
        {"labels": {ORIGIN_LABEL: "origin"}},
        {"labels": {ORIGIN_LABEL: "another"}, "annotations": {DISPATCHED_BY: OURS}},
        {
            "labels": {ORIGIN_LABEL: "origin"},
            "annotations": {DISPATCHED_BY: f"uid-another/uid-w/{RESERVED}"},
        },
    ],
    ids=["no mark", "another origin", "another manager"],
)
async def test_a_name_that_is_taken_puts_the_cluster_out(stage: Acting, meta: Json) -> None:
    stage.api.put(WORKLOADS, {"metadata": {"name": "w", "namespace": "n", "uid": "x", **meta}, "spec": {}})
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out["a"].message == "a Workload of this name exists there, and is not ours (409)"


async def test_a_copy_that_the_cluster_changes_puts_it_out(stage: Acting) -> None:
    """It would be made anew for ever."""
    body = await stage.originals.workload(_meta(stage), RESERVED)
    assert body is not None
    create = stage.api._create

    def changed(path: str, value: Json, *, keeps: bool) -> Json:
        value["spec"]["podSets"][0]["count"] = 7
        return create(path, value, keeps=keeps)

    stage.api._create = changed  # type: ignore[method-assign]  # a webhook there
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out["a"].reason == "Changed"


def _meta(stage: Acting) -> Any:
    found = stage.mirrors.workload(KEY)
    assert found is not None
    return found.metadata


async def test_a_gate_opens_and_closes_in_the_version_that_was_seen(stage: Acting) -> None:
    await stage.copied()
    await stage.act(OpenGate(*stage.version(), until=0))
    assert stage.gate("a") == "Open"
    await stage.act(CloseGate(*stage.version(), why="its time is over"))
    assert stage.gate("a") == "Closed"


@pytest.mark.parametrize(
    ("there", "written"),
    [
        ("2031-05-05T05:05:05Z", "2031-05-05T05:05:05Z"),
        ("2020-01-01T00:00:00Z", RESERVED),
        ("soon", RESERVED),
    ],
)
async def test_the_time_of_a_gate_never_becomes_earlier(stage: Acting, there: str, written: str) -> None:
    """The API server refuses that (Kueue's CRD). The clock of the worker, which closed the gate, may be ahead."""
    await stage.copied()
    gate = {"name": MULTIKUEUE_GATE, "position": "Closed", "lastTransitionTime": there}
    stage.change("a", WORKLOADS, "w", preemptionGates=[gate])
    for act, position in ((OpenGate(*stage.version(), until=0), "Open"), (None, "Closed")):
        await stage.act(act or CloseGate(*stage.version(), why=""))
        copy = stage.copy("a") or {}
        assert copy["status"]["preemptionGates"] == [
            {"name": MULTIKUEUE_GATE, "position": position, "lastTransitionTime": written}
        ]


@pytest.mark.parametrize(
    "kind",
    [
        lambda uid, version: OpenGate(uid, version, until=0),
        lambda uid, version: CloseGate(uid, version, why=""),
        SetPriority,
        FenceCopy,
        lambda uid, version: Deactivate(uid, version, message=""),
    ],
)
@pytest.mark.parametrize("is_seen", [True, False])
async def test_what_was_decided_for_another_version_is_not_written(
    stage: Acting, kind: Callable[[str, str], There], is_seen: bool
) -> None:
    """Neither where the other version is known, nor where only the API server knows it."""
    copy = await stage.copied()
    uid, version = stage.version()
    if is_seen:
        stage.api.put(WORKLOADS, copy)
        stage.api.written.clear()
        await stage.act(kind(uid, version))
    else:
        copy["metadata"]["resourceVersion"] = "999"
        stage.api.written.clear()
        with pytest.raises(ApiError, match="resourceVersion"):
            await stage.act(kind(uid, version))
    assert stage.api.written == []


async def test_the_term_is_written_to_a_copy_of_a_former_leader(stage: Acting) -> None:
    copy = await stage.copied()
    copy["metadata"]["annotations"][FENCED_BY] = "manager-0/4"
    stage.api.put(WORKLOADS, copy)
    await stage.act(FenceCopy(*stage.version()))
    assert copy["metadata"]["annotations"] == {DISPATCHED_BY: OURS, FENCED_BY: "manager-1/1"}


async def test_a_copy_is_deactivated_as_kueue_does_it(stage: Acting) -> None:
    await stage.copied()
    await stage.act(Deactivate(*stage.version(), message="Preempted"))
    (found,) = stage.api.of(WORKLOADS)["w"]["status"]["conditions"]
    assert (found["type"], found["reason"], found["message"]) == (
        "DeactivationTarget",
        "EvictedOnManagerCluster",
        "Preempted",
    )


async def test_a_job_is_tried_before_it_is_created(stage: Acting) -> None:
    await stage.copied()
    await stage.act(TryJob())
    assert stage.memory.tried == {"a"}
    assert stage.api.of(JOBS) == {}
    await stage.act(CreateJob())
    assert stage.api.of(JOBS)["j"]["metadata"]["annotations"][DISPATCHED_BY] == OURS


async def test_that_a_webhook_takes_no_dry_run_is_no_refusal(stage: Acting) -> None:
    """The client of a cluster has words of its own for it."""
    stage.refuse("POST dry run", ApiError(400, "BadRequest", NO_DRY_RUN))
    await stage.act(TryJob())
    assert stage.memory.tried == frozenset({"a"})
    assert not stage.memory.out


@pytest.mark.parametrize("act", [TryJob(), CreateJob()])
async def test_a_job_of_the_name_that_is_not_ours_puts_the_cluster_out(stage: Acting, act: There) -> None:
    """12404, 11849."""
    stage.api.put(JOBS, {"metadata": {"name": "j", "namespace": "n", "uid": "x"}, "spec": {}})
    await stage.act(act)
    assert (
        stage.memory.out["a"].message == "a Job or PodGroup of this name exists there, and is not ours (409)"
    )
    assert stage.memory.tried == frozenset()


async def test_a_job_that_runs_without_a_copy_stops(stage: Acting) -> None:
    await stage.act(CreateJob())
    found = stage.api.of(JOBS)["j"]
    found["spec"]["suspend"] = False
    stage.api.put(JOBS, found)
    await stage.act(SuspendJob(*stage.version(JOBS, "j")))
    assert stage.api.of(JOBS)["j"]["spec"]["suspend"] is True


async def test_a_job_is_read_beside_its_watch(stage: Acting) -> None:
    await stage.act(CreateJob())
    found = stage.api.of(JOBS)["j"]
    found["status"] = {"active": 2}
    stage.api.put(JOBS, found)
    uid, version = stage.version(JOBS, "j")
    await stage.act(ReadJob(uid))
    assert stage.memory.read == version
    job = stage.fleet.connections["a"].job(KEY, "j")
    assert job is not None
    assert (job.version, job.status.active) == (version, 2)
    stage.api.of(JOBS).clear()
    await stage.act(ReadJob(uid))
    assert stage.fleet.connections["a"].job(KEY, "j") is None


async def test_only_the_object_that_was_seen_is_deleted(stage: Acting) -> None:
    await stage.copied()
    await stage.act(CreateJob())
    await stage.act(DeleteCopy("another", ""))
    await stage.act(DeleteJob("another", ""))
    assert set(stage.api.of(WORKLOADS)) == {"w"}
    await stage.act(DeleteJob(stage.version(JOBS, "j")[0], ""))
    await stage.act(DeleteCopy(stage.version()[0], ""))
    assert (stage.api.of(JOBS), stage.api.of(WORKLOADS)) == ({}, {})
    assert {each.body["propagationPolicy"] for each in stage.api.written if each.method == "DELETE"} == {
        "Background"
    }


@pytest.mark.parametrize("status", [404, 409])
async def test_what_is_gone_already_counts_as_deleted(stage: Acting, status: int) -> None:
    """409: another object has the name by now."""
    await stage.copied()
    stage.refuse("DELETE", ApiError(status, "Gone", ""))
    await stage.act(DeleteCopy(stage.version()[0], ""))
    assert stage.fleet.connections["a"].copy(KEY) is None
