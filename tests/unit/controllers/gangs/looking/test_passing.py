"""What filter answers the members of a gang that is tried in passes, and what its life observes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from api.core import Pod
from api.plans import Evictor
from controllers.gangs.answering import Answering, Hold
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import HandedOver, Observation, PassBegan
from controllers.gangs.lifecycle.settings import PASS_SECONDS
from tests.kit.objects import BIG, GANG, gang, member, node, pod
from tests.kit.stage import Stage, staged

GANG_KEY = ("default", GANG)
NAMES = ("n0", "n1", "n2")


def in_the_way(number: int) -> Pod:
    return pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1)


@asynccontextmanager
async def planned(by: Evictor = "Scheduler") -> AsyncIterator[Stage]:
    """A plan for two of three members, and nobody was evicted."""
    nodes = [node(name) for name in NAMES]
    members = [member(f"m{number}") for number in range(3)]
    async with staged(*nodes, gang(minimum=2), *members, *map(in_the_way, range(3))) as stage:
        stage.agrees = False
        await stage.settle()
        evicts_by(stage, by)
        yield stage


def plan_of(stage: Stage) -> ActivePlan:
    plan = stage.leading.gangs.life_of(GANG_KEY).plan
    assert plan is not None
    return plan


def set_plan(stage: Stage, plan: ActivePlan | None) -> None:
    gang = stage.leading.gangs.gather(GANG_KEY)
    gang.life = replace(gang.life, plan=plan)


def evicts_by(stage: Stage, by: Evictor) -> None:
    """The search says it for gangs of kube-scheduler's own kind."""
    plan = plan_of(stage)
    opened = stage.clock if by == "Scheduler" else None
    set_plan(stage, replace(plan, spec=msgspec.structs.replace(plan.spec, evicted_by=by), opened=opened))
    stored = stage.api.plans[plan.name]
    stored["spec"]["evictedBy"] = by


def others(stage: Stage) -> ActivePlan:
    """A plan for the same members, each on the node of the other one."""
    plan = plan_of(stage)
    first, second = plan.members.values()
    swapped = {
        first.uid: replace(first, node=second.node),
        second.uid: replace(second, node=first.node),
    }
    return replace(plan, name="another", members=swapped)


async def restarted(stage: Stage) -> Stage:
    """Another process, which has just taken over."""
    again = stage.restart()
    again.agrees = False
    again.add(*(node(name) for name in NAMES), gang(minimum=2))
    again.add(*(member(f"m{number}") for number in range(3)), *map(in_the_way, range(3)))
    await again.settle(0)
    if (plan := again.leading.gangs.life_of(GANG_KEY).plan) is not None:
        set_plan(again, replace(plan, opened=again.clock))
    return again


def told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[Observation]:
    """What the gang's life gets to know of passes from now on."""
    seen, report = list[Observation](), stage.leading.gangs.report

    def listen(key: Any, observation: Observation) -> object:
        if isinstance(observation, HandedOver | PassBegan):
            seen.append(observation)
        return report(key, observation)

    monkeypatch.setattr(stage.leading.gangs, "report", listen)
    return seen


async def test_planned_members_get_their_nodes_before_anybody_is_evicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with planned() as stage:
        seen, plan = told(stage, monkeypatch), plan_of(stage)
        given = {name: stage.filter(member(name), *NAMES) for name in ("m0", "m1", "m2")}
        assert given == {"m2": []} | {each.name: [each.node] for each in plan.members.values()}
        assert seen[0] == HandedOver(plan.name)
        assert stage.api.deleted == []


async def test_a_plan_that_is_not_stored_makes_no_offers() -> None:
    async with planned() as stage:
        set_plan(stage, replace(plan_of(stage), stored=False, opened=None))
        assert stage.filter(member("m0"), *NAMES) == []


async def test_a_driven_plan_makes_offers_when_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    async with planned("Reprieve") as stage:
        seen, plan = told(stage, monkeypatch), plan_of(stage)
        names = [each.name for each in plan.members.values()]
        assert [stage.filter(member(name), *NAMES) for name in names] == [[], []]
        set_plan(stage, replace(plan, phase="Ready"))
        for number in range(3):
            stage.delete(in_the_way(number))
        nodes = [[each.node] for each in plan.members.values()]
        assert [stage.filter(member(name), *NAMES) for name in names] == nodes
        assert seen == []


async def test_the_rest_of_a_pass_is_held_when_the_plan_ends_or_is_replaced() -> None:
    async with planned() as stage:
        first, second = (each.name for each in plan_of(stage).members.values())
        another = others(stage)
        assert stage.filter(member(first), *NAMES)
        set_plan(stage, None)
        assert stage.filter(member("m2"), *NAMES) == []
        set_plan(stage, another)
        assert stage.filter(member(second), *NAMES) == []
        new = {each.name: [each.node] for each in another.members.values()}
        assert stage.filter(member(first), *NAMES) == new[first]
        assert stage.filter(member(second), *NAMES) == new[second]


async def test_a_preempt_call_is_no_call_of_a_pass() -> None:
    """Without the gate GenericWorkload, the scheduler may ask."""
    async with planned() as stage:
        first, second = (each.name for each in plan_of(stage).members.values())
        assert stage.filter(member(first), *NAMES)
        set_plan(stage, others(stage))
        assert stage.preempt(member(first), n0=["v0"]) == []
        assert stage.filter(member(second), *NAMES) == []


async def test_a_plan_whose_time_is_over_makes_no_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with planned() as stage:
        plan = plan_of(stage)
        names = [each.name for each in plan.members.values()]
        for name in names:
            stage.filter(member(name), *NAMES)
        seen = told(stage, monkeypatch)
        set_plan(stage, replace(plan, deadline=stage.clock))
        assert stage.filter(member(names[0]), *NAMES) == []
        assert seen == [PassBegan(plan.name)]


async def test_a_process_that_does_not_decide_holds_them() -> None:
    async with planned() as stage:
        first = next(each.name for each in plan_of(stage).members.values())
        stage.silence(1000)
        assert stage.filter(member(first), *NAMES) == []
        answering = Answering(stage.controller, lambda: True)
        assert isinstance(answering.verdict(member(first)), Hold)


async def test_a_restarted_process_answers_by_the_stored_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    async with planned() as stage:
        first = next(iter(plan_of(stage).members.values()))
        again = await restarted(stage)
        seen = told(again, monkeypatch)
        assert again.filter(member(first.name), *NAMES) == [first.node]
        assert seen == [HandedOver(plan_of(again).name)], "the former process may have offered the other node"
        await again.close()


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (PASS_SECONDS + 2.0, 0.0), (0.0, PASS_SECONDS)])
async def test_a_restarted_process_waits_for_the_next_pass_if_the_plan_may_be_new_in_this_one(
    before: float, after: float
) -> None:
    """Seconds from the plan to the restart, and from there to the call."""
    async with planned() as stage:
        first = next(iter(plan_of(stage).members.values()))
        former = msgspec.to_builtins(stage.api.plans[plan_of(stage).name])
        former["metadata"] |= {"name": "former", "uid": "uid-former"}
        former["status"] = {**former["status"], "phase": "Aborted", "lastDecisionTime": None}
        stage.api.plans["former"] = former
        stage.clock += before
        again = await restarted(stage)
        again.clock += after
        assert plan_of(again).name != "former"
        assert bool(again.filter(member(first.name), *NAMES)) == (before + after > 0.0)
        assert again.filter(member(first.name), *NAMES) == [first.node]
        await again.close()


async def test_nothing_is_kept_of_a_gang_that_runs_or_is_gone() -> None:
    async with planned() as stage:
        names = [each.name for each in plan_of(stage).members.values()]
        stage.filter(member(names[0]), *NAMES)
        assert len(stage.leading.passing) == 1
        stage.delete(gang(minimum=2))
        assert len(stage.leading.passing) == 0
