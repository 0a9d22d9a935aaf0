"""Gangs of kube-scheduler's own kind whose plans are steered: the scheduler evicts, and we say where."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from api.groups import SCHEDULING_GATE
from api.times import parse_rfc3339
from controllers.gangs.lifecycle.settings import GatesMode
from controllers.gangs.scheduler.attempts import WINDOW_SECONDS
from tests.kit.native_gangs import GANG_KEY
from tests.kit.objects import node, pod
from tests.unit.controllers.gangs.steered_stage import (
    MEMBERS,
    group,
    hand_over,
    marked,
    member,
    nominated,
    plan_of,
    said,
    steering,
    victim,
)


async def test_the_scheduler_evicts_and_the_plan_follows() -> None:
    async with steering(*MEMBERS) as stage:
        assert (stage.phases(), stage.api.deleted) == (["Planned"], [])
        [stored] = stage.api.plans.values()
        assert (stored["spec"]["evictedBy"], stored["spec"]["evictorReason"]) == ("Scheduler", "SameVictims")
        assert plan_of(stage).is_open
        assert nominated(stage) == {each["pod"]: each["node"] for each in stored["spec"]["placements"]}
        await hand_over(stage)
        stage.add(marked(victim(0)))
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        assert "kube-scheduler evicts by plan" in said(stage)["Preempting"]
        stage.add(marked(victim(1)))
        stage.delete(victim(0), victim(1))
        await stage.settle()
        assert (stage.phases(), stage.api.deleted) == (["Ready"], []), "the evictor never acts"
        for name, where in nominated(stage).items():
            stage.add(member(name, node=where))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        assert "unplanned" not in stored.get("status", {})


async def test_a_plan_that_is_handed_over_stands() -> None:
    async with steering(*MEMBERS) as stage:
        plan = plan_of(stage)
        await hand_over(stage)
        stage.delete(node("n0"))
        await stage.settle()
        assert plan_of(stage).name == plan.name
        assert plan_of(stage).given_up, "it makes no more offers"
        assert stage.filter(MEMBERS[0], "n0", "n1") == [], "the next pass"
        await stage.settle()
        assert stage.leading.gangs.life_of(GANG_KEY).plan is None


async def test_it_stands_until_the_scheduler_says_why_not() -> None:
    async with steering(*MEMBERS) as stage:
        stage.clock += 1.0
        stage.add(group("found a placement for podgroup, preempting 2 victims"))
        await stage.settle()
        assert plan_of(stage).handed_over is not None, "marks will follow"
        stage.clock += 1.0
        stage.add(group("minCount (2) cannot be satisfied: 0 scheduled, 2 remaining"))
        await stage.settle()
        assert plan_of(stage).handed_over is None


@pytest.mark.parametrize("mode", ["Gathering", "UntilPlanned"])
async def test_gates_go_once_the_members_have_their_nominations(mode: GatesMode) -> None:
    gates = [{"name": SCHEDULING_GATE}]
    gated = [member(name, schedulingGates=gates) for name in ("m0", "m1")]
    async with steering(*gated, gates=mode) as stage:
        assert sorted(stage.api.ungated) == ["m0", "m1"]
        writes = [each for each in stage.api.written if "/pods/m" in each.path]
        assert [each.path.rpartition("/")[2] for each in writes[:2]] == ["status", "status"]
        assert len(nominated(stage)) == 2


@pytest.mark.parametrize("is_gone", [False, True])
async def test_what_the_scheduler_evicts_besides_is_recorded(is_gone: bool) -> None:
    """Also if the pod is gone before the plan is looked at."""
    extra = pod("extra", node="n0", requests={"cpu": "0"}, priority=1)
    async with steering(*MEMBERS, extra) as stage:
        await hand_over(stage)
        stage.clock += 1.0
        stage.add(marked(victim(0)), marked(extra))
        if is_gone:
            stage.delete(extra)
        await stage.settle()
        [stored] = stage.api.plans.values()
        assert stored["status"]["unplanned"] == [extra.metadata.uid]
        assert "has evicted 1 pod that plan" in said(stage)["UnplannedEvictions"]


async def test_a_restarted_process_goes_on() -> None:
    async with steering(*MEMBERS) as stage:
        await hand_over(stage)
        again = stage.restart()
        again.add(node("n0"), node("n1"), group(), *MEMBERS, marked(victim(0)), victim(1))
        await again.settle()
        assert again.phases() == ["Evicting"]
        once_more = again.restart()
        once_more.add(node("n0"), node("n1"), group(), *MEMBERS, marked(victim(1)))
        await once_more.settle()
        assert (once_more.phases(), plan_of(once_more).is_open) == (["Evicting"], True)
        once_more.delete(victim(1))
        await once_more.settle()
        assert (once_more.phases(), once_more.api.deleted) == (["Ready"], [])
        await once_more.close()
        await again.close()


async def test_a_plan_that_nobody_presents_gives_its_room_back() -> None:
    async with steering(*MEMBERS) as stage:
        stage.clock += 59.0
        await stage.settle()
        assert plan_of(stage).is_open
        stage.clock += 2.0
        await stage.settle()
        assert "NotAttempted" in [
            each["reason"] for plan in stage.api.plans.values() for each in plan["status"]["conditions"]
        ]


async def test_a_whole_attempt_that_never_names_a_planned_node_contradicts_the_plan() -> None:
    async with steering(*MEMBERS) as stage:
        plan = plan_of(stage)
        other = {"n0": "n1", "n1": "n0"}
        for _ in range(2):  # the real pass, and the simulated one
            for each in MEMBERS:
                where = plan.members[each.metadata.uid].node
                stage.filter(each, other[where], "n2")
        await stage.settle()
        ends = {
            each["status"]["phase"]: each["status"]["conditions"][-1] for each in stage.api.plans.values()
        }
        assert ends["Aborted"]["reason"] == "TurnedDown"


def sampled(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_the_time_of_a_late_attempt_is_stored_for_people() -> None:
    """A process that has just started takes the longest backoff: ten seconds times the square root of two."""
    async with steering(*MEMBERS) as stage:
        members = [member(name, nominated=where) for name, where in nominated(stage).items()]
        again = stage.restart()
        again.add(node("n0"), node("n1"), victim(0), victim(1), group(), *members)
        await again.settle()
        again.filter(pod("other", priority=1), "n0")
        await again.settle()
        [stored] = again.api.plans.values()
        status = stored["status"]
        assert (status["nextAttemptKnown"], status["handedOver"] != "") == (False, True), (
            "it may have been, before"
        )
        assert parse_rfc3339(status["nextAttempt"]) == pytest.approx(
            again.api.clock.wall() + 14.1 + WINDOW_SECONDS, abs=2.0
        )
        await again.close()


async def test_passes_victims_and_plans_are_counted() -> None:
    held, offered = {"result": "held"}, {"result": "offered"}
    passes = "reprieve_native_passes_total"
    names = {
        "plans": ("reprieve_native_plans_total", {"evictor": "Scheduler", "reason": "SameVictims"}),
        "victims": ("reprieve_steered_evictions_total", {}),
        "handed over": ("reprieve_hand_over_seconds_count", {}),
    }
    before = {each: sampled(name, **labels) for each, (name, labels) in names.items()}
    before_passes = sampled(passes, **held), sampled(passes, **offered)
    async with steering(*MEMBERS) as stage:
        for each in MEMBERS:
            stage.filter(each, "n2")
        await hand_over(stage)
        await hand_over(stage)
        stage.add(marked(victim(0)))
        await stage.settle()
    after = {each: sampled(name, **labels) for each, (name, labels) in names.items()}
    assert {each: after[each] - before[each] for each in names} == {
        "plans": 1,
        "victims": 2,
        "handed over": 1,
    }
    counted = sampled(passes, **held) - before_passes[0], sampled(passes, **offered) - before_passes[1]
    assert counted == (1, 1), "the last pass goes on"
