"""No eviction is written that the newest state does not need."""

from __future__ import annotations

from api.workloads import Workload
from tests.kit.quota.objects import (
    cluster_queue,
    cohort,
    cpu,
    evicted,
    held,
    set_condition,
    workload,
)
from tests.unit.controllers.quota.plan_stage import NOW, PlanStage

QUEUES = (
    cohort("all"),
    cluster_queue("a", cpu(4), "all", within="LowerPriority", reclaim="Any"),
    cluster_queue("b", cpu(0), "all"),
)
OWN = held(workload("own", "a", 1), 100)
OTHERS = [held(workload(f"other{number}", "b", 1), 200 + number) for number in range(3)]
VICTIMS = (OWN, *OTHERS)
HERO = workload("hero", "a", 4, priority=5)


def finished(item: Workload) -> Workload:
    return set_condition(item, "Finished", "True", "Succeeded", NOW)


def going(item: Workload) -> Workload:
    """It is preempted, and still holds its quota."""
    return evicted(item, NOW)


async def staged(hero: Workload = HERO, *objects: Workload) -> PlanStage:
    stage = PlanStage(*QUEUES, *VICTIMS, hero, *objects)
    await stage.preempt(hero)
    return stage


async def test_room_that_has_come_back_spares_who_is_left() -> None:
    stage = await staged(workload("hero", "a", 3, priority=5))
    victims = [each for each in VICTIMS if stage.plans.preemption_of(f"ns/{each.metadata.name}")]
    assert len(victims) == 3
    (free,) = [each for each in VICTIMS if each not in victims]
    stage.put(finished(free))
    first, second, third = victims
    stage.put(going(first), going(second))
    assert stage.going(third) == []
    assert stage.plans.waits("ns/hero"), "for the two that are on their way out"
    stage.put(finished(first), finished(second))
    assert not stage.plans.waits("ns/hero"), "there is room, although a victim is left"


async def test_who_was_spared_goes_if_the_room_is_taken() -> None:
    stage = await staged()
    stage.put(finished(OWN), *(finished(each) for each in OTHERS[1:]))
    assert stage.going(OTHERS[0]) == ["other0"], "one CPU is missing"
    big = workload("hero", "a", 3, priority=5)
    stage = await staged(big)
    spared = [each for each in VICTIMS if stage.going(each)]
    stage.put(finished(spared[0]), finished(next(each for each in VICTIMS if each not in spared)))
    left = spared[1:]
    stage.put(going(left[0]))
    assert stage.going(left[1]) == []
    stage.looked.clear()
    assert stage.plans.waits("ns/hero")
    assert stage.looked == []
    stage.put(held(workload("taker", "b", 1, priority=9), NOW))
    assert stage.plans.waits("ns/hero")
    assert stage.looked == [f"ns/{left[1].metadata.name}"]
    assert stage.going(left[1])


async def test_a_victim_that_is_being_written_does_not_call_itself_off() -> None:
    stage = await staged()
    stage.quota.assume(going(OWN))
    assert stage.going(OWN) == ["own"]


async def test_two_plans_do_not_count_on_the_same_room() -> None:
    second = workload("second", "a", 1, priority=5)
    stage = await staged(workload("hero", "a", 1, priority=5), second)
    stage.begin(second)
    await stage.plans.settle()
    victims = [each for each in VICTIMS if stage.going(each)]
    assert len(victims) == 2
    stage.put(finished(next(each for each in VICTIMS if each not in victims)))
    assert len(stage.going(*victims)) == 2, "each would leave the room to the other one's promise"
    stage.put(going(victims[0]))
    assert stage.going(victims[1]) == [], "what is free and what comes back is enough for both"
