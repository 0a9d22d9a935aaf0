"""Phases in which a process of Enforce may end, by objects and by how they are reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from api.core import Pod
from tests.kit.eviction_stage import BIG, away, hero, refuse, singles, the_plan, unit
from tests.kit.objects import pod
from tests.kit.observed import ObservedStage
from tests.kit.stage import Mirrored, Stage

__all__ = [
    "CASES",
    "HALF",
    "HALF_GONE",
    "PODS",
    "Reach",
    "bound",
    "one_bound",
    "planned",
    "ready",
    "some_gone",
    "end_victims",
    "rest",
]

PODS: Final = "/api/v1/pods"


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


HALF: Final = "half a unit is gone"
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
HALF_GONE: Final = next(case.values for case in CASES if case.id == HALF)
Reach = Callable[[Stage], Awaitable[None]]


def bound(stage: Stage, name: str) -> Pod:
    """The member, bound where it is nominated."""
    return pod(name, group="gang", requests=BIG, node=stage.api.nominated[name])


def end_victims(stage: Mirrored) -> None:
    """Pods whose deletion was asked for are gone."""
    there = stage.api.of(PODS)
    leaving = {name for name, body in there.items() if body["metadata"].get("deletionTimestamp")}
    stage.delete(*(pod(name) for name in {*leaving, *stage.api.deleted}))


async def rest(stage: Stage | ObservedStage) -> None:
    """A few seconds in which victims end."""
    for _ in range(4):
        await stage.settle(3)
        end_victims(stage)
        stage.clock += 1.0
