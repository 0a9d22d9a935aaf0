"""A process dies, and the next one resumes the plan that it finds, in whatever phase that is."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from api.core import Pod
from runtime.plans import plan_objects
from tests.kit.eviction_stage import (
    hero,
    impatient,
    singles,
    the_plan,
)
from tests.kit.objects import make, pod
from tests.kit.phases import CASES, HALF, PODS, Reach, bound, planned
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

pytestmark = pytest.mark.usefixtures("impatient")


def following(stage: Stage, objects: list[Any]) -> Stage:
    """The next process, which sees what is there. It has heard of no plan before it leads."""
    stage.api.refuse = lambda _method, _path: None
    again = stage.restart()
    again.add(*(each for each in objects if not isinstance(each, Pod)))
    again.add(*(make(Pod, body) for body in list(stage.api.of(PODS).values())))
    return again


async def bind(stage: Stage) -> None:
    """The cluster does its part: victims end, and members are bound where they are nominated."""
    for _ in range(4):
        await stage.settle()
        leaving = [
            name for name, body in stage.api.of(PODS).items() if "deletionTimestamp" in body["metadata"]
        ]
        stage.delete(*(pod(name) for name in {*leaving, *stage.api.deleted}))
    stage.add(*(bound(stage, name) for name in stage.api.nominated))
    await stage.settle()


@pytest.mark.parametrize(("objects", "reach"), CASES)
async def test_an_active_plan_is_carried_out_and_each_victim_goes_once(
    objects: list[Any], reach: Reach
) -> None:
    async with staged(*objects) as stage:
        await reach(stage)
        await carry_out(stage, objects)


async def test_a_plan_that_is_stored_compressed_is_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_objects, "COMPRESS_ABOVE_PODS", 2)
    objects = [*singles(3), *hero(3)]
    async with staged(*objects) as stage:
        await planned(stage)
        assert {"compressedVictims", "compressedPlacements"} <= the_plan(stage)["spec"].keys()
        await carry_out(stage, objects)


async def carry_out(stage: Stage, objects: list[Any]) -> None:
    """The next process ends with the gang bound by the same plan, and with all pods evicted that ran at first."""
    plan = the_plan(stage)
    before = plan["metadata"]["name"], orjson.dumps(plan["spec"])
    running = [each.metadata.name for each in objects if isinstance(each, Pod) and each.spec.node_name]
    again = following(stage, objects)
    await bind(again)
    assert again.phases() == ["Bound"]
    assert sorted(again.api.deleted) == running
    plan = the_plan(again)
    assert (plan["metadata"]["name"], orjson.dumps(plan["spec"])) == before
    assert again.reserved == 0
    await again.close()


@pytest.mark.parametrize(("objects", "reach"), CASES)
async def test_an_active_plan_whose_time_is_over_ends_and_begins_with_no_other_victim(
    objects: list[Any], reach: Reach, request: pytest.FixtureRequest
) -> None:
    """A unit that has begun is finished."""
    async with staged(*objects) as stage:
        await reach(stage)
        deleted = list(stage.api.deleted)
        stage.clock += 400.0
        again = following(stage, objects)
        await again.settle(steps=1)
        assert again.phases() == ["Expired"]
        finished = ["u1"] if HALF in request.node.name else []
        assert again.api.deleted == deleted + finished
        await again.close()


async def test_a_plan_that_has_ended_stays_as_it_is() -> None:
    objects = [*singles(2), *hero(2)]
    async with staged(*objects) as stage:
        await bind(stage)
        assert stage.phases() == ["Bound"]
        before = orjson.dumps(stage.api.plans)
        again = following(stage, objects)
        await again.settle()
        assert orjson.dumps(again.api.plans) == before
        assert sorted(again.api.deleted) == ["v0", "v1"]
        await again.close()


async def test_a_plan_with_a_time_that_cannot_be_read_holds_up_nobody() -> None:
    """Anybody who may write the status of plans could have written it."""
    objects = [*singles(3), *hero(3)]
    async with staged(*objects) as stage:
        await planned(stage)
        odd = orjson.loads(orjson.dumps(the_plan(stage)))
        odd["metadata"] |= {"name": "odd", "uid": "odd", "creationTimestamp": "yesterday"}
        odd["spec"]["preemptor"]["name"] = "odd"
        odd["status"]["conditions"][0]["lastTransitionTime"] = "soon"
        name = the_plan(stage)["metadata"]["name"]
        stage.api.plans["odd"] = odd
        again = following(stage, objects)
        await again.settle()
        assert again.controller.leading is not None
        assert again.api.plans[name]["status"]["phase"] == "Evicting"
        await again.close()
