"""What the planner promises, whatever the rules of a life are: whose turn it is, and in which order things are done."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from controllers.gangs import planner
from controllers.gangs.evicting import evictions
from controllers.gangs.mirror.group_members import Claim
from kube.errors import ApiError
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.objects import BIG, gang, group, member, node, pod
from tests.kit.stage import Stage, staged
from tests.kit.waiting import beside

PLANS = "/preemptionplans"


def away(method: str, part: str) -> Any:
    """The API server is away for these requests."""
    return lambda each, path: ApiError(503, "Away", "x", 0) if each == method and part in path else None


def victim(number: int = 0, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def since(created: str, made: Any) -> Any:
    """The same object, created then."""
    metadata = msgspec.structs.replace(made.metadata, creation_timestamp=created)
    return msgspec.structs.replace(made, metadata=metadata)


def one_to_evict() -> list[Any]:
    """A gang of one, and the pod in its way."""
    return [node("n0"), gang(minimum=1), member("m0"), victim()]


async def evicting(stage: Stage) -> None:
    """The plan is made, and the scheduler asks for the room in the way that confirms it."""
    await stage.settle()
    stage.preempt(member("m0"), n0=[victim().metadata.uid])
    await stage.settle()


def preemptors(stage: Stage) -> list[str]:
    """Whose plans were written, in the order of their commits."""
    written = stage.api.written
    return [each.body["spec"]["preemptor"]["name"] for each in written if each.path.endswith(PLANS)]


def steps(stage: Stage) -> list[str]:
    """What was written about plans and pods, in order."""
    found = []
    for method, path, body in stage.api.written:
        status = (body.get("status") or {}) if isinstance(body, dict) else {}
        if PLANS in path and method == "POST":
            found.append("plan")
        elif PLANS in path and "phase" in status:
            found.append(status["phase"])
        elif "/pods/" in path and method == "DELETE":
            found.append("delete")
        elif "/pods/" in path:
            kinds = {each["type"] for each in status.get("conditions", ())}
            found.append("mark" if "DisruptionTarget" in kinds else "wake")
    return found


# ---- whose turn it is


async def test_gangs_are_planned_by_priority_then_age_then_name() -> None:
    gangs = [
        gang("z-first", minimum=1, priority=300),
        since("2026-01-01T00:00:00Z", gang("y-older", minimum=1)),
        since("2026-01-02T00:00:00Z", gang("a", minimum=1)),
        since("2026-01-02T00:00:00Z", gang("b", minimum=1)),
        gang("c-last", minimum=1, priority=None, priorityClassName="unknown"),
    ]
    async with staged() as stage:
        for each in reversed(gangs):
            stage.add(each, member(f"m-{each.metadata.name}", group=each.metadata.name))
        await stage.settle()
        assert preemptors(stage) == ["z-first", "y-older", "a", "b"]


async def test_the_room_goes_to_the_gang_of_the_highest_priority() -> None:
    async with staged(node("n0")) as stage:
        for name, priority in (("low", 5), ("high", 100)):
            stage.add(gang(name, minimum=1, priority=priority), member(f"m-{name}", group=name))
        await stage.settle()
        assert stage.filter(member("m-low", group="low"), "n0") == []
        assert stage.filter(member("m-high", group="high"), "n0") == ["n0"]


async def test_one_step_makes_one_plan_and_says_whether_more_are_due() -> None:
    async with staged(node("n0"), node("n1")) as stage:
        await stage.settle()
        for name in ("a", "b"):
            stage.add(gang(name, minimum=1), member(f"m-{name}", group=name))
        for planned in (["a"], ["a", "b"]):
            assert await stage.leading.planner.step()
            await stage.written()
            assert preemptors(stage) == planned
        assert not await stage.leading.planner.step()


# ---- faults


async def test_a_fault_with_one_gang_holds_up_no_other() -> None:
    """The one of the highest priority comes first, and fails again and again."""
    broken = [
        group("broken", namespace="other", minimum=1, priority=900),
        pod("b0", namespace="other", group="broken", requests=BIG),
    ]
    async with staged(node("n0"), node("n1"), gang(minimum=1), member("m0"), *broken) as stage:

        def fault(_: str, path: str) -> ApiError | None:
            if f"/other{PLANS}" in path:
                raise RuntimeError("a fault of ours")
            return None

        stage.api.refuse = fault
        await stage.settle()
        assert preemptors(stage) == ["gang"]
        assert stage.filter(member("m0"), "n0", "n1") != []
        assert stage.reserved == 1, "nothing is reserved for what could not be written"
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 3600
        await stage.settle()
        assert preemptors(stage).count("broken") == 1


async def test_a_step_that_fails_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "RETRY_SECONDS", 0.0)
    async with staged(node("n0"), gang(minimum=1), member("m0")) as stage:
        stage.list_plans()
        await stage.controller.take_over(stage.leading)
        step, faults, planned = stage.leading.planner.step, [RuntimeError("a fault of ours")], asyncio.Event()

        async def failing_once() -> bool:
            if faults:
                raise faults.pop()
            more = await step()
            if preemptors(stage):
                planned.set()
            return more

        monkeypatch.setattr(stage.leading.planner, "step", failing_once)
        async with beside(stage.leading.planner.run()) as running:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await planned.wait()
            assert not running.done()


async def test_an_eviction_that_fails_is_tried_until_it_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evictions, "RETRY_SECONDS", 0.0)
    async with staged(*one_to_evict()) as stage:
        stage.leading.writer._sender._attempts = 1
        tried: list[str] = []

        def twice_away(method: str, path: str) -> ApiError | None:
            tried.extend([path] if method == "DELETE" else [])
            return ApiError(503, "Away", "x", 0) if method == "DELETE" and len(tried) < 3 else None

        stage.api.refuse = twice_away
        await evicting(stage)
        assert (len(tried), stage.api.deleted) == (3, ["v0"])


async def test_an_end_that_cannot_be_written_frees_the_room_and_is_written_later() -> None:
    async with staged(*one_to_evict()) as stage:
        await evicting(stage)
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = away("PATCH", PLANS)
        stage.delete(gang(minimum=1))
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Evicting"], 0)
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 1
        await stage.settle()
        (plan,) = stage.api.plans.values()
        assert plan["status"]["phase"] == "Aborted"
        assert plan["status"]["conditions"][-1]["reason"] == "PodGroupDeleted"
        assert not plan["metadata"].get("finalizers")


# ---- one thing after the other


async def test_what_a_gang_needs_is_done_in_order() -> None:
    """Every phase is written before anything is done in it."""
    async with staged(*one_to_evict()) as stage:
        await evicting(stage)
        stage.delete(victim())
        await stage.settle()
        assert stage.api.nominated == {"m0": "n0"}
        stage.add(member("m0", node="n0"))
        await stage.settle()
        promised = ["plan", "Planned", "Confirmed", "Evicting", "mark", "delete", "Ready", "wake", "Bound"]
        done = [each for each in steps(stage) if each in promised]
        while "wake" in done[: done.index("Ready")]:
            done.remove("wake")  # the scheduler was asked before it confirmed
        assert done == promised


@pytest.mark.parametrize("phase", ["Planned", "Evicting"])
async def test_nobody_goes_before_the_phase_is_written(phase: str) -> None:
    async with staged(*one_to_evict()) as stage:
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = away("PATCH", PLANS) if phase == "Evicting" else away("POST", PLANS)
        await evicting(stage)
        stage.clock += 2
        await stage.settle()
        assert not {"mark", "delete"} & {*steps(stage)}


# ---- a mirror that is not trusted


async def test_without_a_trusted_mirror_nothing_is_planned() -> None:
    async with staged() as stage:
        await stage.settle()
        stage.silence(1000)
        stage.add(*one_to_evict())
        stage.clock += 60
        await stage.settle()
        assert (stage.api.plans, stage.reserved) == ({}, 0)
        stage.silence(0)
        await stage.settle()
        assert preemptors(stage) == ["gang"]


async def test_without_a_trusted_mirror_nobody_is_evicted_for_a_plan_that_was_made_before() -> None:
    async with staged(*one_to_evict()) as stage:

        def falls_silent(method: str, path: str) -> ApiError | None:
            if method == "PATCH" and PLANS in path:
                stage.silence(1000)
            return None

        stage.api.refuse = falls_silent
        await evicting(stage)
        assert stage.api.deleted == []
        stage.api.refuse = lambda _method, _path: None
        stage.silence(0)
        await evicting(stage)
        assert stage.api.deleted == ["v0"]


# ---- the end of a term


async def test_evictions_end_with_the_term_and_the_next_one_goes_on() -> None:
    two = [node("n0"), node("n1"), victim(0), victim(1), gang(minimum=2), member("m0"), member("m1")]
    async with staged(*two) as stage:
        request, hanging = stage.api.request, asyncio.Event()

        async def hang(method: str, path: str, **options: Any) -> bytes:
            if method == "DELETE":
                hanging.set()
                await asyncio.Event().wait()
            return await request(method, path, **options)

        stage.api.request = hang  # type: ignore[method-assign]
        await stage.settle()
        for number in range(2):
            stage.preempt(member(f"m{number}"), n0=[victim(0).metadata.uid], n1=[victim(1).metadata.uid])
        await stage.settle()
        assert hanging.is_set()
        await stage.close()
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("evict ")]
        stage.api.request = request  # type: ignore[method-assign]
        await stage.leading.planner.step()
        assert stage.api.deleted == []
        again = stage.restart()
        again.add(*two)
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1"]
        await again.close()


# ---- pods that filter has turned down


async def test_members_held_are_let_go_when_their_group_is_no_gang_any_longer() -> None:
    async with staged(node("n0"), gang(minimum=2), member("m0")) as stage:
        await stage.settle()
        assert stage.filter(member("m0"), "n0") == []
        stage.add(gang(minimum=0))
        await stage.settle()
        assert stage.api.woken == ["m0"]
        assert stage.filter(member("m0"), "n0") == ["n0"]


async def test_members_held_are_let_go_once_enough_others_run() -> None:
    running = [member("r0", node="n1"), member("r1", node="n2")]
    async with staged(node("n1"), node("n2"), gang(minimum=3), member("m0"), *running) as stage:
        await stage.settle()
        assert stage.filter(member("m0"), "n1") == []
        stage.add(gang(minimum=2))
        await stage.settle()
        assert stage.api.woken == ["m0"]


async def test_a_pod_kept_out_of_room_that_is_not_reserved_any_longer_is_let_go() -> None:
    """Filter turned it down, and no plan has ended since."""
    late = pod("late", requests=BIG, priority=5)
    async with staged(node("n0"), late) as stage:
        await stage.settle()
        reservations = stage.controller.known.promises.reservations
        reservations.open(("default", "other"), 100)
        reservations.put_claim(("default", "other"), "m", Claim("n0", {"cpu": 4000, "pods": 1}))
        assert stage.filter(late, "n0") == []
        await stage.settle()
        assert stage.api.woken == []
        reservations.release(("default", "other"))
        await stage.settle()
        assert stage.api.woken == ["late"]


# ---- which member goes where


async def test_members_that_are_alike_are_planned_where_the_scheduler_offered_them_room() -> None:
    """The scheduler shows each member another part of the nodes."""
    first, second = member("m0"), member("m1")
    async with staged(node("n0"), node("n1"), victim(0), victim(1)) as stage:
        stage.agrees = False
        await stage.settle()
        stage.add(first, second)
        for each, number in ((first, 1), (second, 0)):
            stage.preempt(each, **{f"n{number}": [victim(number).metadata.uid]})
        stage.add(gang(minimum=2))
        await stage.settle()
        (plan,) = stage.api.plans.values()
        assert {each["pod"]: each["node"] for each in plan["spec"]["placements"]} == {"m0": "n1", "m1": "n0"}
        assert sorted(stage.api.deleted) == ["v0", "v1"], "both are confirmed at once"


async def test_a_plan_that_evicts_waits_until_the_scheduler_has_tried_every_member() -> None:
    async with staged(node("n0"), node("n1"), victim(0), victim(1)) as stage:
        stage.wait_for_attempts(5.0)
        await stage.settle()
        stage.add(gang(minimum=2), member("m0"), member("m1"))
        await stage.settle()
        stage.preempt(member("m0"), n1=[victim(1).metadata.uid])
        await stage.settle()
        assert stage.phases() == [], "m1 has not been tried"
        stage.preempt(member("m1"), n0=[victim(0).metadata.uid])
        await stage.settle()
        assert stage.phases() == ["Evicting"]


@pytest.mark.parametrize("fits", [True, False])
async def test_a_plan_waits_for_attempts_only_if_it_evicts_and_not_for_ever(fits: bool) -> None:
    there = [node("n0"), victim(), *([node("n1")] if fits else [])]
    async with staged(*there) as stage:
        stage.wait_for_attempts(5.0)
        await stage.settle()
        stage.add(gang(minimum=1), member("m0"))
        await stage.settle()
        assert stage.phases() == (["Ready"] if fits else [])
        stage.clock += 5
        await stage.settle()
        assert stage.phases() == (["Ready"] if fits else ["Evicting"])


# ---- who is brought back


@pytest.mark.parametrize("tried", [True, False])
async def test_only_members_that_the_scheduler_has_turned_down_are_brought_back(tried: bool) -> None:
    """The others are in its queue anyway, or nobody schedules them."""
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    waits = member("m0", conditions=[said] if tried else [])
    async with staged(node("n0"), gang(minimum=1), waits, victim()) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        assert stage.api.pulsed == (["m0"] if tried else [])
        for seconds in (1, 6):  # the next pulse, and then the scheduler's word
            stage.clock += seconds
            await stage.settle()
        assert stage.phases() == ["Aborted"], "nobody has asked for the gang"
