"""The same decision, made again: which requests it costs, and what its object says."""

from __future__ import annotations

from typing import Any

from api.times import rfc3339
from kube.errors import ApiError
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}
PLANS = "/preemptionplans"


def too_large() -> list[Any]:
    """A node, and a gang that does not fit on it."""
    return [node("n0"), gang(minimum=2), *(pod(f"m{n}", group="gang", requests=BIG) for n in range(2))]


class Requests:
    """The requests about plans from now on."""

    def __init__(self, stage: Stage) -> None:
        self.methods: list[str] = []
        stage.api.refuse = self._note

    def _note(self, method: str, path: str) -> ApiError | None:
        if PLANS in path:
            self.methods.append(method)
        return None


async def decide_again(stage: Stage, *, after: float) -> None:
    stage.clock += after
    stage.add(node("n0"))
    stage.leading.gangs.touch(("default", "gang"))
    await stage.settle()


def last_decision(stage: Stage) -> str:
    (plan,) = stage.api.plans.values()
    time: str = plan["status"]["lastDecisionTime"]
    return time


async def test_a_known_decision_costs_one_write_a_minute() -> None:
    async with staged(*too_large()) as stage:
        await stage.settle()
        first = last_decision(stage)
        assert first == rfc3339(stage.api.clock.wall())
        requests = Requests(stage)
        for _ in range(5):
            await decide_again(stage, after=10.0)
        assert requests.methods == []
        assert last_decision(stage) == first
        await decide_again(stage, after=10.0)
        assert requests.methods == ["PATCH"]
        assert last_decision(stage) == rfc3339(stage.api.clock.wall())
        for _ in range(12):
            await decide_again(stage, after=10.0)
        assert requests.methods == ["PATCH"] * 3
        assert stage.phases() == ["Unschedulable"]


async def test_the_next_process_knows_it_as_well() -> None:
    async with staged(*too_large()) as stage:
        await stage.settle()
        again = stage.restart()
        again.add(*too_large())
        requests = Requests(again)
        await again.settle()
        assert requests.methods == []
        assert again.phases() == ["Unschedulable"]
        await again.close()


async def test_a_decision_whose_object_is_gone_is_stored_anew() -> None:
    """The watch has not shown yet that somebody deleted it."""
    async with staged(*too_large()) as stage:
        await stage.settle()
        stage.api.plans.clear()
        await decide_again(stage, after=61.0)
        assert stage.phases() == ["Unschedulable"]


async def test_a_decision_of_a_former_group_of_the_name_is_not_known() -> None:
    async with staged(*too_large()) as stage:
        await stage.settle()
        (plan,) = stage.api.plans.values()
        plan["spec"]["preemptor"]["uid"] = "another"
        again = stage.restart()
        again.add(*too_large())
        requests = Requests(again)
        await again.settle()
        assert "POST" in requests.methods
        await again.close()


async def test_a_plan_that_is_made_again_after_its_end_is_stored_in_full() -> None:
    """It needs its finalizer, and its phases."""
    victim = pod("v", node="n0", requests=BIG, priority=1)
    member = pod("m0", group="gang", requests=BIG)
    async with staged(node("n0"), gang(minimum=1), member, victim) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.delete(member)
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        requests = Requests(stage)
        stage.clock += 5.0
        stage.add(member)
        await stage.settle()
        (plan,) = stage.api.plans.values()
        assert requests.methods[0] == "POST"
        assert plan["status"]["phase"] == "Planned"
        assert plan["metadata"]["finalizers"]
        assert plan["status"]["lastDecisionTime"] == rfc3339(stage.api.clock.wall())
