"""A process dies, and the next one resumes the plan that it finds, in whatever phase that is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from api.core import Pod
from runtime.plans import plan_objects
from tests.kit.objects import make, pod
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.eviction_stage import (
    BIG,
    away,
    hero,
    impatient,
    refuse,
    singles,
    the_plan,
    unit,
)

__all__ = ["impatient"]

pytestmark = pytest.mark.usefixtures("impatient")

PODS = "/api/v1/pods"


async def planned(stage: Stage) -> None:
    """The scheduler has confirmed nothing yet."""
    stage.agrees = False
    await stage.settle()
    assert stage.phases() == ["Planned"]


async def without_status(stage: Stage) -> None:
    """It died between the creation and the first write of the status."""
    await planned(stage)
    del the_plan(stage)["status"]


async def evicting(stage: Stage) -> None:
    """Nobody has gone yet."""
    refuse(stage, "DELETE", away)
    await stage.settle()
    assert (stage.phases(), stage.api.deleted) == (["Evicting"], [])


async def some_gone(stage: Stage) -> None:
    """One victim has gone."""
    stage.api.refuse = lambda method, _path: away() if method == "DELETE" and stage.api.deleted else None
    await stage.settle()
    assert (stage.phases(), len(stage.api.deleted)) == (["Evicting"], 1)


async def terminating(stage: Stage) -> None:
    """All victims terminate, and wait for a finalizer."""
    for body in stage.api.of(PODS).values():
        body["metadata"]["finalizers"] = ["example.com/wait"]
    await stage.settle()
    assert (stage.phases(), len(stage.api.deleted)) == (["Evicting"], 2)


async def ready(stage: Stage) -> None:
    """The room is free, and the members have their nominations."""
    await stage.settle()
    stage.delete(*(pod(name) for name in stage.api.deleted))
    await stage.settle()
    assert stage.phases() == ["Ready"]


async def one_bound(stage: Stage) -> None:
    """The scheduler has bound a member."""
    await ready(stage)
    stage.add(bound(stage, "m0"))


HALF = "half a unit is gone"
CASES = [
    pytest.param([*singles(3), *hero(3)], planned, id="planned"),
    pytest.param([*singles(3), *hero(3)], without_status, id="without a status"),
    pytest.param([*singles(3)[::2], *hero(3)], ready, id="fits"),
    pytest.param([*unit(2), *hero(2)], planned, id="a unit of two"),
    pytest.param([*singles(3), *hero(3)], evicting, id="evicting"),
    pytest.param([*singles(3), *hero(3)], some_gone, id="some are gone"),
    pytest.param([*unit(2), *hero(2)], some_gone, id=HALF),
    pytest.param([*singles(2), *hero(2)], terminating, id="terminating"),
    pytest.param([*singles(2), *hero(2)], ready, id="ready"),
    pytest.param([*singles(2), *hero(2)], one_bound, id="one is bound"),
]
Reach = Callable[[Stage], Awaitable[None]]


def bound(stage: Stage, name: str) -> Pod:
    """The member, bound where it is nominated."""
    return pod(name, group="gang", requests=BIG, node=stage.api.nominated[name])


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
