"""A pod that was bound while nobody answered its scheduler has not passed us by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from controllers.gangs.answering import Answering
from controllers.gangs.planning.unanswered import BINDING_SECONDS, GAP_SECONDS, Unanswered
from controllers.gangs.waking.parked import TurnedDown
from tests.kit.clock import ManualClock
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.stage import Stage, staged

BOUND = [{"type": "PodScheduled", "status": "True"}]
"""What the API server writes with a binding."""


def bound(scheduler: str = "default-scheduler", **fields: Any) -> Pod:
    """A pod that a scheduler has bound."""
    return pod("thief", **{"node": "n0", "schedulerName": scheduler, "conditions": BOUND, **fields})


class Term:
    """Which only the default scheduler calls, and which began long ago."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.unanswered = Unanswered(lambda name: name == "default-scheduler", self.clock)
        self.unanswered.take_over()
        self.runs(BINDING_SECONDS)

    def runs(self, seconds: float) -> None:
        """The process runs, and its event loop turns in time."""
        step = GAP_SECONDS / 2
        for _ in range(round(seconds / step)):
            self.unanswered.beat()
            self.clock.advance(step)


@pytest.mark.parametrize(
    ("thief", "may_have_asked"),
    [
        pytest.param(bound(), True, id="its scheduler calls us"),
        pytest.param(bound("another"), False, id="its scheduler never called us"),
        pytest.param(bound(conditions=None), False, id="it was created with its node"),
    ],
)
def test_after_a_stop(thief: Pod, may_have_asked: bool) -> None:
    """What came meanwhile is handled before the event loop is known to run again."""
    term = Term()
    assert not term.unanswered.may_concern(thief)
    term.clock.advance(6.0)
    assert term.unanswered.may_concern(thief) is may_have_asked
    term.runs(BINDING_SECONDS - 1.0)
    assert term.unanswered.may_concern(thief) is may_have_asked, "a binding may take long"
    term.runs(2.0)
    assert not term.unanswered.may_concern(thief)


def test_a_process_that_runs_answers() -> None:
    term = Term()
    term.runs(60.0)
    assert not term.unanswered.may_concern(bound())


@pytest.mark.parametrize("scheduler", ["default-scheduler", "another"])
def test_a_new_leader_does_not_know_what_was_answered_before(scheduler: str) -> None:
    """Nor which schedulers call."""
    term = Term()
    term.unanswered.take_over()
    assert term.unanswered.may_concern(bound(scheduler))
    assert not term.unanswered.may_concern(bound(scheduler, conditions=None))
    term.runs(BINDING_SECONDS)
    assert not term.unanswered.may_concern(bound(scheduler))


def test_another_replica_that_answered_by_itself_says_that_this_one_did_not() -> None:
    term = Term()
    term.unanswered.miss()
    assert term.unanswered.may_concern(bound())
    assert not term.unanswered.may_concern(bound("another"))


# ---- live: what becomes of the gang


def cluster() -> list[Any]:
    """The second node is dearer."""
    low = [pod(f"v{each}", node=f"n{each}", requests=BIG, priority=1 + each * 50) for each in range(2)]
    return [node("n0"), node("n1"), *low, gang(minimum=1), member()]


def taken(stage: Stage) -> list[str] | None:
    nodes: list[str] | None = next(iter(stage.api.plans.values()))["status"].get("takenNodes")
    return nodes


async def lose_the_room(stage: Stage, **fields: Any) -> None:
    """The victim goes, and a pod is bound in its room that filter was not asked about."""
    stage.api.deleted.clear()
    stage.delete(pod("v0"))
    stage.add(bound(requests=BIG, priority=1, **fields))
    await stage.settle()
    stage.clock += 2.0
    await stage.settle()


async def answering(stage: Stage) -> None:
    """The plan evicts, and the process has answered the scheduler for a while."""
    await stage.settle()
    stage.filter(member(), "n0")
    assert stage.api.deleted == ["v0"]
    for _ in range(round(BINDING_SECONDS / 2.0)):
        stage.clock += 2.0
        stage.leading.unanswered._beat = stage.clock
        await stage.settle(steps=1)


async def test_room_that_was_lost_while_nobody_answered_is_made_again_on_the_same_node() -> None:
    async with staged(*cluster()) as stage:
        await answering(stage)
        stage.clock += 6.0
        await lose_the_room(stage)
        assert taken(stage) is None
        assert stage.api.deleted == ["thief"]


async def test_room_that_was_lost_while_another_replica_answered_is_made_again_on_the_same_node() -> None:
    """It could not reach this process, and names the pods that it turned down."""
    async with staged(*cluster()) as stage:
        await answering(stage)
        notice = msgspec.json.encode(TurnedDown({}, []))
        assert Answering(stage.controller, lambda: True).told(notice)
        await lose_the_room(stage)
        assert taken(stage) is None
        assert stage.api.deleted == ["thief"]


async def test_room_that_was_lost_while_we_answered_is_left_alone() -> None:
    async with staged(*cluster()) as stage:
        await answering(stage)
        await lose_the_room(stage)
        assert taken(stage) == ["n0"]
        assert stage.api.deleted == ["v1"]


async def test_a_pod_that_was_created_with_its_node_needs_no_answer() -> None:
    async with staged(*cluster()) as stage:
        await answering(stage)
        stage.clock += 6.0
        await lose_the_room(stage, conditions=None)
        assert taken(stage) == ["n0"]
        assert stage.api.deleted == ["v1"]


async def test_room_that_was_lost_before_the_next_process_led_is_made_again() -> None:
    """The pod was bound after the new process had read the nodes, by an attempt before that."""
    async with staged(*cluster()) as stage:
        await answering(stage)
        again = stage.restart()
        again.add(*(each for each in cluster() if each.metadata.name != "v0"))
        again.add(pod("v0", node="n0", requests=BIG, priority=1, deleting=True))
        await again.settle()
        await lose_the_room(again)
        assert taken(again) is None
        assert again.api.deleted == ["thief"]
        await again.close()
