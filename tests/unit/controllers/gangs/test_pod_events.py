"""The order in which receivers hear of a pod's event: its reasons are real, and it keeps to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from api.core import Pod
from api.disruption import DISRUPTION_TARGET
from api.groups import SCHEDULING_GATE
from controllers.gangs import pod_events
from controllers.gangs.pod_events import ORDER, Place
from tests.kit.objects import gang, node, pod
from tests.kit.observed import ObservedStage, observed
from tests.kit.stage import Stage, staged

KEY: Final = ("default", "gang")
GATES: Final = [{"name": SCHEDULING_GATE}]
MARK: Final = {
    "type": DISRUPTION_TARGET,
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "PodGroup default/gone preempts this pod [term 0 of gone]",
}


def member(**fields: Any) -> Pod:
    return pod("m0", group="gang", requests={"cpu": "6"}, **fields)


async def who_has_asked_takes_nothing(stage: Stage) -> bool:
    """Filter let the pod onto a node with claims. When it is bound there, that is no surprise."""
    late = pod("late", requests={"cpu": "2"})
    stage.agrees = False
    stage.add(node("n0", cpu="8"), pod("v", node="n0", requests={"cpu": "4"}, priority=1), gang(minimum=1))
    stage.add(member(), late)
    await stage.settle()
    plan = stage.leading.gangs.life_of(KEY).plan
    assert plan is not None
    stage.leading.arrivals.watch(plan)
    assert stage.filter(late, "n0") == ["n0"]
    stage.add(pod("late", requests={"cpu": "2"}, node="n0"))
    return not stage.leading.arrivals.taken(KEY)


async def a_stray_mark_is_withdrawn(stage: Stage) -> bool:
    stage.add(node("n0"))
    await stage.settle()
    stage.add(pod("p", node="n0", conditions=[MARK]))
    await stage.leading.strays.step()
    conditions = stage.api.of("/api/v1/pods")["p"]["status"].get("conditions") or []
    return not any(each["type"] == DISRUPTION_TARGET for each in conditions)


async def a_unit_that_the_scheduler_breaks_is_looked_at(stage: Stage) -> bool:
    theirs = {**MARK, "message": "preempting to accommodate a higher priority pod"}
    stage.add(node("n0"), gang(mode="all"), member(node="n0", conditions=[theirs], deleting=True))
    return stage.leading.broken.due_in() < 3.0


async def a_group_with_a_gated_pod_is_looked_at(stage: Stage) -> bool:
    stage.add(gang(), member(schedulingGates=GATES))
    stage.clock += 1
    return stage.leading.gates._queue.take() == KEY


async def the_gang_hears_that_its_last_gate_is_removed(stage: Stage) -> bool:
    heard: list[object] = []
    stage.leading.gangs.report = lambda key, _observation: heard.append(key)  # type: ignore[method-assign, assignment]
    stage.add(gang(), member(schedulingGates=GATES), member())
    return heard == [KEY]


async def a_gate_that_a_former_mode_adds_is_removed(stage: Stage) -> bool:
    observing = ObservedStage(stage._executor, stage.api)
    observing.add(node("n0"))
    await observing.settle()
    observing.add(member(schedulingGates=GATES))
    await observing.leading.undoing.step()
    await observing.close()
    return stage.api.ungated == ["m0"]


REASONS: Final[Mapping[str, Callable[[Stage], Awaitable[bool]]]] = {
    "claims": who_has_asked_takes_nothing,
    "broken units": a_unit_that_the_scheduler_breaks_is_looked_at,
    "undoing": a_gate_that_a_former_mode_adds_is_removed,
    "strays": a_stray_mark_is_withdrawn,
    "gates": a_group_with_a_gated_pod_is_looked_at,
    "gates removed": the_gang_hears_that_its_last_gate_is_removed,
}
"""What holds because of a reason, by who hears later."""


def test_each_reason_is_kept_to_and_has_an_example() -> None:
    names = [place.who for place in ORDER]
    assert len(set(names)) == len(names)
    assert all(place.after in names[:index] for index, place in enumerate(ORDER) if place.after)
    assert {place.who for place in ORDER if place.after} == set(REASONS)
    assert all(bool(place.after) == bool(place.why) for place in ORDER)


async def test_everybody_who_hears_has_a_place() -> None:
    async with staged() as stage:
        hearers = {**stage.controller.known.hearers(), **stage.leading.hearers()}
    async with observed() as observing:
        hearers |= observing.leading.hearers()
    assert set(hearers) == {place.who for place in ORDER}


@pytest.mark.parametrize("who", REASONS)
async def test_it_holds_in_this_order(who: str) -> None:
    async with staged() as stage:
        assert await REASONS[who](stage)


@pytest.mark.parametrize("who", REASONS)
async def test_it_does_not_hold_in_another_order(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has to hear before hears right afterwards."""
    later = next(place for place in ORDER if place.who == who)
    others = [place for place in ORDER if place.who != later.after]
    at = others.index(later) + 1
    monkeypatch.setattr(pod_events, "ORDER", (*others[:at], Place(later.after), *others[at:]))
    async with staged() as stage:
        assert not await REASONS[who](stage)
