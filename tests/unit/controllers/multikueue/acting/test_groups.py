"""The PodGroup that goes with a Job to a worker cluster."""

from __future__ import annotations

from typing import Any

import pytest

from api.groups import POD_GROUP_LABEL
from controllers.multikueue.acting.groups import Groups
from controllers.multikueue.life.seen import Mark
from kube.errors import ApiError
from tests.unit.controllers.multikueue.dispatching_stage import GROUPS, KEY, WORKLOADS, Stage

MARK = Mark("uid-manager", "uid-w", "2026-01-01T00:00:00Z")
SPEC = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def job(group: str) -> dict[str, Any]:
    labels = {POD_GROUP_LABEL: group} if group else {}
    template = {"metadata": {"labels": labels}, "spec": {}}
    return {"metadata": {"name": "j", "namespace": "n"}, "spec": {"template": template}}


@pytest.fixture
def stage() -> Stage:
    stage = Stage("a")
    stage.here.put(GROUPS, {"metadata": {"name": "g", "namespace": "n", "uid": "uid-g"}, "spec": SPEC})
    labels = {"kueue.x-k8s.io/multikueue-origin": "origin"}
    copy = {"metadata": {"name": "w", "namespace": "n", "uid": "uid-copy", "labels": labels}, "spec": {}}
    stage.workers["a"].put(WORKLOADS, copy)
    stage.workers["a"].of(GROUPS)
    return stage


async def send(stage: Stage, group: str) -> None:
    groups, connection = Groups(stage.originals, "origin"), stage.fleet.connections["a"]
    await groups.send(job(group), MARK, KEY, connection, is_trial=False)


async def test_it_belongs_to_the_copy(stage: Stage) -> None:
    await send(stage, "g")
    sent = stage.workers["a"].of(GROUPS)["g"]
    assert sent["spec"] == SPEC
    assert [each["uid"] for each in sent["metadata"]["ownerReferences"]] == ["uid-copy"]


@pytest.mark.parametrize("name", ["", "unknown"])
async def test_a_job_without_a_group_needs_none(stage: Stage, name: str) -> None:
    await send(stage, name)
    assert stage.workers["a"].of(GROUPS) == {}


async def test_one_that_an_attempt_without_an_answer_has_made_is_no_conflict(stage: Stage) -> None:
    await send(stage, "g")
    await send(stage, "g")


async def test_one_of_somebody_else_is_a_refusal(stage: Stage) -> None:
    stage.workers["a"].put(GROUPS, {"metadata": {"name": "g", "namespace": "n", "uid": "x"}, "spec": SPEC})
    with pytest.raises(ApiError, match="409"):
        await send(stage, "g")
