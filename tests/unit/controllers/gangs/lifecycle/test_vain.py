"""After evictions in vain: what is stored and counted, and how long nothing is evicted for which gang."""

from __future__ import annotations

from typing import Any

from controllers.gangs.metrics import EVICTIONS_IN_VAIN
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.stage import Stage, staged


def victim(number: int, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def intruder(number: int, **fields: Any) -> Any:
    """A pod that somebody else binds where room was made."""
    later = {"node": f"n{number}", "requests": BIG, "priority": 1, "created": "2030-01-01T00:00:00Z"}
    return pod(f"x{number}", **{**later, **fields})


def full(nodes: int) -> list[Any]:
    return [each for number in range(nodes) for each in (node(f"n{number}"), victim(number))]


def counted() -> float:
    return float(EVICTIONS_IN_VAIN._value.get())


def verdicts(stage: Stage) -> list[tuple[str, str]]:
    """Status and reason of every stored verdict."""
    plans = (plan.get("status", {}).get("conditions", []) for plan in stage.api.plans.values())
    return [(each["status"], each["reason"]) for plan in plans for each in plan if each["type"] == "InVain"]


async def in_vain(stage: Stage, number: int) -> None:
    """The planned victim goes, and a pod that never asked takes its room."""
    stage.delete(victim(number))
    stage.add(intruder(number))
    await stage.settle()


async def test_room_that_a_stranger_takes_was_made_in_vain_and_its_node_is_spared() -> None:
    before = counted()
    async with staged(*full(2), gang(minimum=1), member()) as stage:
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        await in_vain(stage, 0)
        assert verdicts(stage) == [("True", "EvictedInVain")]
        assert counted() == before + 1
        assert next(iter(stage.api.plans.values()))["status"].get("takenNodes") == ["n0"]
        assert stage.api.reasons["gang"] == "EvictedInVain"
        stage.clock += 2
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"], "not x0, which took the room"


async def test_after_two_plans_in_vain_nobody_goes_for_half_an_hour() -> None:
    async with staged(*full(4), gang(minimum=1), member()) as stage:
        await stage.settle()
        await in_vain(stage, 0)
        stage.clock += 2
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"]
        await in_vain(stage, 1)
        assert verdicts(stage) == [("True", "EvictedInVain")] * 2
        for _ in range(29):
            stage.clock += 60
            await stage.settle(3)
        assert stage.api.deleted == ["v0", "v1"]
        assert "2 plans for it evicted pods in vain" in stage.api.group_said["gang"]
        assert "nodes n0, n1" in stage.api.group_said["gang"]
        stage.clock += 120
        await stage.settle()
        assert len(stage.api.deleted) == 3


async def barred(stage: Stage) -> None:
    """Two plans go in vain."""
    await stage.settle()
    await in_vain(stage, 0)
    stage.clock += 2
    await stage.settle()
    await in_vain(stage, 1)
    stage.clock += 120
    await stage.settle()
    assert stage.api.deleted == ["v0", "v1"]


async def test_a_barred_gang_takes_free_room() -> None:
    async with staged(*full(3), gang(minimum=1), member()) as stage:
        await barred(stage)
        stage.add(node("n9"))
        stage.clock += 60
        await stage.settle()
        assert stage.api.nominated == {"m0": "n9"}
        assert stage.api.deleted == ["v0", "v1"]


async def test_a_change_of_the_group_or_of_a_taken_node_lifts_the_bar() -> None:
    for change in (gang(minimum=1, generation=2), node("n1", labels={"changed": "yes"})):
        async with staged(*full(3), gang(minimum=1), member()) as stage:
            await barred(stage)
            stage.add(change)
            stage.clock += 60
            await stage.settle()
            assert stage.api.deleted == ["v0", "v1", "v2"]


async def test_another_node_that_changes_does_not_lift_it() -> None:
    async with staged(*full(3), gang(minimum=1), member()) as stage:
        await barred(stage)
        stage.add(node("n2", labels={"changed": "yes"}))
        stage.clock += 60
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"]


async def test_a_gang_that_runs_begins_anew() -> None:
    async with staged(*full(3), gang(minimum=1), member()) as stage:
        await barred(stage)
        stage.add(member(node="n9"), node("n9"))
        await stage.settle()
        stage.delete(member(node="n9"), node("n9"))
        stage.add(member(1))
        stage.clock += 2
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1", "v2"]


async def test_the_next_process_knows_it_too() -> None:
    objects = [*full(3)[4:], node("n0"), node("n1"), intruder(0), intruder(1), gang(minimum=1), member()]
    async with staged(*full(3), gang(minimum=1), member()) as stage:
        await barred(stage)
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        again.clock += 600
        await again.settle()
        assert again.api.deleted == ["v0", "v1"]
        assert "2 plans for it evicted pods in vain" in again.api.group_said["gang"]
        again.clock += 1800
        await again.settle()
        assert len(again.api.deleted) == 3
        await again.close()


async def test_a_plan_without_a_verdict_gets_it_from_the_next_process() -> None:
    async with staged(*full(2), gang(minimum=1), member()) as stage:
        await stage.settle()
        stage.delete(victim(0))
        stage.add(intruder(0))
        stage.leading.planner._following.follow()  # the plan ends, and the process before the next decision
        await stage.written()
        assert stage.phases() == ["Aborted"]
        assert verdicts(stage) == []
        again = stage.restart()
        again.add(*full(2)[2:], node("n0"), intruder(0), gang(minimum=1), member())
        await again.settle()
        assert verdicts(again) == [("True", "EvictedInVain")]
        await again.close()


async def test_a_plan_that_goes_on_with_the_room_forgives_the_one_that_made_it() -> None:
    """Two are needed; one victim goes, then the node of the other one, which stays, takes nobody any longer."""
    before = counted()
    async with staged(*full(3), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"]
        stage.delete(victim(0))
        await stage.settle()
        stage.add(node("n1", unschedulable=True))
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1", "v2"]
        assert verdicts(stage) == [("False", "Continued")]
    assert counted() == before


async def test_a_node_that_changes_meanwhile_is_nobodys_fault() -> None:
    before = counted()
    async with staged(*full(3), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        stage.delete(victim(0), victim(1))
        stage.add(node("n1", unschedulable=True))
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1", "v2"]
        assert verdicts(stage) == [("False", "Continued")]
    assert counted() == before


async def test_one_of_two_nodes_that_a_stranger_takes_is_enough() -> None:
    async with staged(*full(3), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        stage.delete(victim(0), victim(1))
        stage.add(intruder(1))
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"]
        assert verdicts(stage) == [("True", "EvictedInVain")]


async def test_room_that_is_handed_over_was_not_made_in_vain() -> None:
    before = counted()
    async with staged(*full(1), gang(minimum=1), member()) as stage:
        await stage.settle()
        high = gang("high", minimum=1, priority=1000)
        stage.add(high, pod("h0", group="high", requests=BIG, priority=1000))
        await stage.settle()
        stage.delete(victim(0))
        stage.clock += 2
        await stage.settle()
        assert stage.api.nominated == {"h0": "n0"}
        assert verdicts(stage) == []
    assert counted() == before


async def test_a_pod_that_asked_is_no_stranger() -> None:
    """A pod of higher priority passes filter, and takes the room: its node is not spared."""
    async with staged(*full(2), gang(minimum=1), member()) as stage:
        await stage.settle()
        stage.delete(victim(0))
        high = intruder(0, node="", priority=1000)
        stage.add(high)
        assert stage.filter(high, "n0") == ["n0"]
        stage.add(intruder(0, priority=1000))
        await stage.settle()
        assert verdicts(stage) == [("True", "EvictedInVain")]
        assert next(iter(stage.api.plans.values()))["status"].get("takenNodes") is None


async def test_nobody_goes_for_a_member_of_which_the_scheduler_says_nothing() -> None:
    """After an eviction in vain the scheduler must confirm, whatever the setting."""
    async with staged(*full(2), gang(minimum=1), member()) as stage:
        await stage.settle()
        stage.agrees = False
        await in_vain(stage, 0)
        for _ in range(20):
            stage.clock += 10
            await stage.settle(3)
            stage.filter(member())
        assert stage.api.deleted == ["v0"]
        assert "NotConfirmed" in str(stage.api.plans)
