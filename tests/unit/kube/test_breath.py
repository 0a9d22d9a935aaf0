"""Long work gives way to others, and only then."""

from __future__ import annotations

import asyncio

import pytest

from kube.breath import Breath
from kube.lane import BREATH_SECONDS
from tests.kit.clock import PATIENCE_SECONDS
from tests.unit.kube.work import STEP_SECONDS, Work


async def do(work: Work, done: list[str], name: str) -> None:
    """Fifty steps of long work."""
    breath = Breath()
    for _ in range(50):
        work.do()
        if breath.is_due:
            await breath.take()
    done.append(name)


async def test_others_have_their_turn() -> None:
    done: list[str] = []
    asyncio.get_running_loop().call_soon(done.append, "other")
    breath = Breath(0.0)
    assert breath.is_due
    await breath.take()
    assert done == ["other"]


async def test_nobody_waits_before_it_is_due() -> None:
    assert not Breath(3600.0).is_due


def test_all_work_between_two_polls_takes_one_breath(monkeypatch: pytest.MonkeyPatch) -> None:
    work, done = Work(monkeypatch), list[str]()

    async def run() -> None:
        async with work.watched():
            await asyncio.gather(*(do(work, done, name) for name in "abcdefgh"))

    asyncio.run(run())
    assert sorted(done) == list("abcdefgh")
    # Each task that begins does one step before it asks. All later turns have one breath, and the step that ends it.
    assert max(work.turns[2:]) <= BREATH_SECONDS + STEP_SECONDS
    assert sum(work.turns) == pytest.approx(8 * 50 * STEP_SECONDS)


def test_who_waits_for_a_turn_gets_one_though_another_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    work, done = Work(monkeypatch), list[str]()

    async def run() -> None:
        tasks = [asyncio.create_task(do(work, done, name)) for name in ("first", "cancelled", "last")]
        await asyncio.sleep(0)
        tasks[1].cancel()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert sorted(done) == ["first", "last"]
