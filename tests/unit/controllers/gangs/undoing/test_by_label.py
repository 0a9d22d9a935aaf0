"""A namespace goes from Enforce to Observe in the middle of a term that enforces others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import REGISTRY

from api.core import Pod
from api.holds import Holds
from api.published import HOLDS, PLANNING_MODE
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from controllers.gangs.undoing.holding import Holding
from tests.kit.canary import canary, space
from tests.kit.eviction_stage import away, hero, impatient, refuse, singles, unit
from tests.kit.leftovers import left
from tests.kit.objects import group, make, node, pod
from tests.kit.phases import CASES, HALF_GONE, PODS, Reach, planned, ready, rest
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

pytestmark = pytest.mark.usefixtures("impatient")

ENFORCED, OBSERVED = space("default", enforced=True), space("default", enforced=False)
IN = "team-in"


def refused_writes() -> float:
    """Writes to pods that the last barrier has refused."""
    return REGISTRY.get_sample_value("reprieve_pod_writes_refused_total") or 0.0


@pytest.mark.parametrize(("objects", "reach"), CASES)
async def test_nothing_is_left_of_any_phase(objects: list[Any], reach: Reach) -> None:
    refused = refused_writes()
    async with staged(ENFORCED, *objects, configuration=canary()) as stage:
        stage.clock += 10.0
        await reach(stage)
        stage.api.refuse = lambda _method, _path: None
        deleted = [*stage.api.deleted]
        stage.add(OBSERVED)
        await stage.settle(1)
        assert stage.reserved == 0, "its room is free at once"
        await rest(stage)
        assert left(stage.api) == []
        if (objects, reach) != HALF_GONE:
            assert stage.api.deleted == deleted
        assert not stage.controller.holding.now
        plans = [plan for plan in stage.api.plans.values() if "mode" not in plan["spec"]]
        assert {plan["status"]["conditions"][-1]["reason"] for plan in plans} == {"ModeChanged"}
    assert refused_writes() == refused, "nobody asks for what the barrier refuses"


async def test_a_begun_unit_is_finished() -> None:
    objects = [*unit(3), *hero(3)]
    async with staged(ENFORCED, *objects, configuration=canary()) as stage:
        stage.clock += 10.0
        stage.api.refuse = lambda method, _path: away() if method == "DELETE" and stage.api.deleted else None
        await stage.settle()
        assert len(stage.api.deleted) == 1
        stage.add(OBSERVED)
        stage.api.refuse = lambda _method, _path: None
        await rest(stage)
        assert len(stage.api.deleted) == 3
        assert left(stage.api) == []


def in_the_search(monkeypatch: pytest.MonkeyPatch, stage: Stage, then: Callable[[], None]) -> None:
    """`then` happens once, when the next search has found what it looks for, and nobody has heard of that yet."""
    search, left_to_do = stage.controller._search, [then]
    run = search.run

    async def searched(work: Any) -> Any:
        found = await run(work)
        if left_to_do:
            left_to_do.pop()()
        return found

    monkeypatch.setattr(search, "run", searched)


async def test_a_decision_that_comes_after_the_change_is_not_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged(ENFORCED, *singles(2), *hero(2), configuration=canary()) as stage:
        stage.clock += 10.0
        in_the_search(monkeypatch, stage, lambda: stage.add(OBSERVED))
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Observed"], 0)
        assert stage.api.deleted == []


async def test_a_decision_with_a_victim_that_is_not_enforced_any_longer_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    victims = [pod(f"v{each}", node=f"n{each}", requests={"cpu": "4"}, priority=each + 1) for each in (0, 1)]
    victims[1] = pod("v1", namespace=IN, node="n1", requests={"cpu": "4"}, priority=2)
    member = pod("m", namespace=IN, group="gang", requests={"cpu": "4"}, priority=100)
    preemptor = [group("gang", namespace=IN, minimum=1, priority=100), member]
    where = [space(IN, enforced=True), ENFORCED, node("n0"), node("n1")]
    async with staged(*where, *preemptor, *victims, configuration=canary()) as stage:
        stage.clock += 10.0
        in_the_search(monkeypatch, stage, lambda: stage.add(OBSERVED))
        await stage.settle()
        assert stage.api.deleted == ["v1"]
        assert len(stage.api.plans) == 1


async def test_what_was_only_observed_is_decided_anew_after_the_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged(OBSERVED, *singles(2), *hero(2), configuration=canary()) as stage:
        stage.clock += 10.0
        in_the_search(monkeypatch, stage, lambda: stage.add(ENFORCED))
        await stage.settle(20)
        assert len(stage.api.deleted) == 2


async def test_a_gang_that_is_enforced_does_without_victims_that_are_not() -> None:
    """Its plan ends, and it gets another one."""
    victim = pod("victim", node="n0", requests={"cpu": "4"}, priority=1)
    member = pod("m", namespace=IN, group="gang", requests={"cpu": "4"}, priority=100)
    preemptor = [group("gang", namespace=IN, minimum=1, priority=100), member]
    where = [space(IN, enforced=True), ENFORCED, node("n0"), node("n1")]
    async with staged(*where, *preemptor, victim, configuration=canary()) as stage:
        stage.clock += 10.0
        refuse(stage, "DELETE", away)
        stage.add(pod("blocker", node="n1", requests={"cpu": "4"}, priority=1000))
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.add(OBSERVED)
        stage.api.refuse = lambda _method, _path: None
        stage.delete(pod("blocker"))
        await rest(stage)
        assert stage.api.deleted == []
        (first, *_) = stage.api.plans.values()
        assert first["status"]["conditions"][-1]["reason"] == "ModeChanged"


async def test_a_nomination_is_still_known_when_another_namespace_changes() -> None:
    """The API server was away when it was to be withdrawn, and the plan has ended since."""
    async with staged(ENFORCED, *singles(2), *hero(2), configuration=canary()) as stage:
        stage.clock += 10.0
        await ready(stage)
        assert stage.api.nominated
        stage.api.refuse = lambda _method, path: away() if "/pods/" in path else None
        stage.add(OBSERVED)
        await stage.settle()
        stage.list_plans()
        assert stage.api.nominated
        stage.add(space(IN, enforced=True))
        await stage.settle()
        stage.api.refuse = lambda _method, _path: None
        await rest(stage)
        assert left(stage.api) == []


async def test_enforced_again_it_begins_anew() -> None:
    objects = [*singles(2), *hero(2)]
    async with staged(ENFORCED, *objects, configuration=canary()) as stage:
        stage.clock += 10.0
        refuse(stage, "DELETE", away)
        await stage.settle()
        stage.add(OBSERVED)
        stage.api.refuse = lambda _method, _path: None
        await rest(stage)
        assert stage.api.deleted == []
        stage.add(ENFORCED)
        stage.clock += 70.0
        await stage.settle(20)
        assert len(stage.api.deleted) == 2


async def test_enforced_again_its_pods_say_again_that_they_are_held() -> None:
    """For the same reason as before."""
    lasts = pod("lasts", node="n0", requests={"cpu": "4"}, priority=1000)
    async with staged(ENFORCED, node("n0"), lasts, *hero(2), configuration=canary()) as stage:
        said = []
        for where in (ENFORCED, OBSERVED, ENFORCED):
            stage.add(where)
            stage.clock += 70.0
            await stage.settle()
            await stage.written()
            said.append({status for name in ("m0", "m1") for status in held(stage, name)})
        assert said == [{"True"}, {"False"}, {"True"}]


def held(stage: Stage, name: str) -> list[str]:
    """The status of the condition reprieve.dev/Held."""
    conditions = stage.api.of(PODS)[name]["status"].get("conditions", ())
    return [each["status"] for each in conditions if each["type"] == "reprieve.dev/Held"]


NO_ROOM = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient cpu.",
}
PARKED = pod("parked", group="gang", conditions=[NO_ROOM])


async def test_until_parked_pods_are_brought_back_they_are_held() -> None:
    async with staged(ENFORCED, node("n0"), configuration=canary()) as stage:
        stage.add(PARKED)
        await stage.settle()
        stage.api.refuse = lambda _method, path: away() if "/pods/" in path else None
        stage.add(OBSERVED)
        await stage.settle()
        assert stage.controller.holding.now == Holds(pods=1)
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 60.0
        await rest(stage)
        assert {*stage.api.pulsed} == {"parked"}
        assert not stage.controller.holding.now


@pytest.mark.parametrize("said", [Holds(), Holds(pods=1)], ids=["a plan", "the Lease"])
async def test_the_next_leader_brings_back_who_was_parked(said: Holds) -> None:
    """The former one died in between. A plan that goes on says that somebody may be parked. So does the Lease."""
    objects = [*singles(2), *hero(2)]
    async with staged(ENFORCED, *objects, configuration=canary()) as former:
        former.clock += 10.0
        await planned(former)
        await former.close()
        if said:
            former.api.plans.clear()
        stage = former.restart()
        stage.controller.holding = Holding(
            lambda: {PLANNING_MODE: "Enforce", HOLDS: said.text()}, enforces=True
        )
        stage.add(OBSERVED, *(each for each in objects if not isinstance(each, Pod)), PARKED)
        stage.add(*(make(Pod, body) for body in list(former.api.of(PODS).values())))
        await rest(stage)
        assert len(stage.api.pulsed) == 1, "one pod carries the pulse for all of its scheduler"
        assert not stage.controller.holding.now
        await stage.close()


async def test_a_held_pod_that_is_bound_before_it_is_let_go_does_not_say_that_it_is_held() -> None:
    """The scheduler had a reason of its own to try it again, and our write had not been accepted."""
    waits = {
        "type": "reprieve.dev/Held",
        "status": "True",
        "reason": "Gathering",
        "message": "1 of 2 members",
    }
    async with staged(ENFORCED, node("n0"), configuration=canary()) as stage:
        stage.add(pod("late", group="gang", conditions=[waits]))
        await stage.settle()
        stage.api.refuse = lambda _method, path: away() if "/pods/" in path else None
        stage.add(OBSERVED)
        await stage.settle()
        stage.add(pod("late", group="gang", node="n0", conditions=[waits]))
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 60.0
        await rest(stage)
        assert left(stage.api) == []
        assert not stage.controller.holding.now


async def test_where_nothing_was_enforced_a_new_leader_brings_back_nobody() -> None:
    async with staged(OBSERVED, node("n0"), configuration=canary()) as stage:
        stage.add(PARKED)
        await rest(stage)
        assert stage.api.pulsed == []
        assert stage.leading.undoing.tools is None


async def test_a_gauge_counts_what_is_left() -> None:
    def units() -> float | None:
        return REGISTRY.get_sample_value("reprieve_leftovers", {"what": "units"})

    objects = [*unit(3), *hero(3)]
    async with staged(ENFORCED, *objects, configuration=canary()) as stage:
        stage.clock += 10.0
        stage.api.refuse = lambda method, _path: away() if method == "DELETE" and stage.api.deleted else None
        await stage.settle()
        assert units() == 0, "what is enforced is no leftover"
        stage.add(OBSERVED)
        await stage.settle(1)
        assert units() == 1
        stage.api.refuse = lambda _method, _path: None
        await rest(stage)
        assert units() == 0


async def test_a_plan_keeps_its_finalizer_until_its_nominations_are_withdrawn() -> None:
    """A new leader learns from it what is left."""
    async with staged(ENFORCED, *singles(2), *hero(2), configuration=canary()) as stage:
        stage.clock += 10.0
        await ready(stage)
        refuse(stage, "PATCH", away)
        stage.add(OBSERVED)
        await rest(stage)
        assert stage.controller.holding.now.nominations == 2
        assert finalizers(stage) == [[FINALIZER]]
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 60.0
        await rest(stage)
        assert not stage.controller.holding.now
        stage.clock += 60.0
        await rest(stage)
        assert finalizers(stage) == [[]]


def finalizers(stage: Stage) -> list[list[str]]:
    """Of each plan of Enforce."""
    plans = [plan for plan in stage.api.plans.values() if "mode" not in plan["spec"]]
    return [list(plan["metadata"].get("finalizers") or ()) for plan in plans]
