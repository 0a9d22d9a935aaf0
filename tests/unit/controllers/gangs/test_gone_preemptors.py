"""A group goes, or is made anew under its name: what becomes of its plans, also in the next process."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from controllers.gangs.mirror.roster import Roster
from tests.kit.eviction_stage import (
    away,
    finalized,
    hero,
    impatient,
    the_plan,
    unit,
)
from tests.kit.held import entries
from tests.kit.objects import gang, make, member, node
from tests.kit.stage import Api, Stage, staged

__all__ = ["impatient"]

pytestmark = pytest.mark.usefixtures("impatient")

DAY = 86400.0
PODS = "/api/v1/pods"


def anew(group: Any) -> Any:
    """Another object of the same name."""
    return msgspec.structs.replace(group, metadata=msgspec.structs.replace(group.metadata, uid="anew"))


async def half_gone(stage: Stage) -> None:
    """One pod of a group that is evicted whole has gone."""
    stage.api.refuse = lambda method, _path: away() if method == "DELETE" and stage.api.deleted else None
    await stage.settle()
    assert (stage.phases(), len(stage.api.deleted)) == (["Evicting"], 1)
    stage.api.refuse = lambda _method, _path: None


async def later(stage: Stage, seconds: float) -> None:
    """Time passes."""
    stage.clock += seconds
    for _ in range(3):
        await stage.settle()
        stage.clock += 1.0


@pytest.mark.parametrize("successor", ["none", "a group of the same name"])
@pytest.mark.parametrize("process", ["the same", "the next"])
async def test_a_unit_that_has_begun_is_finished_and_the_room_is_given_back(
    process: str, successor: str
) -> None:
    """The group goes in the middle of its evictions. Its plan ends, and is gone a day later."""
    group, *members = hero(2)
    async with staged(*unit(2), group, *members) as stage:
        await half_gone(stage)
        if process == "the next":
            there = [make(Pod, body) for body in list(stage.api.of(PODS).values())]
            stage = stage.restart()
            stage.add(*unit(2)[:3], *(each for each in there if each.metadata.name == "u1"))
        else:
            stage.delete(group, *members)
        if successor != "none":
            stage.add(anew(group))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["u0", "u1"]
        assert stage.phases() == ["Aborted"]
        assert stage.reserved == 0
        assert not finalized(the_plan(stage))
        await later(stage, DAY - 100.0)
        assert len(stage.api.plans) == 1
        await later(stage, 200.0)
        assert stage.api.plans == {}
        evicting = entries(stage.leading.evictions, but=(Api, Stage, Roster))
        assert not evicting["Evictions._proven"]
        await stage.close()


@pytest.mark.parametrize("still_there", [True, False])
async def test_a_new_leader_counts_from_when_the_plan_ended(still_there: bool) -> None:
    """It leads since a moment, and the plan is older than a day."""
    objects = [node("n0"), gang(minimum=1), member()]
    async with staged(*objects) as stage:
        await stage.settle()
        stage.add(member(node="n0"))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        stage.clock += DAY
        again = stage.restart()
        again.add(*(objects if still_there else objects[:1]))
        await later(again, 0.0)
        assert len(again.api.plans) == still_there
        await again.close()
