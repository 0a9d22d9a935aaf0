"""Each place has a queue and workers of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from controllers.multikueue.acting.places import Place
from kube.errors import ApiError
from tests.kit.clock import PATIENCE_SECONDS, ManualClock


@asynccontextmanager
async def running(*places: Place) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(place.run()) for place in places]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_place_that_hangs_delays_no_other_one() -> None:
    """11206, 11297: one hung worker stopped all, and one lock was for all clusters."""
    done = asyncio.Event()

    async def hangs(_: str) -> None:
        await asyncio.Event().wait()

    async def acts(_: str) -> None:
        done.set()

    clock = ManualClock()
    slow, quick = Place("slow", hangs, 1, clock), Place("quick", acts, 1, clock)
    async with running(slow, quick):
        slow.add("team/train")
        await asyncio.sleep(0)
        quick.add("team/train")
        await asyncio.wait_for(done.wait(), PATIENCE_SECONDS)


def failing(calls: list[str], seen: asyncio.Event) -> Callable[[str], Awaitable[None]]:
    async def act(key: str) -> None:
        calls.append(key)
        seen.set()
        raise ApiError(500, "InternalError", "no")

    return act


async def test_an_act_that_failed_waits_for_its_time_however_often_it_is_asked_for() -> None:
    calls, seen = list[str](), asyncio.Event()
    place = Place("a", failing(calls, seen), 1, ManualClock())
    async with running(place):
        place.add("team/train")
        await asyncio.wait_for(seen.wait(), PATIENCE_SECONDS)
        for _ in range(5):
            place.add("team/train")
            await asyncio.sleep(0)
        assert calls == ["team/train"]
        seen.clear()
        place.add("team/other")
        await asyncio.wait_for(seen.wait(), PATIENCE_SECONDS)
    assert calls == ["team/train", "team/other"]
