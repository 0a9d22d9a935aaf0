"""What runs in the background is known until it ends."""

from __future__ import annotations

import asyncio

import pytest

from runtime.work.background import Background, stop_all


async def test_to_settle_is_to_wait_for_what_is_started_meanwhile_as_well() -> None:
    background, done = Background(), list[str]()

    async def second() -> None:
        await asyncio.sleep(0)
        done.append("second")

    async def first() -> None:
        await asyncio.sleep(0)
        background.start(second())
        done.append("first")

    background.start(first())
    await background.settle()
    assert done == ["first", "second"]


async def test_a_fault_is_raised_where_somebody_waits() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    background = Background()
    background.start(fails())
    with pytest.raises(ValueError, match="broken"):
        await background.settle()


async def test_nothing_runs_after_the_end() -> None:
    background, ended = Background(), asyncio.Event()

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    background.start(for_ever())
    await asyncio.sleep(0)
    await background.close()
    assert ended.is_set()
    await background.settle()


async def test_a_task_that_failed_does_not_disturb_the_others() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    tasks = [asyncio.create_task(fails()), asyncio.create_task(asyncio.sleep(3600))]
    await asyncio.sleep(0)
    await stop_all(tasks)
    assert all(each.done() for each in tasks)
