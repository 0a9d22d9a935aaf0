"""Units are marked while others are evicted: how many, when not, and what becomes of the marks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controllers.gangs.evicting.runs import AT_ONCE
from controllers.gangs.lifecycle.observations import GroupGone
from kube.errors import ApiError
from runtime.exchange.owner_stops import NotStoppedError
from tests.kit.canary import canary, space
from tests.kit.eviction_stage import BIG, Requests, denied, hero, impatient, marked, refuse, the_plan, unit
from tests.kit.objects import gang, pod
from tests.kit.paused import pause, resume
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

UNITS, PODS = 10, 4


def units(number: int = UNITS, pods: int = PODS) -> list[Any]:
    """Groups that are evicted whole, and the gang that needs all their nodes."""
    groups = [each for at in range(number) for each in unit(pods, name=f"unit-{at}", first=at * pods)]
    return [*groups, *hero(number * pods)]


def unit_of(name: str, pods: int = PODS) -> int:
    return int(name[1:]) // pods


class Held:
    """Requests of one method to pods of some units wait until `release`."""

    def __init__(self, stage: Stage, held: str, is_held: Callable[[str], bool]) -> None:
        self.waiting, self._open = list[str](), asyncio.Event()
        real = stage.api.request

        async def request(method: str, path: str, **options: Any) -> bytes:
            name = path.removesuffix("/status").rpartition("/")[2]
            is_dry = options.get("query") or b"dryRun" in (options.get("body") or b"")
            if method == held and "/pods/u" in path and not is_dry and is_held(name):
                self.waiting.append(name)
                await self._open.wait()
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]

    def release(self) -> None:
        self._open.set()


@asynccontextmanager
async def ahead(*objects: Any, **settings: Any) -> AsyncIterator[tuple[Stage, Held]]:
    """The first pod of all is gone. All other deletions wait, and units are marked ahead."""
    async with staged(*(objects or units()), **settings) as stage:
        first = list[str]()

        def all_but_the_first(name: str) -> bool:
            first.append(name)
            return len(first) > 1

        held = Held(stage, "DELETE", all_but_the_first)
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == 1
        yield stage, held


def begun(stage: Stage) -> set[int]:
    """Units with a pod whose deletion was asked for."""
    return {unit_of(name) for name in stage.api.deleted}


async def test_the_first_pod_of_all_is_deleted_before_another_unit_is_marked() -> None:
    async with staged(*units()) as stage:
        held = Held(stage, "DELETE", lambda _: True)
        await stage.settle(steps=20)
        assert len(held.waiting) == 1
        assert {unit_of(name) for name in marked(stage)} == {unit_of(held.waiting[0])}
        held.release()
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == UNITS * PODS


async def test_several_units_are_marked_at_a_time_as_many_as_fill_the_slots() -> None:
    """Their first marks are not answered, and those of others are asked for all the same."""
    async with staged(*units()) as stage:
        first = list[str]()

        def of_another_unit(name: str) -> bool:
            first.append(name)
            return unit_of(name) != unit_of(first[0])

        held = Held(stage, "PATCH", of_another_unit)
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == PODS
        waiting = {unit_of(name) for name in held.waiting}
        assert len(held.waiting) == len(waiting) == AT_ONCE // PODS
        held.release()
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == UNITS * PODS


async def test_every_unit_is_stored_before_it_is_marked_and_marked_before_it_is_deleted() -> None:
    async with staged(*units()) as stage:
        stored, marks = set[str](), set[str]()
        requests = Requests(stage)

        def look(method: str, path: str) -> ApiError | None:
            name = path.removesuffix("/status").rpartition("/")[2]
            if "/pods/u" not in path or method not in ("PATCH", "DELETE"):
                return None
            listed = the_plan(stage)["status"].get("begun") or []
            assert f"uid-unit-{unit_of(name)}" in listed
            stored.add(name)
            if method == "PATCH":
                marks.add(name)
                return None
            assert {each for each in marks if unit_of(each) == unit_of(name)} == {
                f"u{number}" for number in range(unit_of(name) * PODS, (unit_of(name) + 1) * PODS)
            }
            return None

        stage.api.refuse = look
        await stage.settle(steps=20)
        assert len(stored) == len(marks) == UNITS * PODS
        assert len(requests.names("PATCH")) == len(requests.names("DELETE")) == UNITS * PODS
        assert the_plan(stage)["status"].get("begun") != []


def pauses(stage: Stage) -> None:
    pause(stage)


def plan_ends(stage: Stage) -> None:
    preemptor = stage.leading.gangs.get(("default", "gang"))
    assert preemptor is not None
    stage.delete(gang(minimum=UNITS * PODS))
    stage.leading.gangs.observe(preemptor, GroupGone())


def rises(stage: Stage) -> None:
    """A unit that comes next has a higher priority now: the plan has changed."""
    (next_unit, *_) = sorted({unit_of(name) for name in marked(stage)} - begun(stage))
    stage.add(*unit(PODS, name=f"unit-{next_unit}", first=next_unit * PODS, priority=500))
    for number in range(next_unit * PODS, (next_unit + 1) * PODS):
        stage.add(pod(f"u{number}", group=f"unit-{next_unit}", node=f"n{number}", requests=BIG, priority=500))


@pytest.mark.parametrize("stops", [pauses, plan_ends, rises])
async def test_units_that_were_marked_ahead_and_do_not_begin_lose_their_marks(
    stops: Callable[[Stage], None],
) -> None:
    async with ahead() as (stage, held):
        assert {unit_of(name) for name in marked(stage)} - begun(stage)
        stops(stage)
        held.release()
        await stage.settle(steps=20)
        assert {unit_of(name) for name in marked(stage)} <= begun(stage)
        for number in range(UNITS):
            evicted = [name for name in stage.api.deleted if unit_of(name) == number]
            assert len(evicted) in (0, PODS) or stops is pauses


async def test_after_a_pause_the_unit_that_had_begun_is_finished_and_the_others_are_decided_anew() -> None:
    async with ahead() as (stage, held):
        pause(stage)
        held.release()
        await stage.settle(steps=20)
        assert 0 < len(begun(stage)) < UNITS
        stage.delete(*(pod(name) for name in stage.api.deleted))
        resume(stage)
        stage.clock += 2
        await stage.settle(steps=20)
        stage.clock += 2
        await stage.settle(steps=20)
        assert len(set(stage.api.deleted)) == UNITS * PODS


@pytest.mark.parametrize("comes_back", [False, True])
async def test_units_that_were_marked_ahead_lose_their_marks_when_the_mode_changes(
    *, comes_back: bool
) -> None:
    enforced, observed = space("default", enforced=True), space("default", enforced=False)
    async with ahead(enforced, *units(), configuration=canary()) as (stage, held):
        assert {unit_of(name) for name in marked(stage)} - begun(stage)
        stage.add(observed)
        if comes_back:
            stage.add(enforced)
        held.release()
        await stage.settle(steps=20)
        stage.clock += 2
        await stage.settle(steps=20)
        if comes_back:
            assert len(stage.api.deleted) == UNITS * PODS
            return
        assert {unit_of(name) for name in marked(stage)} <= begun(stage)
        assert 0 < len(begun(stage)) < UNITS
        assert len(stage.api.deleted) == len(begun(stage)) * PODS, "what had begun is finished"


async def test_a_mark_that_is_refused_ahead_stops_the_plan_and_no_unit_is_in_pieces() -> None:
    async with ahead() as (stage, held):
        marks = {unit_of(name) for name in marked(stage)}
        refused = refuse(
            stage, "PATCH", denied, *(f"u{n}" for n in range(UNITS * PODS) if unit_of(f"u{n}") not in marks)
        )
        held.release()
        await stage.settle(steps=20)
        assert refused
        assert the_plan_that_evicted(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"
        assert marked(stage) == []
        for number in begun(stage):
            assert len([name for name in stage.api.deleted if unit_of(name) == number]) == PODS


def the_plan_that_evicted(stage: Stage) -> dict[str, Any]:
    """The oldest one."""
    return next(iter(stage.api.plans.values()))


class Jobs:
    """It runs the owners of pods. They stop when they may."""

    def __init__(self) -> None:
        self.asked = list[str]()
        self.may = False

    async def stop(self, owners: Any, message: str) -> None:
        del message
        self.asked.extend(each.name for each in owners)
        if not self.may:
            raise NotStoppedError("not yet")


@pytest.mark.usefixtures("impatient")
async def test_a_unit_whose_owner_must_stop_is_not_marked_ahead() -> None:
    """The owner would not start again if the unit does not begin."""
    owned = [
        pod(
            f"u{n}",
            group=f"unit-{unit_of(f'u{n}')}",
            node=f"n{n}",
            requests=BIG,
            priority=1,
            controller=f"job-{n // PODS}",
        )
        for n in range(PODS, UNITS * PODS)
    ]
    jobs = Jobs()
    async with staged(*units(), *owned) as stage:
        with stage.controller.quota.stops.served(jobs):
            await stage.settle(steps=20)
            assert {unit_of(name) for name in marked(stage)} <= begun(stage) | {0}
            assert len(set(jobs.asked)) == 1
            jobs.may = True
            for _ in range(4):
                await stage.settle(steps=20)
            assert len(stage.api.deleted) == UNITS * PODS
