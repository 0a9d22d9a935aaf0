"""The scheduler has evicted for a native gang by its own rule, while no process of ours answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import pytest

from api.core import Pod
from api.foreign_groups import NativePodGroup
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.settings import NativeGroups
from tests.kit.native_gangs import GANG_KEY, native_object, native_pod
from tests.kit.objects import BIG, make, node, pod
from tests.kit.stage import Stage, staged

MARK: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority podgroup",
}
SETTLED: Final = 2.0
MODES: Final = ("Steer", "Drive")
NODES: Final = tuple(node(f"n{number}") for number in range(4))
GROUP: Final[NativePodGroup] = native_object(minimum=2)


def member(number: int, **fields: Any) -> Pod:
    return native_pod(f"m{number}", requests=BIG, **fields)


def low(number: int, *, leaves: bool = False) -> Pod:
    """The pod on this node. The first two are the cheapest, so the plan evicts them."""
    each = pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1 if number < 2 else 2)
    if not leaves:
        return each
    body = msgspec.to_builtins(each)
    body["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    body["metadata"]["deletionGracePeriodSeconds"] = 3600
    body["status"] = {**body.get("status", {}), "conditions": [MARK]}
    return make(Pod, body)


@asynccontextmanager
async def killed(mode: NativeGroups, members: int = 2) -> AsyncIterator[Stage]:
    """Four full nodes and a gang that needs two. A process has stored the plan, which evicts v0 and v1, and is gone."""
    objects = [*NODES, *map(low, range(4)), GROUP, *map(member, range(members))]
    async with staged(
        *objects, configuration=PlanningConfiguration(mode="Enforce", native_groups=mode)
    ) as stage:
        stage.agrees = False
        await stage.settle()
        stage.filter(pod("other", priority=1), "n0")
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.api.written.clear()
        stage.api.of("/api/v1/pods").clear()
        again = stage.restart()
        again.add(*NODES, GROUP)
        yield again
        await again.close()


async def later(stage: Stage) -> None:
    """Long enough that the scheduler has marked whom it evicts."""
    for _ in range(3):
        stage.clock += SETTLED / 2
        stage.leading.planner._following.stir_plans()
        await stage.settle()


def placed(stage: Stage) -> dict[str, list[str]]:
    """The victims of the plan that is carried out, and its nodes."""
    plan = stage.leading.gangs.life_of(GANG_KEY).plan
    assert plan is not None
    victims = sorted(each.name for each in plan.spec.victims)
    return {"victims": victims, "nodes": sorted(each.node for each in plan.spec.placements)}


@pytest.mark.parametrize("mode", MODES)
async def test_the_next_process_goes_on_with_the_room_that_it_makes(mode: NativeGroups) -> None:
    async with killed(mode) as stage:
        gone = [low(2, leaves=True), low(3, leaves=True)]
        stage.add(low(0), low(1), *gone, member(0, nominated="n2"), member(1, nominated="n3"))
        await stage.settle()
        await later(stage)
        assert placed(stage) == {"victims": [], "nodes": ["n2", "n3"]}
        assert sorted(stage.api.nominated.values()) == ["n2", "n3"]
        stage.delete(*gone)
        await later(stage)
        assert (stage.phases()[-1], stage.api.deleted) == ("Ready", [])
        assert sorted(stage.phases()) == ["Aborted", "Ready"]


@pytest.mark.parametrize("mode", MODES)
async def test_so_it_does_if_the_plan_has_that_room_in_part(mode: NativeGroups) -> None:
    async with killed(mode) as stage:
        gone = [low(0, leaves=True), low(2, leaves=True)]
        stage.add(low(1), low(3), *gone, member(0, nominated="n0"), member(1, nominated="n2"))
        await stage.settle()
        await later(stage)
        assert placed(stage) == {"victims": [], "nodes": ["n0", "n2"]}
        stage.delete(*gone)
        await later(stage)
        assert (stage.phases()[-1], stage.api.deleted) == ("Ready", [])


@pytest.mark.parametrize("mode", MODES)
async def test_the_scheduler_may_have_taken_other_members(mode: NativeGroups) -> None:
    async with killed(mode, 4) as stage:
        gone = [low(2, leaves=True), low(3, leaves=True)]
        others = [member(2, nominated="n2"), member(3, nominated="n3")]
        stage.add(low(0), low(1), *gone, member(0), member(1), *others)
        await stage.settle()
        await later(stage)
        assert placed(stage)["victims"] == []
        stage.delete(*gone)
        await later(stage)
        assert (stage.phases()[-1], {*stage.api.nominated.values()}) == ("Ready", {"n2", "n3"})


@pytest.mark.parametrize("mode", MODES)
async def test_marks_that_come_late_count(mode: NativeGroups) -> None:
    """The scheduler nominates while it marks one pod after the other."""
    async with killed(mode) as stage:
        stage.add(*map(low, range(4)), member(0, nominated="n2"), member(1, nominated="n3"))
        await stage.settle()
        stage.clock += 1.5
        stage.add(low(2, leaves=True))
        await stage.settle()
        stage.clock += 1.5
        stage.add(low(3, leaves=True))
        await stage.settle()
        await later(stage)
        assert placed(stage) == {"victims": [], "nodes": ["n2", "n3"]}


@pytest.mark.parametrize("mode", MODES)
async def test_nominations_that_come_late_count(mode: NativeGroups) -> None:
    """The scheduler was in the middle of its attempt when the next process began."""
    async with killed(mode) as stage:
        stage.add(*map(low, range(4)), member(0), member(1))
        await stage.settle()
        stage.clock += 1.0
        stage.add(low(2, leaves=True), low(3, leaves=True))
        stage.add(member(0, nominated="n2"), member(1, nominated="n3"))
        await stage.settle()
        await later(stage)
        assert placed(stage) == {"victims": [], "nodes": ["n2", "n3"]}
        assert stage.api.deleted == []


async def test_a_driven_plan_on_whose_nodes_it_has_evicted_others_ends() -> None:
    async with killed("Drive") as stage:
        beside = pod("beside", node="n0", requests={"cpu": "0"}, priority=1)
        body = msgspec.to_builtins(beside)
        body["status"] = {**body.get("status", {}), "conditions": [MARK]}
        stage.add(*map(low, range(4)), member(0), member(1), make(Pod, body))
        await stage.settle()
        await later(stage)
        assert "SchedulerPreempted" in [
            each["reason"] for plan in stage.api.plans.values() for each in plan["status"]["conditions"]
        ]


@pytest.mark.parametrize("mode", MODES)
async def test_a_plan_that_nothing_speaks_against_goes_on(mode: NativeGroups) -> None:
    async with killed(mode) as stage:
        [written] = stage.api.plans
        stage.agrees = True
        stage.add(*map(low, range(4)), member(0), member(1))
        await stage.settle()
        await later(stage)
        assert [*stage.api.plans] == [written]
        assert placed(stage) == {"victims": ["v0", "v1"], "nodes": ["n0", "n1"]}
        assert sorted(stage.api.nominated.values()) == ["n0", "n1"]
        assert sorted(stage.api.deleted) == (["v0", "v1"] if mode == "Drive" else [])


async def test_a_lost_answer_of_the_same_process_counts() -> None:
    """One member was nominated elsewhere, and the pod there is evicted. The other one is where the plan has it."""
    async with killed("Steer") as stage:
        stage.add(*map(low, range(4)), member(0), member(1))
        await stage.settle()
        await later(stage)
        where = stage.api.nominated
        lost, kept = sorted(where, key=lambda name: where[name])
        stage.clock += 1.0
        stage.add(low(int(where[kept][1:]), leaves=True), low(3, leaves=True))
        stage.add(member(int(lost[1:]), nominated="n3"))
        await stage.settle()
        await later(stage)
        assert placed(stage) == {"victims": [], "nodes": sorted([where[kept], "n3"])}
