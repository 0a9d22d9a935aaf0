"""The way back from Enforce: whatever its last process left is finished or withdrawn, and nothing else is written."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.published import PLANNING_MODE
from controllers.gangs.evicting import evictions
from controllers.gangs.undoing.holding import Holding
from controllers.gangs.undoing.pulsing import FLUSH_SECONDS
from kube.errors import ApiError
from tests.kit.eviction_stage import hero, impatient, singles, unit
from tests.kit.leftovers import left
from tests.kit.objects import gang, make, node, pod
from tests.kit.observed import ObservedStage
from tests.kit.phases import CASES, HALF_GONE, PODS, Reach, planned, ready, rest, some_gone
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

pytestmark = pytest.mark.usefixtures("impatient")

GATE = [{"name": "reprieve.dev/gang"}]


def after(former: Stage, objects: list[Any], **settings: Any) -> ObservedStage:
    """A process that observes, and sees what is there."""
    former.api.refuse = lambda _method, _path: None
    stage = ObservedStage(former._executor, former.api, **settings)
    stage.add(*(each for each in objects if not isinstance(each, Pod)))
    stage.add(*(make(Pod, body) for body in list(former.api.of(PODS).values())))
    return stage


def endings(stage: ObservedStage) -> set[tuple[str, str]]:
    """Phase and reason of the plans of Enforce."""
    found = set()
    for plan in stage.api.plans.values():
        if "mode" not in plan["spec"]:
            last = plan["status"]["conditions"][-1]
            found.add((plan["status"]["phase"], last["reason"]))
    return found


@pytest.mark.parametrize(("objects", "reach"), CASES)
@pytest.mark.parametrize("mode", ["Observe", "Off"])
async def test_nothing_is_left_of_any_phase(objects: list[Any], reach: Reach, mode: str) -> None:
    async with staged(*objects) as former:
        await reach(former)
        await former.close()
        deleted = [*former.api.deleted]
        stage = after(former, objects, mode=mode)
        await rest(stage)
        assert left(stage.api) == []
        assert stage.reserved == 0
        assert endings(stage) == {("Aborted", "ModeChanged")}
        assert not stage.leading.undoing.holds()
        assert stage.leading.undoing.tools is None, "the way to write to pods has gone with the list"
        if (objects, reach) != HALF_GONE:
            assert stage.api.deleted == deleted, "nobody else is evicted"
        await stage.close()


async def test_a_unit_that_has_begun_is_finished() -> None:
    objects = [*unit(3), *hero(3)]
    async with staged(*objects) as former:
        await some_gone(former)
        await former.close()
        stage = after(former, objects)
        stage.list_plans()
        assert stage.leading.undoing.holds().units == 1
        await rest(stage)
        assert len(stage.api.deleted) == 3
        assert left(stage.api) == []
        await stage.close()


async def test_whoever_was_held_or_gated_or_nominated_is_woken() -> None:
    objects = [*singles(2), *hero(2)]
    async with staged(*objects) as former:
        await ready(former)
        assert former.api.nominated
        await former.close()
        refused = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 reprieve: pod group default/gang waits.",
        }
        held = {"type": "reprieve.dev/Held", "status": "True", "reason": "Gathering", "message": "waits"}
        stage = after(former, objects)
        stage.add(
            pod("gated", group="late", schedulingGates=GATE),
            pod("told", group="late", conditions=[held]),
            pod("refused", group="late", conditions=[refused]),
            pod("theirs", group="late", nominated="n1"),
        )
        await rest(stage)
        assert left(stage.api, frozenset({"theirs"})) == []
        assert stage.api.ungated == ["gated"]
        assert {"told", "refused"} <= {*stage.api.woken}
        assert stage.api.nominated == {"theirs": "n1"}, "that of the scheduler stays"
        await stage.close()


async def test_who_names_our_filter_for_ever_is_not_woken_for_ever() -> None:
    """It has no scheduler any longer."""
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 reprieve: not ready, pod groups wait.",
    }
    async with staged() as former:
        await former.close()
        stage = after(former, [node("n0")])
        stage.add(pod("refused", conditions=[refused]))
        await stage.settle()
        assert stage.api.woken == ["refused"]
        assert not stage.leading.undoing.holds(), "it is woken, and more cannot be done"
        for _ in range(20):
            stage.clock += 400.0
            await stage.settle(1)
        assert 1 < len(stage.api.woken) < 10
        assert stage.leading.undoing.tools is None
        await stage.close()


async def test_without_the_rights_nothing_is_tried_and_the_lease_says_it() -> None:
    objects = [*unit(2), *hero(2)]
    async with staged(*objects) as former:
        await some_gone(former)
        await former.close()
        stage = after(former, objects)
        stage.add(pod("gated", group="late", schedulingGates=GATE))
        stage.api.may = lambda _what: False
        before = len(stage.api.written)
        await rest(stage)
        pods = [each for each in stage.api.written[before:] if "/pods/" in each.path]
        assert pods == []
        held = stage.controller.holding.now
        assert (held.units, held.gates, held.lacks_rights) == (1, 1, True)
        assert endings(stage) == {("Aborted", "ModeChanged")}, "room is free at once"
        stage.api.may = lambda _what: True
        stage.clock += 60.0
        await rest(stage)
        assert left(stage.api) == []
        assert not stage.controller.holding.now
        await stage.close()


async def test_a_unit_is_finished_later_if_the_rights_go_while_that_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They were asked for just before."""
    monkeypatch.setattr(evictions, "NO_RIGHT_SECONDS", 0.0)
    objects = [*unit(3), *hero(3)]
    async with staged(*objects) as former:
        await some_gone(former)
        await former.close()
        stage = after(former, objects)

        def refuse(method: str, path: str) -> ApiError | None:
            error = forbidden(method, path)
            if error is not None:
                stage.api.may = lambda _what: False
            return error

        stage.api.refuse = refuse
        await rest(stage)
        stage.clock += 60.0
        await rest(stage)
        held = stage.controller.holding.now
        assert (held.units, held.lacks_rights) == (1, True)
        stage.api.refuse, stage.api.may = lambda _method, _path: None, lambda _what: True
        stage.clock += 60.0
        await rest(stage)
        assert len(stage.api.deleted) == 3
        assert left(stage.api) == []
        assert not stage.controller.holding.now
        await stage.close()


async def test_a_unit_from_which_enforce_lost_its_rights_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """They went in the middle of it."""
    monkeypatch.setattr(evictions, "NO_RIGHT_SECONDS", 0.0)
    objects = [*unit(3), *hero(3)]
    async with staged(*objects) as former:
        former.api.refuse = lambda method, path: forbidden(method, path) if former.api.deleted else None
        await former.settle()
        assert len(former.api.deleted) == 1
        await former.close()
        stage = after(former, objects)
        stage.list_plans()
        assert stage.leading.undoing.holds().units == 1
        await rest(stage)
        assert len(stage.api.deleted) == 3
        assert left(stage.api) == []
        await stage.close()


def forbidden(method: str, path: str) -> ApiError | None:
    """What the API server answers to whoever may not write to pods."""
    if "/pods/" not in path or method == "GET":
        return None
    said = f'pods "u1" is forbidden: User "reprieve" cannot {method.lower()} resource "pods" in API group ""'
    return ApiError(403, "Forbidden", said)


NO_ROOM = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient cpu.",
}


async def test_a_term_of_enforce_that_lacks_a_right_brings_back_who_was_parked() -> None:
    """The former leader had it. It had answered preempt with no node, which nothing shows."""
    async with staged() as former:
        await former.close()
        stage = after(former, [node("n0")], mode="Enforce")
        stage.add(pod("parked", conditions=[NO_ROOM]))
        stage.api.may = lambda what: what != "delete pods"
        stage.controller.holding = Holding(lambda: {PLANNING_MODE: "Enforce"}, enforces=True)
        await stage.controller.permits.ask()
        await rest(stage)
        assert stage.api.pulsed == ["parked"]
        await stage.close()


async def test_without_the_rights_nobody_waits_for_a_pulse_for_ever() -> None:
    """kube-scheduler brings parked pods back by itself. Then nothing is left, and nobody asks for rights."""
    async with staged() as former:
        await former.close()
        stage = after(former, [node("n0")])
        stage.add(pod("parked", conditions=[NO_ROOM]))
        stage.api.may = lambda _what: False
        undoing = stage.leading.undoing
        await stage.settle()
        undoing.begin(was_enforced=True)
        for seconds, needed in ((60.0, True), (FLUSH_SECONDS, False)):
            stage.clock += seconds
            await stage.settle()
            assert undoing.is_needed() is needed
        await stage.close()


async def test_what_is_refused_is_still_held() -> None:
    """By a webhook of somebody else, say."""
    async with staged() as former:
        await former.close()
        stage = after(former, [node("n0")])
        stage.add(pod("gated", group="late", schedulingGates=GATE))
        stage.api.refuse = lambda method, path: ApiError(403, "", "no") if path.endswith("/gated") else None
        await rest(stage)
        assert stage.controller.holding.now.gates == 1
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 400.0
        await rest(stage)
        assert stage.api.ungated == ["gated"]
        assert not stage.controller.holding.now
        await stage.close()


async def test_where_nothing_is_left_nobody_can_write() -> None:
    async with staged() as former:
        await former.close()
        stage = after(former, [node("n0"), gang()])
        stage.add(pod("waits", group="gang"))
        await rest(stage)
        assert stage.leading.undoing.tools is None
        assert [each for each in stage.api.written if "/pods/" in each.path] == []
        await stage.close()


async def test_the_next_process_goes_on() -> None:
    """It dies before it has done anything: what the stored plans say is enough."""
    objects = [*singles(2), *hero(2)]
    async with staged(*objects) as former:
        await ready(former)
        await former.close()
        first = after(former, objects)
        first.api.refuse = lambda _method, path: ApiError(0, "", "away") if "/pods/" in path else None
        first.list_plans()
        await first.settle()
        assert endings(first) == {("Aborted", "ModeChanged")}
        assert first.controller.holding.now.nominations == 2
        await first.close()
        second = after(former, objects)
        await rest(second)
        assert left(second.api) == []
        await second.close()


async def test_enforce_goes_on_after_it() -> None:
    """Everything is decided anew."""
    objects = [*singles(2), *hero(2)]
    async with staged(*objects) as former:
        await planned(former)
        await former.close()
        stage = after(former, objects)
        await rest(stage)
        await stage.close()
        again = former.restart()
        again.add(*(each for each in objects if not isinstance(each, Pod)))
        again.add(*(make(Pod, body) for body in list(former.api.of(PODS).values())))
        await again.settle()
        assert again.phases()[-1:] != ["Aborted"]
        assert len(again.api.deleted) == 2
        await again.close()
