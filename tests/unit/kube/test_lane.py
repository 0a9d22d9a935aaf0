"""All tasks of the lane together work for one breath between two polls, and are tasks like others otherwise."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube.breath import Breath
from kube.lane import BREATH_SECONDS, in_lane, lane, open_lane
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.examples import examples
from tests.unit.kube.work import STEP_SECONDS, Work


@pytest.fixture
def opened() -> Any:
    """Runs a coroutine on a loop with an open lane."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        async def limited() -> Any:
            open_lane()
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await work

        with asyncio.Runner() as runner:
            return runner.run(limited())

    return run


async def steps(work: Work, count: int) -> None:
    for _ in range(count):
        work.do()
        await asyncio.sleep(0)


def test_all_tasks_of_the_lane_take_one_breath_in_a_turn(
    monkeypatch: pytest.MonkeyPatch, opened: Any
) -> None:
    work = Work(monkeypatch)

    async def run() -> None:
        async with work.watched():
            made = [asyncio.create_task(steps(work, 30), context=in_lane()) for _ in range(20)]
            await asyncio.gather(*made)

    opened(run())
    assert sum(work.turns) == pytest.approx(20 * 30 * STEP_SECONDS)
    assert max(work.turns) <= BREATH_SECONDS + STEP_SECONDS


def test_long_work_within_a_step_counts_too(monkeypatch: pytest.MonkeyPatch, opened: Any) -> None:
    work = Work(monkeypatch)

    async def long() -> None:
        breath = Breath()
        for _ in range(40):
            work.do()
            if breath.is_due:
                await breath.take()

    async def run() -> None:
        async with work.watched():
            made = [
                asyncio.create_task(each, context=in_lane()) for each in (long(), long(), steps(work, 40))
            ]
            await asyncio.gather(*made)

    opened(run())
    assert sum(work.turns) == pytest.approx(120 * STEP_SECONDS)
    assert max(work.turns) <= BREATH_SECONDS + STEP_SECONDS


def test_tasks_of_a_task_are_in_the_lane_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, opened: Any
) -> None:
    work, other = Work(monkeypatch), list[int]()

    async def several() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(10):
                tasks.create_task(steps(work, 10))

    async def answers() -> None:
        while True:
            other.append(len(work.turns))
            await asyncio.sleep(0)

    async def run() -> None:
        async with work.watched():
            answering = asyncio.create_task(answers())
            await asyncio.create_task(several(), context=in_lane())
            answering.cancel()

    opened(run())
    assert max(work.turns) <= BREATH_SECONDS + STEP_SECONDS
    assert len(set(other)) >= len(work.turns) - 3  # an answer has a step in each turn


def test_without_a_lane_nothing_changes() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    async def run() -> int:
        return await asyncio.create_task(answer(), context=in_lane())

    with asyncio.Runner() as runner:
        assert runner.run(run()) == 7


def full() -> None:
    """Nobody may begin in this turn."""
    lane().count(-1.0)


def test_results_and_errors_are_those_of_the_coroutine(opened: Any) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("why")

    async def answers() -> int:
        return await asyncio.create_task(asyncio.sleep(0, 7))

    async def run() -> None:
        full()
        assert await asyncio.create_task(answers(), context=in_lane()) == 7
        full()
        with pytest.raises(KeyError, match="why"):
            await asyncio.create_task(fails(), context=in_lane())

    opened(run())


def test_a_task_that_waits_for_its_turn_can_be_cancelled(opened: Any) -> None:
    ended: list[str] = []

    async def works() -> None:
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(3600)
        finally:
            ended.append("works")

    async def run() -> None:
        # Before its first step, nothing of it has run.
        full()
        early = asyncio.create_task(works(), context=in_lane())
        early.cancel()
        # While it waits for a later step, it ends as anywhere else.
        late = asyncio.create_task(works(), context=in_lane())
        for _ in range(3):
            full()
            await asyncio.sleep(0)
        late.cancel()
        others = [asyncio.create_task(asyncio.sleep(0, number), context=in_lane()) for number in range(3)]
        assert await asyncio.gather(*others) == [0, 1, 2]
        await asyncio.gather(early, late, return_exceptions=True)
        assert early.cancelled()
        assert late.cancelled()

    opened(run())
    assert len(ended) <= 1


def test_a_time_limit_holds(opened: Any) -> None:
    async def run() -> None:
        async def limited() -> str:
            try:
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(3600)
            except TimeoutError:
                return "late"
            return ""

        full()
        assert await asyncio.create_task(limited(), context=in_lane()) == "late"

    opened(run())


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 8)), min_size=1, max_size=8))
def test_whatever_is_cancelled_all_others_end(plans: list[tuple[int, bool, int]]) -> None:
    async def works(count: int) -> int:
        for _ in range(count):
            full()
            await asyncio.sleep(0)
        return count

    async def run() -> None:
        open_lane()
        made = [asyncio.create_task(works(count), context=in_lane()) for count, _, _ in plans]

        async def cancel(task: asyncio.Task[int], later: int) -> None:
            for _ in range(later):
                await asyncio.sleep(0)
            task.cancel()

        cancelling = [
            asyncio.create_task(cancel(task, later))
            for task, (_, is_cancelled, later) in zip(made, plans, strict=True)
            if is_cancelled
        ]
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = await asyncio.gather(*made, return_exceptions=True)
            await asyncio.gather(*cancelling)
        for answer, (count, is_cancelled, _) in zip(found, plans, strict=True):
            assert answer == count or (is_cancelled and isinstance(answer, asyncio.CancelledError))

    with asyncio.Runner() as runner:
        runner.run(run())


def test_a_loop_is_forgotten() -> None:
    loop = asyncio.new_event_loop()

    async def work() -> None:
        await Breath(0.0).take()

    loop.run_until_complete(work())
    loop.close()
    left = weakref.ref(loop)
    del loop
    gc.collect()
    assert left() is None
