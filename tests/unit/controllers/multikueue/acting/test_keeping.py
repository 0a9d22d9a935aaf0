"""Policies and webhooks of a worker cluster that change what is written there: nothing is written again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from api.multikueue import DISPATCHED_BY, FENCED_BY, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    CreateJob,
    Deactivate,
    FenceCopy,
    OpenGate,
    SetPriority,
    There,
    TryJob,
)
from kube.errors import ApiError
from tests.kit.apiserver import Api, Written
from tests.unit.controllers.multikueue.acting.stage import Acting
from tests.unit.controllers.multikueue.dispatching_stage import JOBS, KEY, WORKLOADS, Json, workload

Change = Callable[[Json], Any]
SPEC = "spec"
META = "metadata"


def policy(api: Api, change: Change) -> None:
    """What is created or patched is changed before it is stored."""
    create, wrote = api._create, api.wrote

    def creates(path: str, value: Json, *, keeps: bool) -> Json:
        change(value)
        return create(path, value, keeps=keeps)

    def writes(written: Written) -> None:
        if written.method == "PATCH":
            for each in api.of(written.path).values():
                change(each)
        wrote(written)

    api._create = creates  # type: ignore[method-assign]  # a policy there
    api.wrote = writes  # type: ignore[method-assign]  # too


@pytest.fixture
async def stage() -> Acting:
    return Acting()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda body: body[SPEC]["podSets"][0].update(count=7), "spec"),
        (lambda body: body[SPEC].update(priority=7), "spec.priority"),
        (lambda body: body[SPEC].update(active=False), "spec.active"),
        (lambda body: body[SPEC].pop("preemptionGates"), "spec.preemptionGates"),
    ],
)
async def test_a_copy_that_is_changed_puts_the_cluster_out(stage: Acting, change: Change, what: str) -> None:
    """It is there, and is deleted by the next decision."""
    policy(stage.api, change)
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out["a"].message == f"the cluster changes the Workload ({what})"
    assert stage.fleet.connections["a"].copy(KEY) is not None


async def test_a_worker_that_knows_no_gates_may_leave_them_out(stage: Acting) -> None:
    probed = stage.fleet.connections["a"].probed
    stage.fleet.connections["a"].probed = probed._replace(honours=False)
    policy(stage.api, lambda body: body[SPEC].pop("preemptionGates"))
    await stage.act(CreateCopy(has_gate=True))
    assert not stage.memory.out


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body[META]["labels"].update({"team": "red"}),
        lambda body: body[META]["annotations"].update({"team": "red"}),
        lambda body: body[META].update(finalizers=["example.com/keeps"]),
    ],
)
async def test_what_is_added_to_the_metadata_does_not_matter(stage: Acting, change: Change) -> None:
    policy(stage.api, change)
    for act in (CreateCopy(has_gate=True), TryJob(), CreateJob()):
        await stage.act(act)
    assert not stage.memory.out


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda body: body[META]["labels"].pop(ORIGIN_LABEL), f"metadata.labels[{ORIGIN_LABEL}]"),
        (
            lambda body: body[META]["annotations"].pop(DISPATCHED_BY),
            f"metadata.annotations[{DISPATCHED_BY}]",
        ),
        (lambda body: body[META]["annotations"].pop(FENCED_BY), f"metadata.annotations[{FENCED_BY}]"),
        (lambda body: body[META].pop("labels"), f"metadata.labels[{ORIGIN_LABEL}]"),
    ],
)
async def test_a_copy_without_its_marks_is_deleted_at_once(stage: Acting, change: Change, what: str) -> None:
    """Nobody would see it again."""
    policy(stage.api, change)
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out["a"].message == f"the cluster changes the Workload ({what})"
    assert stage.api.of(WORKLOADS) == {}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda body: body[META]["labels"].pop(ORIGIN_LABEL), f"metadata.labels[{ORIGIN_LABEL}]"),
        (
            lambda body: body[META]["annotations"].pop(PREBUILT_WORKLOAD_ANNOTATION),
            f"metadata.annotations[{PREBUILT_WORKLOAD_ANNOTATION}]",
        ),
        (lambda body: body[SPEC].update(suspend=False), "spec.suspend"),
    ],
)
@pytest.mark.parametrize("act", [TryJob(), CreateJob()])
async def test_a_job_without_its_marks_puts_the_cluster_out_and_does_not_stay(
    stage: Acting, act: There, change: Change, what: str
) -> None:
    """It would run without its copy, or be made again and again."""
    await stage.copied()
    policy(stage.api, change)
    await stage.act(act)
    assert stage.memory.out["a"].message == f"the cluster changes the Job ({what})"
    assert stage.api.of(JOBS) == {}
    assert not stage.memory.tried


@pytest.mark.parametrize(
    ("act", "change", "what"),
    [
        (SetPriority, lambda body: body[SPEC].update(priority=7), "spec.priority"),
        (
            lambda uid, version: OpenGate(uid, version, until=0),
            lambda body: body["status"]["preemptionGates"][0].update(position="Closed"),
            "status.preemptionGates",
        ),
        (
            lambda uid, version: CloseGate(uid, version, why=""),
            lambda body: body["status"]["preemptionGates"][0].update(position="Open"),
            "status.preemptionGates",
        ),
        (
            FenceCopy,
            lambda body: body[META]["annotations"].pop(FENCED_BY),
            f"metadata.annotations[{FENCED_BY}]",
        ),
    ],
)
@pytest.mark.parametrize("changes", [True, False])
async def test_a_write_that_is_changed_is_not_repeated(
    stage: Acting, act: Callable[[str, str], There], change: Change, what: str, changes: bool
) -> None:
    await stage.copied()
    other = workload()
    other[SPEC]["priority"] = 12
    stage.here.put(WORKLOADS, other)
    if changes:
        policy(stage.api, change)
    await stage.act(act(*stage.version()))
    out = {"a": f"the cluster changes the Workload ({what})"} if changes else {}
    assert {name: each.message for name, each in stage.memory.out.items()} == out


async def test_a_deactivation_that_is_taken_back_is_a_failure(stage: Acting) -> None:
    """It is tried again, less and less often: the Workload's quota here waits for it."""
    await stage.copied()
    policy(stage.api, lambda body: body["status"].pop("conditions"))
    with pytest.raises(ApiError, match="takes the condition off"):
        await stage.act(Deactivate(*stage.version(), message="Preempted"))


async def test_what_has_no_marks_and_is_gone_already_is_not_made_again(stage: Acting) -> None:
    policy(stage.api, lambda body: body[META]["labels"].pop(ORIGIN_LABEL))
    stage.refuse("DELETE", ApiError(404, "NotFound", ""))
    await stage.act(CreateCopy(has_gate=True))
    assert stage.memory.out["a"].reason == "Changed"
