"""Slots that go by rank: never too many, none lost, and always to the best of those who wait."""

from __future__ import annotations

import asyncio

import hypothesis.strategies as st
from hypothesis import example, given, settings

from runtime.work.ranked_slots import RankedSlots
from tests.kit.examples import examples

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(0, 3)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("give up"), st.integers(0, 5)),
        st.tuples(st.just("leave and give up"), st.integers(0, 5)),
        st.tuples(st.just("resize"), st.integers(1, 6)),
    ),
    max_size=40,
)


@example([("come", 0), ("come", 0), ("come", 0), ("leave and give up", 0)], 1)
@given(STEPS, st.integers(1, 4))
@settings(max_examples=examples(300))
def test_slots_go_by_rank(steps: list[tuple[str, int]], number: int) -> None:
    asyncio.run(_play(steps, number))


async def _play(steps: list[tuple[str, int]], number: int) -> None:
    slots, holding, waiting = RankedSlots(number), list[int](), list[tuple[int, int, asyncio.Task[None]]]()
    for turn, (step, value) in enumerate(steps):
        if step == "come":
            waiting.append((value, turn, asyncio.create_task(slots.acquire((value,)))))
        if step == "resize":
            slots.resize(value)
            number = value
        if step.startswith("leave") and holding:
            holding.pop(value % len(holding))
            slots.release()
        if step.endswith("give up") and waiting:  # perhaps whoever has just been given a slot
            waiting.pop(value % len(waiting))[2].cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        served = [each for each in waiting if each[2].done()]
        waiting = [each for each in waiting if not each[2].done()]
        holding += [each[1] for each in served]
        assert not served or len(holding) <= number
        assert not waiting or len(holding) >= number, "a slot is free and somebody waits"
        assert not served or not waiting or max(served)[:2] < min(waiting)[:2], "another one was before"
    for _, _, task in waiting:
        task.cancel()
    await asyncio.gather(*(task for _, _, task in waiting), return_exceptions=True)
