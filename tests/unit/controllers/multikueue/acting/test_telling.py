"""Metrics of what was done (11132: there were none that tell why a Workload waits, and what was left behind)."""

from __future__ import annotations

import pytest
from prometheus_client.metrics import MetricWrapperBase

from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.life.decision import (
    CloseGate,
    DeleteCopy,
    DeleteJob,
    EndTurn,
    OpenGate,
    There,
)
from controllers.multikueue.life.seen import Mark, Seen
from controllers.multikueue.metrics import ADMITTED, DISPATCHED, ORPHANS, TO_GATE, TURNS
from kube.recorder import EventRecorder
from tests.kit.dispatched.seeing import FOREIGN, MARK, OLD, at, cluster, copy, job, seen, turn
from tests.kit.dispatched.seeing import workload as workload_here
from tests.unit.controllers.multikueue.dispatching_stage import Stage

QUEUE = ""
"""The Workload here has no admission."""


@pytest.fixture
async def telling() -> Telling:
    stage = Stage()
    for each in (DISPATCHED, ADMITTED, TURNS, ORPHANS):
        each.clear()
    return Telling(EventRecorder(stage.sender(), clock=stage.clock), stage.clock)


def counted(metric: MetricWrapperBase) -> dict[tuple[str, ...], float]:
    """By the values of the labels."""
    samples = [each for family in metric.collect() for each in family.samples if each.name.endswith("_total")]
    return {tuple(each.labels.values()): each.value for each in samples}


async def test_copies_and_admissions_are_counted_as_kueue_counts_them(telling: Telling) -> None:
    """11132."""
    telling.dispatched(seen(), "a")
    telling.dispatched(seen(), "b")
    telling.admitted(seen(), "b")
    assert counted(DISPATCHED) == {(QUEUE, "a", "leader"): 1, (QUEUE, "b", "leader"): 1}
    assert counted(ADMITTED) == {(QUEUE, "b", "leader"): 1}


async def test_turns_are_counted_by_their_end(telling: Telling) -> None:
    """11132."""
    telling.ended(EndTurn("turn-1", "TimedOut", "-"), "a")
    telling.ended(EndTurn("turn-2", "Admitted", "-"), "b")
    telling.ended(EndTurn("turn-3", "TimedOut", "-"), "a")
    assert counted(TURNS) == {("a", "TimedOut"): 2, ("b", "Admitted"): 1}


async def test_the_time_to_the_first_gate_is_measured_once(telling: Telling) -> None:
    """11132. A gate that is closed or opened again, or opens in a later turn, is no first one."""
    before = observed()
    opens = OpenGate("c-1", "7", at(301))
    telling.acted(CloseGate("c-1", "7", "-"), seen(turns=(turn(1, "a", 1),)), "a")
    telling.acted(opens, seen(turns=(turn(1, "a", 1), turn(2, "b", 301))), "b")
    assert observed() == before
    telling.acted(opens, seen(turns=(turn(1, "a", 1),)), "a")
    assert observed() == before + 1


def observed() -> float:
    """How many times were measured."""
    samples = [each for family in TO_GATE.collect() for each in family.samples]
    return sum(each.value for each in samples if each.name.endswith("_count"))


@pytest.mark.parametrize(
    ("mark", "attempt", "count"),
    [
        pytest.param(MARK, MARK.attempt, 0, id="of the present attempt"),
        pytest.param(OLD, MARK.attempt, 1, id="of a former attempt"),
        pytest.param(MARK, "", 1, id="of a Workload without quota"),
        pytest.param(None, MARK.attempt, 1, id="without a mark"),
        pytest.param(FOREIGN, MARK.attempt, 0, id="of another manager"),
    ],
)
async def test_what_is_deleted_and_belongs_to_no_present_attempt_is_counted(
    telling: Telling, mark: Mark | None, attempt: str, count: int
) -> None:
    """11132, 11346: also what is left in a cluster that was lost, while another cluster has the Workload."""
    where = cluster("a", copy(mark=mark), job(mark=mark))
    what: Seen = seen(where, of=workload_here(), attempt=attempt)
    acts: list[There] = [DeleteJob("j-1", "-"), DeleteCopy("c-1", "-")]
    for act in acts:
        telling.acted(act, what, "a")
    assert counted(ORPHANS) == ({("a", "Job"): count, ("a", "Workload"): count} if count else {})
