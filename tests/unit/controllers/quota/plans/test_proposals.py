"""What a Workload that waits for a closed gate would cost: stored, kept, replaced and deleted, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from api.plans import PreemptionPlan
from api.workloads import PreemptionGateState, Workload
from kube.errors import ApiError
from quota.state.workloads import key_of
from runtime.mirror.resources import PLANS
from tests.kit.quota.objects import (
    at,
    cluster_queue,
    cohort,
    cpu,
    held,
    local_queue,
    set_condition,
    workload,
)
from tests.kit.waiting import beside
from tests.unit.controllers.quota.plan_stage import NOW, WHOLE, PlanStage

QUEUES = (
    cohort("all"),
    cluster_queue("a", cpu(4), "all", within="LowerPriority", reclaim="LowerPriority"),
    cluster_queue("b", cpu(0), "all"),
)
ONE = held(workload("one", "a", 1, count=2, priority=1), 100)
OTHER = held(workload("other", "b", 1, count=2, priority=-3), 200)
HERO = workload("hero", "a", 4, priority=5, gates=["example.com/g"])


def plans(stage: PlanStage) -> list[dict[str, Any]]:
    return list(stage.api.of(PLANS.path).values())


def written(stage: PlanStage) -> list[str]:
    found = stage.written(lambda each: "preemptionplans" in each.path)
    stage.api.written.clear()
    return [each.split()[0] for each in found]


def opened(item: Workload) -> Workload:
    states = [PreemptionGateState("example.com/g", "Open", at(NOW))]
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, preemption_gates=states))


def with_spec(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **fields))


def with_meta(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, **fields))


async def propose(stage: PlanStage, head: Workload = HERO, others: int = 0) -> None:
    (entry,) = stage.decide(head)
    assert entry.outcome == "Gated", entry
    stage.proposals.propose(entry, stage.quota.state.snapshot(), others)
    await stage.proposals.settle()


async def staged(*more: Any) -> PlanStage:
    stage = PlanStage(*QUEUES, ONE, OTHER, HERO, *more)
    await propose(stage)
    return stage


async def test_victims_rules_and_cost_are_stored_in_the_phase_proposed() -> None:
    stage = await staged()
    (plan,) = plans(stage)
    assert plan["status"] == {"phase": "Proposed"}
    assert plan["metadata"]["labels"] == {
        "reprieve.dev/preemptor-kind": "Workload",
        "reprieve.dev/proposal": "true",
    }
    spec = plan["spec"]
    assert (spec["outcome"], spec["placements"]) == ("Proposes", [])
    assert [(each["name"], each["quota"]["reason"]) for each in spec["victims"]] == [
        ("one", "InClusterQueue"),
        ("other", "InCohortReclamation"),
    ]
    assert spec["cost"] == {
        "highestVictimPriority": 1,
        "prioritySum": -2,
        "workloads": 2,
        "pods": 4,
        "podSeconds": 2 * (NOW - 100) + 2 * (NOW - 200),
    }
    assert written(stage) == ["POST", "PATCH"]


async def test_pods_that_would_go_on_nodes_count_too() -> None:
    stage = PlanStage(*QUEUES, ONE, OTHER, HERO)
    await propose(stage, others=3)
    assert plans(stage)[0]["spec"]["cost"]["pods"] == 7


async def nothing_follows(stage: PlanStage) -> PlanStage:
    """A new process resumes what there is."""
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    again.proposals.begin()
    await again.plans.sweep()
    await again.plans.settle()
    assert not list(again.plans.promises())
    assert not again.going(ONE, OTHER)
    assert again.plans.preempting_of("ns/hero") is None
    assert again.stored.active("ns/hero", "hero") is None
    assert not list(again.stored)
    assert not again.stored.overdue_seconds(again.clock.wall() + 1e9, 0)
    return again


async def test_it_promises_nothing_and_evicts_nobody_also_after_a_restart() -> None:
    """Also if the former process died before it wrote the phase."""
    stage = await staged()
    again = await nothing_follows(stage)
    await again.proposals.settle()
    assert len(plans(stage)) == 1
    plans(stage)[0]["status"] = {}
    again = await nothing_follows(stage)
    await again.proposals.settle()
    assert plans(stage) == [], "what was not complete is not kept"
    await propose(again)
    assert plans(stage) == [], "another one follows ten seconds after the one before it"
    again.clock.advance(10)
    again.proposals.tell_time()
    await again.proposals.settle()
    assert [each["status"]["phase"] for each in plans(stage)] == ["Proposed"]


async def test_the_same_decision_is_written_once_however_often_it_is_made() -> None:
    stage = await staged()
    written(stage)
    for _ in range(5):
        stage.clock.advance(30)
        await propose(stage)
        stage.proposals.tell_time()
    again = stage.restart(*QUEUES)
    again.proposals.begin()
    stage.clock.advance(30)
    await propose(again)
    assert written(stage) == []


async def test_another_decision_takes_its_place_every_ten_seconds_at_most() -> None:
    stage = await staged()
    (before,) = plans(stage)
    written(stage)
    for priority in (2, 3, 0):
        stage.clock.advance(3)
        stage.put(with_spec(ONE, priority=priority))
        await propose(stage)
    assert written(stage) == []
    stage.clock.advance(1)
    stage.proposals.tell_time()
    await stage.proposals.settle()
    assert written(stage) == ["DELETE", "POST", "PATCH"], "the former one goes first"
    (after,) = plans(stage)
    assert after["metadata"]["name"] != before["metadata"]["name"]
    assert after["spec"]["cost"]["prioritySum"] == -3, "the newest decision"


@pytest.mark.parametrize(
    "change",
    [
        opened(HERO),
        with_spec(HERO, active=False),
        with_spec(HERO, queue_name="b"),
        with_spec(HERO, queue_name=""),
        with_spec(HERO, priority=6),
        with_spec(HERO, preemption_gates=None),
        with_meta(HERO, generation=2),
        with_meta(HERO, uid="another"),
        with_meta(HERO, deletion_timestamp=at(NOW)),
        with_meta(HERO, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/x"}),
        held(HERO, NOW),
        set_condition(HERO, "Finished", "True", "Succeeded", NOW),
        None,
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
async def test_none_is_left_when_the_wait_ends(change: Workload | None, *, restarted: bool) -> None:
    stage = await staged()
    if restarted:
        stage = stage.restart(*QUEUES)
        assert len(plans(stage)) == 1
    if change is None:
        stage.remove(HERO)
    else:
        stage.put(change)
    if restarted:
        stage.proposals.begin()
    await stage.proposals.settle()
    assert plans(stage) == []
    assert not list(stage.stored.proposals())


async def test_none_is_left_when_its_queue_goes_or_stops() -> None:
    for queue in (local_queue("a", "b"), cluster_queue("a", cpu(4), "all", stop="Hold")):
        stage = await staged()
        stage.put(queue)
        stage.proposals.queues_changed()
        stage.proposals.tell_time()
        await stage.proposals.settle()
        assert plans(stage) == []


async def test_it_goes_when_the_workload_would_preempt_nobody() -> None:
    stage = await staged()
    stage.proposals.withdraw("ns/hero")
    stage.proposals.withdraw("ns/unknown")
    await stage.proposals.settle()
    assert plans(stage) == []


async def test_the_plan_that_is_carried_out_takes_its_place() -> None:
    stage = await staged()
    stage.put(opened(HERO))
    await stage.preempt(HERO)
    await stage.proposals.settle()
    (plan,) = plans(stage)
    assert (plan["spec"]["outcome"], plan["status"]["phase"]) == ("Preempts", "Evicting")
    assert "cost" not in plan["spec"]


async def test_names_of_other_namespaces_are_withheld_and_no_whole_plan_is_written() -> None:
    secret = with_meta(OTHER, namespace="secret")
    stage = PlanStage(*QUEUES, local_queue("b", "b", namespace="secret"), ONE, secret, HERO)
    await propose(stage)
    (plan,) = plans(stage)
    assert [each["name"] for each in plan["spec"]["victims"]] == ["one", ""]
    assert plan["spec"]["cost"]["workloads"] == 2
    assert stage.api.of(WHOLE) == {}
    written(stage)
    stage.clock.advance(60)
    await propose(stage)
    again = stage.restart(*QUEUES)
    again.proposals.begin()
    await propose(again)
    assert written(stage) == []


async def test_one_that_somebody_deleted_is_written_again() -> None:
    stage = await staged()
    async with beside(stage.proposals.run()):
        await asyncio.sleep(0)
        stage.remove_plan(plans(stage)[0]["metadata"]["name"])
        stage.clock.advance(10)
        stage.proposals.tell_time()
        await stage.proposals.settle()
    assert len(plans(stage)) == 1


async def test_one_that_nobody_knows_is_deleted() -> None:
    stage = await staged()
    stray = msgspec.convert(plans(stage)[0], PreemptionPlan)
    meta = msgspec.structs.replace(stray.metadata, name="stray", uid="stray")
    spec = msgspec.structs.replace(
        stray.spec, preemptor=msgspec.structs.replace(stray.spec.preemptor, name="nobody", uid="nobody")
    )
    stray = PreemptionPlan(metadata=meta, spec=spec, status=stray.status)
    stage.api.put(PLANS.path, msgspec.to_builtins(stray))
    stage.view.upsert(stray, listed=True)
    stage.clock.advance(60)
    stage.proposals.tell_time()
    await stage.proposals.settle()
    assert [each["spec"]["preemptor"]["name"] for each in plans(stage)] == ["hero"]


async def test_a_write_that_fails_is_tried_again_and_not_at_once() -> None:
    stage = PlanStage(*QUEUES, ONE, OTHER, HERO)
    stage.api.refuse = lambda method, path: ApiError(500, "InternalError", path) if method == "POST" else None
    await propose(stage)
    stage.api.refuse = lambda *_: None
    stage.proposals.tell_time()
    await stage.proposals.settle()
    assert plans(stage) == []
    stage.clock.advance(5)
    stage.proposals.tell_time()
    await stage.proposals.settle()
    assert len(plans(stage)) == 1


async def test_decisions_are_made_anew_when_others_take_quota_in_their_tree() -> None:
    """Nothing is freed by that, so nothing else would bring the waiting ones back. It is done once in ten seconds."""
    apart = cluster_queue("apart", cpu(4))
    stage = await staged(apart)

    def take(name: str, queue: str) -> list[str]:
        stage.freed.clear()
        stage.put(held(workload(name, queue, 0), NOW))
        stage.clock.advance(1)
        stage.proposals.tell_time()
        return list(stage.freed)

    assert take("elsewhere", "apart") == []
    assert take("first", "b") == ["b"]
    assert take("second", "b") == []
    stage.clock.advance(9)
    stage.proposals.tell_time()
    assert stage.freed == ["b"]
    stage.freed.clear()
    stage.clock.advance(10)
    stage.put(with_spec(ONE, priority=2))
    stage.clock.advance(1)
    stage.proposals.tell_time()
    assert stage.freed == ["a"], "a victim has another priority"


async def test_a_thousand_that_wait_are_written_once_each() -> None:
    heroes = [
        workload(f"hero-{each}", "a", 4, priority=5, gates=["example.com/g"], created=each)
        for each in range(1000)
    ]
    stage = PlanStage(*QUEUES, ONE, OTHER, *heroes)
    for hero in heroes:
        (entry,) = stage.decide(hero)
        stage.proposals.propose(entry, stage.quota.state.snapshot(), 0)
    await stage.proposals.settle()
    assert len(written(stage)) == 2000
    stage.clock.advance(60)
    for hero in heroes:
        (entry,) = stage.decide(hero)
        stage.proposals.propose(entry, stage.quota.state.snapshot(), 0)
    stage.proposals.tell_time()
    await stage.proposals.settle()
    assert written(stage) == []
    assert key_of(heroes[0]) in {each.preemptor for each in stage.stored.proposals()}
