"""Streams are woken some at a time."""

from __future__ import annotations

import asyncio
import time

import pytest

from web.bells import AT_ONCE, TURN_SECONDS, Bells


@pytest.mark.parametrize(
    ("cost", "turns"),
    [
        (0.0, [AT_ONCE, 2 * AT_ONCE, 4 * AT_ONCE, 3 * AT_ONCE]),
        (0.75 * TURN_SECONDS / AT_ONCE, [AT_ONCE] * 10),
        (2 * TURN_SECONDS, [AT_ONCE, AT_ONCE // 2, AT_ONCE // 4, *[1] * (8 * AT_ONCE + AT_ONCE // 4)]),
    ],
)
async def test_in_a_turn_of_the_loop_are_as_many_as_their_work_lets(
    cost: float, turns: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bells, turn, woken, spent = Bells(), 0, list[int](), 0.0
    monkeypatch.setattr(time, "thread_time", lambda: spent)

    async def stream(bell: asyncio.Event) -> None:
        nonlocal spent
        with bells.hung(bell):
            await bell.wait()
            woken.append(turn)
            spent += cost

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    streams = [asyncio.create_task(stream(asyncio.Event())) for _ in range(10 * AT_ONCE)]
    await asyncio.sleep(0)
    counting = asyncio.create_task(count())
    await bells.ring()
    await asyncio.gather(*streams)
    counting.cancel()
    assert [woken.count(each) for each in dict.fromkeys(woken)] == turns


async def test_who_goes_while_others_are_woken_is_forgotten() -> None:
    bells, bell = Bells(), asyncio.Event()
    with bells.hung(bell):
        pass
    await bells.ring()
    bells.ring_now()
    assert not bell.is_set()
