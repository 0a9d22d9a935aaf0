"""The newest decision about each Workload."""

from __future__ import annotations

import asyncio
from typing import cast

from controllers.multikueue.acting.deciding import Deciding
from controllers.multikueue.acting.gathering import Gathering
from controllers.multikueue.life.decision import CreateCopy, Decision
from controllers.multikueue.life.seen import Seen
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.dispatched.seeing import (
    MANAGER,
    SETTINGS,
    START,
    cluster,
    copy,
    gated,
    seen,
    workload,
)

KEY = "team/train"
FULL = copy(waits="Pending")


class Saw:
    """What is seen of the Workload, and how often somebody asked."""

    def __init__(self, what: Seen) -> None:
        self.what, self.times = what, 0

    def of(self, key: str) -> Seen:
        assert key == KEY
        self.times += 1
        return self.what


class World:
    def __init__(self, what: Seen) -> None:
        self.saw, self.clock = Saw(what), ManualClock(wall=START)
        self.decided = list[Decision]()
        self.deciding = Deciding(
            cast(Gathering, self.saw), SETTINGS, lambda _, decision: self.decided.append(decision), self.clock
        )


def test_a_decision_holds_until_something_changes() -> None:
    world = World(seen(cluster("a")))
    first = world.deciding.current(KEY)
    assert first[1].there == {"a": CreateCopy(has_gate=True)}
    assert world.deciding.current(KEY) is first
    assert (world.saw.times, len(world.decided)) == (1, 1)
    world.deciding.changed(KEY)
    assert world.deciding.current(KEY) is not first
    assert world.deciding.current(KEY, anew=True) is not first
    assert world.saw.times == 3


def test_it_looks_again_when_time_alone_changes_what_follows() -> None:
    world = World(seen(cluster("a", gated()), cluster("b", copy(waits="PendingEvaluation"))))
    world.deciding.current(KEY)
    assert world.deciding.look.due_in() == SETTINGS.window / 1_000_000


def test_the_result_of_an_act_is_remembered_for_its_attempt_only() -> None:
    world = World(seen(cluster("a"), cluster("b", FULL)))
    old, _ = world.deciding.current(KEY)
    world.deciding.remember(old, lambda memory: memory.refused("a", "Forbidden", "no right"))
    assert world.deciding.current(KEY)[1].there == {}
    world.saw.what = seen(cluster("a"), cluster("b", FULL), attempt="2030-01-01T00:00:00Z")
    world.deciding.changed(KEY)
    assert "a" in world.deciding.current(KEY)[1].there
    world.deciding.remember(old, lambda memory: memory.refused("a", "Forbidden", "no right"))
    assert "a" in world.deciding.current(KEY)[1].there


def test_nothing_is_remembered_of_a_workload_that_is_gone() -> None:
    world = World(seen(cluster("a"), cluster("b", FULL)))
    there, _ = world.deciding.current(KEY)
    world.deciding.remember(there, lambda memory: memory.refused("a", "Forbidden", "no right"))
    world.saw.what = Seen(KEY, None, MANAGER)
    world.deciding.current(KEY)
    world.saw.what = seen(cluster("a"), cluster("b", FULL))
    world.deciding.changed(KEY)
    assert "a" in world.deciding.current(KEY)[1].there


async def test_what_is_due_is_decided_and_begun_and_one_that_fails_stops_no_other() -> None:
    world = World(seen(cluster("a"), of=workload()))
    begun = asyncio.Queue[str]()
    fails = [True]

    def start(key: str, _: Decision) -> None:
        if fails.pop() if fails else False:
            world.clock.advance(60)  # the next try is due
            raise ValueError(key)
        begun.put_nowait(key)

    task = asyncio.create_task(world.deciding.run(start))
    try:
        world.deciding.changed(KEY)
        await asyncio.sleep(0)
        world.clock.advance(60)
        world.deciding.changed(KEY)
        assert await asyncio.wait_for(begun.get(), PATIENCE_SECONDS) == KEY
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
