"""What acts in a term ends with it, or the process ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import pytest

from runtime.terms import ending
from runtime.terms.controller import lead_all
from runtime.terms.ending import ENDING_SECONDS, EXIT_STATUS, Ending
from runtime.terms.term import Term
from serving.ops import Check
from tests.kit.clock import ManualClock
from tests.kit.waiting import until


class Terms:
    """One term after the other; the test ends them."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock, self.made, self.left = clock, list[Term](), 0

    @asynccontextmanager
    async def term(self) -> AsyncIterator[Term]:
        self.made.append(Term(len(self.made) + 1, self.clock))
        try:
            yield self.made[-1]
        finally:
            self.left += 1

    async def follow(self) -> None:
        await asyncio.Event().wait()


class Stubborn:
    """It swallows its cancellations until it may end."""

    name = "stubborn"

    def __init__(self) -> None:
        self.may_end, self.swallowed = asyncio.Event(), 0

    def checks(self) -> Mapping[str, Check]:
        return {}

    async def lead(self, term: Term) -> None:
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.swallowed += 1
        raise asyncio.CancelledError


class Acting:
    """The tasks of one process, and whether it has ended itself."""

    def __init__(self) -> None:
        self.clock, self.controller, self.ends = ManualClock(), Stubborn(), list[float]()
        self.terms = Terms(self.clock)
        ends = Ending(self.clock, lambda: self.ends.append(self.clock.monotonic()))
        self.task = asyncio.create_task(lead_all([self.controller], self.terms, ends))

    async def swallow(self, stop: Callable[[], object]) -> None:
        """The controller has to end, and does not."""
        stop()
        await until(lambda: self.controller.swallowed)

    async def finish(self) -> None:
        self.controller.may_end.set()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
async def acting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Acting]:
    monkeypatch.setattr(ending, "LOOK_SECONDS", 0.0)
    acting = Acting()
    await until(lambda: acting.terms.made)
    yield acting
    await acting.finish()


async def looked() -> None:
    """Whoever looks at the clock has looked."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_process_ends_if_a_task_of_a_term_that_is_over_does_not(
    acting: Acting, capsys: pytest.CaptureFixture[str]
) -> None:
    await acting.swallow(acting.terms.made[0].end)
    acting.clock.advance(ENDING_SECONDS - 1)
    await looked()
    assert not acting.ends
    acting.clock.advance(1)
    await until(lambda: acting.ends)
    said = capsys.readouterr().out
    assert "what acted in it does not end" in said
    assert "stubborn leads" in said


async def test_the_process_ends_if_it_is_told_to_and_a_task_does_not(acting: Acting) -> None:
    await acting.swallow(acting.task.cancel)
    acting.clock.advance(ENDING_SECONDS)
    await until(lambda: acting.ends)


async def test_a_task_that_ends_late_but_in_time_leads_again(acting: Acting) -> None:
    await acting.swallow(acting.terms.made[0].end)
    acting.clock.advance(ENDING_SECONDS - 1)
    await looked()
    acting.controller.may_end.set()
    await until(lambda: len(acting.terms.made) == 2)
    assert acting.terms.left == 1
    acting.clock.advance(2 * ENDING_SECONDS)
    await looked()
    assert not acting.ends


async def test_while_a_term_lasts_no_time_is_too_long(acting: Acting) -> None:
    acting.clock.advance(100 * ENDING_SECONDS)
    await looked()
    assert not acting.ends


async def test_who_is_told_to_stop_while_a_term_ends_takes_no_other_term(acting: Acting) -> None:
    await acting.swallow(acting.terms.made[0].end)
    acting.task.cancel()
    await looked()
    acting.controller.may_end.set()
    await until(acting.task.done)
    assert acting.task.cancelled()
    assert len(acting.terms.made) == acting.terms.left == 1


ENDS: Final = """
import asyncio
from runtime.terms import ending

class Late:
    def __init__(self):
        self.times = [0.0]
    def monotonic(self):
        self.times.append(self.times[-1] + ending.ENDING_SECONDS)
        return self.times[-1]
    def wall(self):
        return 0.0

async def swallow():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def main():
    ending.LOOK_SECONDS = 0.0
    with ending.Ending(Late()).watched() as cancelled:
        task = asyncio.create_task(swallow())
        cancelled([task])
        await task

asyncio.run(main())
"""


def test_the_process_ends_with_a_status_that_is_not_zero() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == EXIT_STATUS
    assert "the process ends" in ended.stdout
