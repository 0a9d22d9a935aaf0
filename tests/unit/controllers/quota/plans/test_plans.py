"""Plans of the quota plane: stored before the first eviction, followed, ended, and resumed by the next term."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec
import pytest

from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from api.workloads import PreemptionGate, PreemptionGateState, Workload
from controllers.quota.life.preempting import WAITS
from controllers.quota.plans.resuming import FENCED
from controllers.quota.plans.stored_plans import StoredPlans
from kube.errors import ApiError
from quota.state.workloads import key_of
from runtime.mirror.resources import PLANS, WORKLOADS
from tests.kit.quota.objects import (
    cluster_queue,
    cohort,
    condition,
    cpu,
    evicted,
    held,
    preempted,
    set_condition,
    workload,
)
from tests.kit.waiting import beside
from tests.unit.controllers.quota.plan_stage import NOW, RETENTION, WHOLE, PlanStage

QUEUES = (
    cohort("all"),
    cluster_queue("a", cpu(2), "all", within="LowerPriority", reclaim="LowerPriority"),
    cluster_queue("b", cpu(0), "all"),
)
OWN = held(workload("own", "a", 1), 100)
OTHER = held(workload("other", "b", 1), 200)
VICTIMS = (OWN, OTHER)
HERO = workload("hero", "a", 2, priority=5)


def foreign(item: Workload) -> Workload:
    meta = msgspec.structs.replace(item.metadata, namespace="secret")
    return msgspec.structs.replace(item, metadata=meta)


def with_meta(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, **fields))


def with_spec(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **fields))


async def staged(*objects: Any) -> PlanStage:
    """The hero's plan is being carried out."""
    stage = PlanStage(*QUEUES, *(objects or VICTIMS), HERO)
    await stage.preempt(HERO)
    return stage


# ---- stored first


async def test_a_victim_that_came_back_in_this_second_goes_for_a_plan_of_the_next_one() -> None:
    """Times have whole seconds: a plan of this second would take it for one that came back after the decision."""
    back = set_condition(held(workload("own", "a", 2), NOW), "Evicted", "False", "QuotaReserved", NOW)
    stage = PlanStage(*QUEUES, back, HERO)
    await stage.preempt(HERO)
    assert stage.phases == {}
    stage.plans.tell_time()
    assert stage.freed == [], "it is still too early"
    stage.clock.advance(1)
    stage.plans.tell_time()
    assert stage.freed == ["a"], "the cycle decides once more"
    await stage.preempt(HERO)
    assert stage.phases["hero"][0] == "Evicting"
    assert stage.going(back) == ["own"]
    stage.plans.tell_time()
    assert stage.freed == ["a"]


async def test_nobody_goes_before_the_plan_is_stored_and_its_quota_is_promised_at_once() -> None:
    stage = PlanStage(*QUEUES, *VICTIMS, HERO)
    stage.begin(HERO)
    assert stage.going(*VICTIMS) == []
    assert stage.plans.waits("ns/hero")
    (promise,) = stage.plans.promises()
    assert (promise.key, promise.queue, promise.priority) == ("ns/hero", "a", 5)
    assert promise.usage == {("default", "cpu"): 2000}
    assert promise.victims == {"ns/own", "ns/other"}
    await stage.plans.settle()
    assert stage.going(*VICTIMS) == ["own", "other"]
    assert sorted(stage.looked) == ["ns/hero", "ns/other", "ns/own"], (
        "and the preemptor says what it waits for"
    )
    assert stage.phases == {"hero": ("Evicting", "Evicting")}


async def test_what_the_plan_says() -> None:
    stage = await staged()
    ((name, plan),) = stage.api.of(PLANS.path).items()
    assert plan["metadata"]["labels"] == {"reprieve.dev/preemptor-kind": "Workload"}
    assert "finalizers" not in plan["metadata"]
    spec = plan["spec"]
    assert spec["preemptor"]["quota"] == {
        "clusterQueue": "a",
        "path": "/all/a",
        "generation": 0,
        "borrowing": 0,
        "amounts": [
            {"flavor": "default", "resource": "cpu", "asked": "2", "available": "0", "borrowed": "0"}
        ],
    }
    assert [(each["name"], each["quota"]["reason"], each["quota"]["since"]) for each in spec["victims"]] == [
        ("other", "InCohortReclamation", "2026-01-01T00:03:20Z"),
        ("own", "InClusterQueue", "2026-01-01T00:01:40Z"),
    ]
    assert spec["victimUnits"] == 2
    assert "victimPods" not in spec
    preemption = stage.plans.preemption_of("ns/other")
    assert preemption is not None
    assert (preemption.plan, preemption.uid, preemption.preempting_queue) == (f"ns/{name}", "other", "a")
    assert preemption.message == (
        "Preempted to accommodate a workload (UID: hero, JobUID: UNKNOWN) due to reclamation within the cohort; "
        "preemptor path: /all/a; preemptee path: /all/b"
    )


async def test_the_names_of_another_namespace_are_withheld() -> None:
    stage = await staged(OWN, foreign(OTHER))
    (plan,) = stage.api.of(PLANS.path).values()
    assert "secret" not in msgspec.json.encode(plan).decode()
    assert [each["uid"] for each in plan["spec"]["victims"]] == ["own", "other"]
    (whole,) = stage.api.of(WHOLE).values()
    assert [each["namespace"] for each in whole["spec"]["victims"]] == ["ns", "secret"]
    posts = [each.path for each in stage.api.written if each.method == "POST"]
    assert posts[0] == WHOLE, "it is stored first"
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    assert again.going(OWN, foreign(OTHER)) == ["own", "other"]


@pytest.mark.parametrize("refused", ["POST", "PATCH"])
async def test_nobody_goes_for_a_plan_that_cannot_be_stored_and_it_is_tried_again_later(refused: str) -> None:
    stage = PlanStage(*QUEUES, *VICTIMS, HERO)
    stage.api.refuse = lambda method, path: (
        ApiError(503, "Unavailable", "no") if method == refused and "preemptionplans" in path else None
    )
    await stage.preempt(HERO)
    assert stage.going(*VICTIMS) == []
    assert stage.plans.promises() == []
    assert stage.freed == ["a"]
    assert stage.plans.waits("ns/hero"), "not at once"
    stage.api.refuse = lambda _method, _path: None
    stage.clock.advance(1.0)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert not stage.plans.waits("ns/hero")
    assert stage.freed == ["a", "a"]
    await stage.preempt(HERO)
    assert stage.going(*VICTIMS) == ["own", "other"]


async def test_a_plan_that_cannot_be_stored_is_tried_less_and_less_often() -> None:
    stage = PlanStage(*QUEUES, *VICTIMS, HERO)
    stage.api.refuse = lambda method, path: (
        ApiError(422, "Invalid", "no") if method == "POST" and "preemptionplans" in path else None
    )
    for seconds in (1.0, 2.0, 4.0):
        await stage.preempt(HERO)
        stage.clock.advance(seconds - 0.1)
        stage.plans.tell_time()
        assert stage.plans.waits("ns/hero"), seconds
        stage.clock.advance(0.1)
        stage.plans.tell_time()
        await stage.plans.settle()
        assert not stage.plans.waits("ns/hero"), seconds
    stage.plans.workload_changed("ns/hero", HERO, None)
    await stage.preempt(HERO)
    stage.clock.advance(1.0)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert not stage.plans.waits("ns/hero"), "another preemptor begins anew"


def gated(item: Workload, position: Literal["Open", "Closed"] = "Open") -> Workload:
    states = [PreemptionGateState("g", position, "2026-01-01T00:00:00Z")]
    item = with_spec(item, preemption_gates=[PreemptionGate("g")])
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, preemption_gates=states))


def announced(stage: PlanStage, item: Workload) -> Workload:
    """The preemptor has written what its plan asks it to say."""
    says = stage.plans.preempting_of(key_of(item))
    assert says is not None
    assert says.is_due
    return set_condition(item, "QuotaReserved", "False", WAITS, NOW, says.message("It waits"))


async def test_a_workload_with_gates_says_first_that_it_waits() -> None:
    """That write fails if a gate closes first (KEP-8303)."""
    hero = gated(HERO)
    stage = PlanStage(*QUEUES, *VICTIMS, hero)
    await stage.preempt(hero)
    assert stage.going(*VICTIMS) == []
    assert "ns/hero" in stage.looked
    says = announced(stage, hero)
    stage.put(says)
    assert stage.going(*VICTIMS) == ["own", "other"]
    stage.put(gated(says, "Closed"))
    await stage.plans.settle()
    assert stage.going(*VICTIMS) == []
    assert stage.phases == {"hero": ("Aborted", "PreemptionGated")}


async def test_what_a_workload_with_gates_said_for_another_plan_or_by_another_process_does_not_count() -> (
    None
):
    """A gate may have closed since then, and nobody here has seen it."""
    stage = PlanStage(*QUEUES, *VICTIMS, gated(HERO))
    await stage.preempt(HERO)
    said_it = announced(stage, gated(HERO))
    plain = set_condition(gated(HERO), "QuotaReserved", "False", WAITS, NOW, "It waits")
    stage.put(plain)
    assert stage.going(*VICTIMS) == []
    stage.put(said_it)
    stage.clock.advance(1)
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    assert again.going(*VICTIMS) == []
    again.put(announced(again, said_it))
    assert again.going(*VICTIMS) == ["own", "other"]


# ---- what the preemptor says of failures


async def test_a_preemptor_says_that_its_plan_could_not_be_stored() -> None:
    stage = PlanStage(*QUEUES, *VICTIMS, HERO)
    stage.api.refuse = lambda method, path: ApiError(503, "Unavailable", "etcd is away")
    assert stage.plans.preempting_of("ns/hero") is None
    await stage.preempt(HERO)
    says = stage.plans.preempting_of("ns/hero")
    assert says is not None
    assert says.message("It waits").startswith(
        "It waits; the plan could not be stored, and the write is retried: ns/hero-"
    )
    assert says.message("It waits").endswith("503 Unavailable: etcd is away")
    assert "ns/hero" in stage.looked
    stage.api.refuse = lambda _method, _path: None
    stage.clock.advance(1.0)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.plans.preempting_of("ns/hero") == says, "until it is stored"
    await stage.preempt(HERO)
    says = stage.plans.preempting_of("ns/hero")
    assert says is not None
    assert says.message("It waits") == "It waits"


@pytest.mark.parametrize("end", ["gone", "admitted", "overtaken"])
async def test_a_preemptor_that_needs_no_plan_any_longer_says_nothing_of_it(end: str) -> None:
    stage = PlanStage(*QUEUES, *VICTIMS, HERO)
    stage.api.refuse = lambda method, path: ApiError(503, "Unavailable", "etcd is away")
    await stage.preempt(HERO)
    match end:
        case "gone":
            stage.remove(HERO)
        case "admitted":
            stage.put(held(HERO, NOW))
        case _:
            stage.plans.overtaken("ns/hero")
    assert stage.plans.preempting_of("ns/hero") is None


async def test_a_preemptor_says_that_evictions_failed_and_not_of_whom() -> None:
    stage = await staged()
    stage.looked.clear()
    stage.plans.not_evicted("ns/own", "own", "403 Forbidden")
    stage.plans.not_evicted("ns/nobody", "nobody", "404 NotFound")
    says = stage.plans.preempting_of("ns/hero")
    assert says is not None
    assert says.message("") == (
        "Pending the preemption of 2 workload(s); 1 eviction failed, and the write is retried: 403 Forbidden"
    )
    assert stage.looked == ["ns/hero"]
    stage.plans.not_evicted("ns/other", "other", "403 Forbidden")
    says = stage.plans.preempting_of("ns/hero")
    assert says is not None
    assert says.problem == "2 evictions failed, and the write is retried: 403 Forbidden"
    stage.looked.clear()
    stage.put(evicted(OWN, NOW))
    stage.put(preempted(OTHER, NOW, "InCohortReclamation"))
    says = stage.plans.preempting_of("ns/hero")
    assert says is not None
    assert says.problem == ""
    assert stage.looked == ["ns/hero", "ns/hero"]


# ---- followed


async def test_a_victim_that_has_left_and_got_other_quota_does_not_go_again() -> None:
    stage = await staged()
    stage.put(evicted(OWN, NOW))
    stage.put(preempted(OWN, NOW, "InClusterQueue"))
    assert stage.going(*VICTIMS) == ["other"]
    assert stage.plans.waits("ns/hero")
    for since in (NOW, NOW + 10):
        back = set_condition(held(workload("own", "a", 1), since), "Evicted", "False", "QuotaReserved", since)
        stage.put(back)
        assert stage.going(*VICTIMS) == ["other"]
    stage.put(preempted(OTHER, NOW, "InCohortReclamation"))
    assert not stage.plans.waits("ns/hero"), "all have left: it is decided anew"
    assert len(stage.plans.promises()) == 1, "and nobody else gets the quota"


async def test_nobody_counts_on_the_quota_of_a_victim_that_came_back() -> None:
    """Another preemptor would take the preemptor's room, as if that victim left. It would be evicted a second time."""
    stage = await staged()
    stage.put(preempted(OWN, NOW, "InClusterQueue"))
    (promise,) = stage.plans.promises()
    assert promise.victims == {"ns/own", "ns/other"}
    assert not promise.former
    stage.put(set_condition(held(workload("own", "a", 1), NOW), "Evicted", "False", "QuotaReserved", NOW))
    (promise,) = stage.plans.promises()
    assert promise.victims == {"ns/other"}
    assert promise.former == {"ns/own"}


@pytest.mark.parametrize(
    "back",
    [
        set_condition(OWN, "Evicted", "False", "QuotaReserved", NOW),
        held(workload("own", "a", 1), 101),
        with_meta(OWN, uid="another"),
    ],
    ids=["evicted meanwhile", "other quota", "another Workload"],
)
async def test_whoever_is_not_the_same_holder_stays(back: Workload) -> None:
    stage = await staged()
    stage.put(back)
    assert stage.going(*VICTIMS) == ["other"]


async def test_a_plan_ends_when_the_preemptor_needs_a_victim_whose_eviction_was_called_off() -> None:
    """By this plan it does not go twice. So the plan must not keep the preemptor from being decided about anew."""
    stage = await staged()
    stage.clock.advance(5)
    stage.put(set_condition(OWN, "Evicted", "False", "CalledOff", NOW + 3))
    stage.put(preempted(OTHER, NOW + 4, "InCohortReclamation"))
    assert stage.going(*VICTIMS) == []
    assert not stage.plans.waits("ns/hero")
    stage.begin(HERO)
    assert stage.plans.promises() == []
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Aborted", "VictimReturned")}
    assert stage.freed == ["a"]
    await stage.preempt(HERO)
    assert stage.going(*VICTIMS) == ["own"]


async def test_a_return_that_is_still_to_come_does_not_save_a_victim() -> None:
    """Somebody's clock is ahead, or somebody wants to stay."""
    own = set_condition(OWN, "Evicted", "False", "CalledOff", NOW + 500)
    stage = await staged(own, OTHER)
    assert stage.going(own, OTHER) == ["own", "other"]
    stage.clock.advance(501)
    stage.put(preempted(OTHER, NOW, "InCohortReclamation"))
    assert stage.going(own) == []
    await stage.preempt(HERO)
    assert stage.phases == {"hero": ("Aborted", "VictimReturned")}
    await stage.preempt(HERO)
    assert stage.going(own) == ["own"]


async def test_the_plan_is_over_when_the_preemptor_has_its_quota_and_not_while_that_is_assumed() -> None:
    stage = await staged()
    stage.quota.assume(held(stage.quota.state.workloads["ns/hero"], NOW))
    assert len(stage.plans.promises()) == 1
    stage.quota.resolve("ns/hero")
    stage.put(held(HERO, NOW))
    assert stage.plans.promises() == []
    assert stage.freed == ["a"]
    await stage.plans.settle()
    assert stage.phases == {"hero": ("QuotaReserved", "QuotaReserved")}


CHANGES: dict[str, Workload] = {
    "WorkloadChanged": with_meta(HERO, generation=7),
    "PriorityChanged": with_spec(HERO, priority=6),
    "WorkloadDeactivated": with_spec(HERO, active=False),
    "WorkloadFinished": set_condition(HERO, "Finished", "True", "JobFinished", NOW),
    "AdmissionGated": with_meta(HERO, annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/c"}),
    "WorkloadDeleted": with_meta(HERO, uid="another"),
}


@pytest.mark.parametrize("reason", CHANGES)
async def test_the_plan_is_over_when_the_preemptor_changes(reason: str) -> None:
    stage = await staged()
    stage.put(CHANGES[reason])
    assert stage.going(*VICTIMS) == []
    assert stage.plans.promises() == []
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Aborted", reason)}


async def test_the_plan_is_over_when_the_preemptor_goes() -> None:
    stage = await staged()
    stage.remove(HERO)
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Aborted", "WorkloadDeleted")}


async def test_the_plan_is_over_when_a_victim_may_not_go_any_longer() -> None:
    stage = await staged()
    stage.put(with_spec(OWN, priority=5))
    assert stage.going(*VICTIMS) == []
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Aborted", "VictimChanged")}


async def test_the_plan_is_over_at_its_deadline() -> None:
    stage = await staged()
    stage.clock.advance(599)
    stage.plans.tell_time()
    assert stage.going(*VICTIMS) == ["own", "other"]
    stage.clock.advance(2)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Expired", "DeadlineExceeded")}
    assert stage.freed == ["a"]


async def test_a_plan_that_nobody_ends_is_overdue() -> None:
    stage = await staged()
    stage.clock.advance(599)
    assert stage.stored.overdue_seconds(stage.clock.wall(), 600.0) == 0
    stage.clock.advance(51)
    assert stage.stored.overdue_seconds(stage.clock.wall(), 600.0) == 50
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.stored.overdue_seconds(stage.clock.wall(), 600.0) == 0


async def test_a_plan_that_no_longer_helps_its_preemptor_promises_nothing() -> None:
    stage = await staged()
    stage.plans.overtaken("ns/nobody")
    assert len(stage.plans.promises()) == 1
    stage.plans.overtaken("ns/hero")
    await stage.plans.settle()
    assert stage.plans.promises() == []
    assert stage.phases == {"hero": ("Aborted", "NoLongerFits")}


async def test_whoever_deletes_a_plan_ends_it() -> None:
    stage = await staged()
    async with beside(stage.plans.run()):
        await asyncio.sleep(0)
        stage.remove_plan(next(iter(stage.api.of(PLANS.path))))
        assert stage.going(*VICTIMS) == []
        assert stage.plans.promises() == []
        assert stage.freed == ["a"]


async def test_the_end_is_written_until_that_succeeds() -> None:
    stage = await staged()
    stage.api.refuse = lambda method, _path: ApiError(503, "Unavailable", "no") if method == "PATCH" else None
    stage.put(held(HERO, NOW))
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Evicting", "Evicting")}
    stage.api.refuse = lambda _method, _path: None
    stage.clock.advance(1.0)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.phases == {"hero": ("QuotaReserved", "QuotaReserved")}


async def test_the_next_plan_of_a_preemptor_takes_the_place_of_the_former_one() -> None:
    """A head of higher priority has taken what was freed, and another one is evicted."""
    third = held(workload("third", "b", 1, priority=1), 300)
    queues = (
        cohort("all"),
        cluster_queue("a", cpu(3), "all", reclaim="LowerPriority"),
        cluster_queue("b", cpu(0), "all"),
    )
    stage = PlanStage(*queues, OTHER, third, HERO)
    await stage.preempt(HERO)
    assert stage.going(OTHER, third) == ["other"]
    stage.put(preempted(OTHER, NOW, "InCohortReclamation"))
    stage.put(held(workload("urgent", "a", 1, priority=9), NOW))
    stage.clock.advance(5)
    await stage.preempt(HERO)
    assert stage.going(OTHER, third) == ["third"]
    (promise,) = stage.plans.promises()
    assert promise.victims == {"ns/third"}
    assert sorted(_phases(stage)) == [("Aborted", "Replaced"), ("Evicting", "Evicting")]


def _phases(stage: PlanStage) -> list[tuple[str, str]]:
    return [
        (each["status"]["phase"], each["status"]["conditions"][-1]["reason"])
        for each in stage.api.of(PLANS.path).values()
    ]


async def test_the_same_decision_waits_until_the_end_of_its_plan_is_written() -> None:
    """Both have one name."""
    stage = await staged()
    stage.put(with_spec(HERO, active=False))
    assert stage.freed == ["a"]
    stage.put(HERO)
    stage.begin(HERO)
    assert stage.plans.waits("ns/hero")
    assert stage.plans.promises() == []
    await stage.plans.settle()
    assert stage.phases == {"hero": ("Aborted", "WorkloadDeactivated")}
    assert stage.freed == ["a", "a"]
    assert not stage.plans.waits("ns/hero")
    await stage.preempt(HERO)
    assert stage.going(*VICTIMS) == ["own", "other"]
    assert stage.phases == {"hero": ("Evicting", "Evicting")}


async def test_a_decision_that_the_plan_covers_is_not_stored_again() -> None:
    stage = await staged()
    writes = len(stage.api.written)
    stage.put(evicted(OWN, NOW))
    await stage.preempt(HERO)
    assert len(stage.api.written) == writes


# ---- the next term


async def test_a_new_term_writes_every_victim_before_it_goes_on() -> None:
    stage = await staged()
    versions = {
        name: each["metadata"]["resourceVersion"] for name, each in stage.api.of(WORKLOADS.path).items()
    }
    again = stage.restart(*QUEUES)
    calls: list[list[str]] = []

    async def fence(workloads: Any) -> None:
        calls.append(again.going(*VICTIMS))
        await write_all(workloads)
        calls.append(again.going(*VICTIMS))

    write_all, again.resuming._fence = again.resuming._fence, fence
    await again.resuming.resume(again.quota.state.workloads.values())
    assert calls == [[], []]
    assert again.going(*VICTIMS) == ["own", "other"]
    assert again.plans.waits("ns/hero")
    for each in VICTIMS:
        stored = again.api.of(WORKLOADS.path)[each.metadata.name]
        assert stored["metadata"]["resourceVersion"] != versions[each.metadata.name]
        known = again.quota.state.workloads[key_of(each)]
        assert known.metadata.resource_version == stored["metadata"]["resourceVersion"]
        fenced = condition(known, FENCED)
        assert fenced is not None
        assert fenced.message == (
            "writes of former terms are refused from now on [term 2 of me, 2026-01-01T00:16:40.000000Z]"
        )
    assert again.phases == {"hero": ("Evicting", "Evicting")}


async def test_a_victim_that_is_evicted_already_is_not_written_again() -> None:
    stage = await staged()
    stage.put(evicted(OWN, NOW))
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    assert condition(again.quota.state.workloads["ns/own"], FENCED) is None
    assert condition(again.quota.state.workloads["ns/other"], FENCED) is not None
    assert again.going(OTHER) == ["other"]


async def test_the_fence_is_written_until_that_succeeds_and_what_nobody_may_write_is_passed_over() -> None:
    stage = await staged()
    again = stage.restart(*QUEUES)
    faults = [ApiError(503, "Unavailable", "no"), ApiError(0, "Lost", "no answer")]

    def refuse(method: str, path: str) -> ApiError | None:
        if method == "PATCH" and "/own/" in path:
            return ApiError(422, "Invalid", "no")
        return faults.pop() if method == "PATCH" and "/other/" in path and faults else None

    again.api.refuse = refuse
    await again.resuming.resume(again.quota.state.workloads.values())
    assert faults == []
    assert condition(again.quota.state.workloads["ns/own"], FENCED) is None
    assert condition(again.quota.state.workloads["ns/other"], FENCED) is not None
    assert again.going(*VICTIMS) == ["own", "other"]


@pytest.mark.parametrize("reason", CHANGES)
async def test_a_plan_that_does_not_hold_any_longer_is_ended_with_a_reason(reason: str) -> None:
    stage = await staged()
    stage.api.put(WORKLOADS.path, msgspec.to_builtins(CHANGES[reason]))
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    assert again.going(*VICTIMS) == []
    assert again.plans.promises() == []
    await again.plans.settle()
    assert again.phases == {"hero": ("Aborted", reason)}
    assert condition(again.quota.state.workloads["ns/own"], FENCED) is not None, "also then"


async def test_of_two_plans_of_a_preemptor_the_later_one_counts() -> None:
    """The old term died between storing the next plan and ending the former one."""
    stage = await staged()
    ((name, first),) = stage.api.of(PLANS.path).items()
    second = msgspec.json.decode(msgspec.json.encode(first))
    second["metadata"] |= {"name": "hero-later", "uid": "another"}
    second["spec"]["victims"] = second["spec"]["victims"][:1]
    second["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:16:41Z"
    stage.api.put(PLANS.path, second)
    stage.clock.advance(2)
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    await again.plans.settle()
    assert again.going(*VICTIMS) == ["other"]
    (promise,) = again.plans.promises()
    assert promise.victims == {"ns/other"}
    said = {each: stage.api.of(PLANS.path)[each]["status"]["phase"] for each in (name, "hero-later")}
    assert said == {name: "Aborted", "hero-later": "Evicting"}


async def test_a_plan_whose_phase_was_never_written_is_gone_on_from() -> None:
    stage = await staged()
    (plan,) = stage.api.of(PLANS.path).values()
    del plan["status"]
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    assert again.going(*VICTIMS) == ["own", "other"]


async def test_a_restart_does_not_put_off_the_deadline() -> None:
    stage = await staged()
    stage.clock.advance(601)
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    await again.plans.settle()
    assert again.phases == {"hero": ("Expired", "DeadlineExceeded")}


async def test_a_preemptor_that_got_its_quota_and_lost_it_again_has_no_promise() -> None:
    stage = await staged()
    lost = preempted(held(HERO, NOW + 1), NOW + 5, "InCohortReclamation")
    stage.api.put(WORKLOADS.path, msgspec.to_builtins(lost))
    again = stage.restart(*QUEUES)
    await again.resuming.resume(again.quota.state.workloads.values())
    await again.plans.settle()
    assert again.phases == {"hero": ("QuotaReserved", "QuotaReserved")}


async def test_a_plan_that_nobody_carries_out_or_that_cannot_be_read_is_ended() -> None:
    """The plan of an old term may arrive late."""
    stage = await staged()
    again = stage.restart(*QUEUES)
    await again.plans.sweep()
    assert again.phases == {"hero": ("Aborted", "NotCarriedOut")}
    (plan,) = again.api.of(PLANS.path).values()
    del plan["status"]
    plan["spec"]["preemptor"]["quota"]["amounts"][0]["asked"] = "many"
    third = stage.restart(*QUEUES)
    await third.plans.sweep()
    assert third.phases == {"hero": ("Aborted", "Unreadable")}


async def test_an_ended_plan_stays_for_a_while() -> None:
    stage = await staged(OWN, foreign(OTHER))
    stage.put(held(HERO, NOW))
    await stage.plans.settle()
    stage.clock.advance(RETENTION - 1)
    await stage.plans.sweep()
    assert len(stage.api.of(PLANS.path)) == 1
    stage.clock.advance(1)
    await stage.plans.sweep()
    assert stage.api.of(PLANS.path) == {}
    again = stage.restart(*QUEUES)
    await again.plans.sweep()
    assert stage.api.of(WHOLE) == {}, "a whole decision goes after its plan"


def test_plans_of_the_nodes_plane_are_none_of_ours() -> None:
    stored = StoredPlans()
    spec = PreemptionPlanSpec(
        Preemptor("PodGroup", "reprieve.dev/v1alpha1", "ns", "g", "u", 1), "Preempts", ""
    )
    assert not stored.upsert(PreemptionPlan(metadata=ObjectMeta(name="p", namespace="ns"), spec=spec))
    assert len(stored) == 0
