"""What pods and events say: pods once a phase and without numbers, events once for each cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controllers.gangs.lifecycle.effects import CannotSchedule
from controllers.gangs.lifecycle.life import ActivePlan, Ending
from controllers.gangs.telling.causes import REMEMBERED, Causes
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.lives import in_phase

KEY = ("default", "gang")
BIG = {"cpu": "64"}
CANNOT = "pod group default/gang cannot be placed now, see its conditions"


def members(count: int) -> list[Any]:
    return [pod(f"m{number}", group="gang", requests=BIG) for number in range(count)]


def plan_of_the_gang() -> ActivePlan:
    plan = in_phase("Planned").plan
    plan.spec.preemptor.namespace, plan.spec.preemptor.name = KEY
    return plan


def events(stage: Stage) -> list[tuple[str, str]]:
    """Reason and note of each event, in order."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [(each["reason"], each["note"]) for each in stored]


def pod_writes(stage: Stage) -> int:
    return sum("/pods/" in written.path for written in stage.api.written)


async def tell(
    stage: Stage, message: str, reason: str = "Unschedulable", phase: Any = "Unschedulable"
) -> None:
    await stage.leading.telling.reporter.cannot_schedule(
        KEY, CannotSchedule(phase, reason, message, repeated=False)
    )
    await stage.settle(2)


async def test_pods_name_the_phase_once_whatever_the_numbers_are() -> None:
    async with staged(node("n0"), gang(minimum=2), *members(2)) as stage:
        await stage.settle()
        assert stage.api.said == {"m0": CANNOT, "m1": CANNOT}
        assert (stage.api.reasons["m0"], pod_writes(stage)) == ("Unschedulable", 2)
        await tell(stage, "room for 1 of 2 members")
        await tell(stage, "members differ", "PriorityMismatch")
        assert pod_writes(stage) == 2
        assert stage.api.group_said["gang"] == "members differ"
        await tell(stage, "not modelled: volumes", "Blocked", "Blocked")
        assert pod_writes(stage) == 4
        assert stage.api.reasons["m0"] == "Blocked"


async def test_what_a_former_process_has_said_is_not_said_again() -> None:
    """Each write would bring a held pod back to the scheduler."""
    async with staged(node("n0"), gang(minimum=2), *members(2)) as stage:
        await stage.settle()
        assert pod_writes(stage) == 2
        held = [{"type": "reprieve.dev/Held", "status": "True", "message": CANNOT}]
        woken = [{"type": "reprieve.dev/Held", "status": "False", "message": CANNOT}]
        then = stage.restart()
        told = pod("m0", group="gang", requests=BIG, conditions=held)
        then.add(node("n0"), gang(minimum=2), told, pod("m1", group="gang", requests=BIG, conditions=woken))
        await then.settle()
        assert [path for _, path, _ in then.api.written if "/pods/" in path][2:] == [
            "/api/v1/namespaces/default/pods/m1/status"
        ]
        await then.close()


async def test_a_member_that_comes_later_hears_it_too() -> None:
    async with staged(node("n0"), gang(minimum=2), *members(2)) as stage:
        await stage.settle()
        stage.add(*members(3)[2:])
        await tell(stage, "room for 1 of 3 members")
        assert stage.api.said == {"m0": CANNOT, "m1": CANNOT, "m2": CANNOT}
        assert pod_writes(stage) == 3


async def test_after_a_plan_pods_hear_it_again() -> None:
    """The plan's end has told them something else."""
    async with staged(node("n0"), gang(minimum=2), *members(2)) as stage:
        await stage.settle()
        await stage.leading.telling.reporter.ended(
            plan_of_the_gang(), Ending("Aborted", "NotConfirmed", "nobody said so")
        )
        await tell(stage, "room for 1 of 2 members")
        assert pod_writes(stage) == 4


async def test_one_event_for_each_cause() -> None:
    """Retries that find other numbers make a series of it."""
    async with staged(gang(minimum=2)) as stage:
        await stage.settle()
        for free in (1, 2, 3):
            await tell(stage, f"room for {free} of 4 members")
        await tell(stage, "no node has the resource x")
        await tell(stage, "room for 4 of 4 members")
        assert events(stage) == [
            ("Unschedulable", "room for 1 of 4 members"),
            ("Unschedulable", "no node has the resource x"),
        ]
        first = next(iter(stage.api.of("/apis/events.k8s.io/v1/events").values()))
        assert first["series"]["count"] > 1


async def test_how_plans_end_is_said_once_for_each_cause() -> None:
    """`NotConfirmed` is said by the gang, whose condition tells it as well."""
    async with staged(gang(minimum=2)) as stage:
        await stage.settle()
        reporter = stage.leading.telling.reporter
        for name in ("gang-a", "gang-b"):
            plan = replace(plan_of_the_gang(), name=name)
            await reporter.ended(plan, Ending("Aborted", "RoomTaken", "node n0 is gone"))
            await reporter.ended(plan, Ending("Aborted", "NotConfirmed", "nothing shows it"))
        await stage.settle(2)
        assert events(stage) == [("RoomTaken", "plan gang-a ended: node n0 is gone")]


def test_causes_are_forgotten_oldest_first() -> None:
    causes = Causes(ManualClock())
    assert causes.note(KEY, "Why", "1 pod", "first") == "first"
    assert causes.note(KEY, "Why", "2 pod", "second") == "first"
    assert causes.note(KEY, "Other", "2 pod", "third") == "third"
    assert causes.note(("default", "other"), "Why", "2 pod", "fourth") == "fourth"
    for letter in range(REMEMBERED):
        causes.note(KEY, f"Reason{letter}", "text", "text")
    assert causes.note(KEY, "Why", "3 pod", "again") == "again"
    causes.forget(KEY)
    assert causes.note(KEY, "Why", "4 pod", "anew") == "anew"


def test_the_next_series_has_its_own_numbers() -> None:
    clock = ManualClock()
    causes = Causes(clock)
    for seconds in (0.0, 300.0, 300.0):
        clock.advance(seconds)
        assert causes.note(KEY, "Why", "1 pod", f"after {seconds}") == "after 0.0"
    clock.advance(400.0)
    assert causes.note(KEY, "Why", "2 pod", "much later") == "much later"


async def test_pods_of_a_gang_that_gathers_for_long_say_so_once() -> None:
    """The scheduler says what their nodes lack, which is not why they wait."""
    gathers = "pod group default/gang waits for members or for a plan, see its conditions"
    async with staged(node("n0"), gang(minimum=4), *members(2)) as stage:
        await stage.settle()
        stage.clock += 0.1
        await stage.settle()
        stage.clock += 4.9
        await stage.settle()
        assert stage.api.said == {}
        stage.clock += 0.1
        await stage.settle()
        assert stage.api.said == {"m0": gathers, "m1": gathers}
        assert stage.api.reasons["m0"] == "Gathering"
        stage.add(*members(3)[2:])
        await stage.settle()
        stage.clock += 1.1
        await stage.settle()
        assert stage.api.said["m2"] == gathers
        assert pod_writes(stage) == 3
        stage.clock += 60.0
        await stage.settle()
        assert pod_writes(stage) == 3
