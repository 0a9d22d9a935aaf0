"""A term in which nothing is enforced: what it decides, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from prometheus_client import REGISTRY

from api.groups import PodGroup
from api.plans import PreemptionPlan
from controllers.gangs.answering import Answering
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.mirror.preempted_pods import KEPT_SECONDS
from tests.kit.native_gangs import native_object, native_pod
from tests.kit.objects import BIG, budget, gang, member, node, pod
from tests.kit.observed import ObservedStage, observed
from tests.kit.stage import Stage, staged

ALLOWED = ("/apis/reprieve.dev/", "/apis/coordination.k8s.io/")


def victim(number: int = 0, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def one_to_evict(minimum: int = 1) -> list[Any]:
    """A gang, and a pod in the way of each member."""
    numbers = range(minimum)
    nodes, victims = [node(f"n{each}") for each in numbers], [victim(each) for each in numbers]
    return [*nodes, gang(minimum=minimum), *(member(each) for each in numbers), *victims]


def plans(stage: ObservedStage | Stage) -> list[PreemptionPlan]:
    return [msgspec.convert(each, PreemptionPlan) for each in stage.api.plans.values()]


def counted(outcome: str) -> float:
    labels = {"outcome": outcome, "state": "Same"}
    return REGISTRY.get_sample_value("reprieve_observed_decisions_total", labels) or 0.0


def phases(stage: ObservedStage | Stage) -> list[str | None]:
    return [each.status.phase if each.status is not None else None for each in plans(stage)]


def foreign(stage: ObservedStage) -> list[Any]:
    """What was written to anything but our own kinds."""
    return [each for each in stage.api.written if not each.path.startswith(ALLOWED)]


async def pass_time(stage: ObservedStage, seconds: float) -> None:
    stage.clock += seconds
    await stage.settle()


async def test_a_gang_that_would_evict_gets_a_plan_and_nothing_is_done() -> None:
    before = counted("Preempts")
    async with observed(*one_to_evict(2)) as stage:
        await stage.settle()
        await pass_time(stage, 1.0)
        (plan,) = plans(stage)
        assert (plan.spec.mode, plan.spec.outcome) == ("Observe", "Preempts")
        assert {each.name for each in plan.spec.victims} == {"v0", "v1"}
        assert phases(stage) == ["Observed"]
        assert not plan.metadata.finalizers
        assert foreign(stage) == []
        assert stage.reserved == 0, "no room is promised"
        reason, says = stage.api.waits["gang"][-1]
        assert reason == "Observing"
        assert says == (
            "planning.mode is Observe, so nothing is done for it: 2 pods would be evicted for it "
            f"(plan {plan.metadata.name})"
        )
    assert counted("Preempts") == before + 1


async def test_the_decision_is_that_of_enforce() -> None:
    """It differs in what says that it is only observed."""
    async with observed(*one_to_evict(2)) as one, staged(*one_to_evict(2)) as other:
        await one.settle()
        await other.settle()
        (ours,), (theirs,) = plans(one), plans(other)
        assert msgspec.structs.replace(ours.spec, mode=msgspec.UNSET) == theirs.spec
        assert ours.metadata.name != theirs.metadata.name, "no plan of one mode is taken for one of the other"


async def test_what_fits_free_room_is_only_counted() -> None:
    before = counted("Fits")
    async with observed(node("n0"), node("n1"), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        await pass_time(stage, 10.0)
        stage.add(member(2))
        await pass_time(stage, 10.0)
        assert plans(stage) == []
        assert stage.api.waits["gang"][-1][1].endswith("it fits, and no pod would be evicted for it")
    assert counted("Fits") == before + 1


async def test_a_gang_that_fits_nowhere_gets_a_plan_too() -> None:
    async with observed(node("n0"), gang(minimum=2), member(0), member(1), victim(priority=1000)) as stage:
        await stage.settle()
        (plan,) = plans(stage)
        assert plan.spec.outcome == "Unschedulable"
        assert phases(stage) == ["Observed"]
        assert "gang" not in stage.api.group_said, "PodGroupInitiallyScheduled is not written as False"


async def test_a_gang_gets_one_new_plan_a_minute() -> None:
    async with observed(*one_to_evict()) as stage:
        await stage.settle()
        for number in range(1, 6):  # each of them makes the decision another one
            stage.add(node(f"n{number}"), victim(number))
            await pass_time(stage, 5.0)
        assert len(plans(stage)) == 1
        stage.delete(victim(0), node("n0"))
        await pass_time(stage, 40.0)
        assert len(plans(stage)) == 2


async def test_the_same_decision_gets_its_time_once_a_minute() -> None:
    async with observed(*one_to_evict()) as stage:
        await stage.settle()
        times = [plans(stage)[0].status.last_decision_time]  # type: ignore[union-attr]
        for number in range(4):
            stage.add(member(0, labels={"reprieve.dev/pod-group": "gang", "attempt": str(number)}))
            await pass_time(stage, 35.0)
            times.append(plans(stage)[0].status.last_decision_time)  # type: ignore[union-attr]
        assert len(stage.api.plans) == 1
        assert 1 < len(set(times)) <= 3


async def test_nothing_is_written_or_searched_for_at_rest() -> None:
    async with observed(*one_to_evict()) as stage:
        await stage.settle()
        await pass_time(stage, 61.0)
        before = len(stage.api.written), searches()
        for _ in range(5):
            await pass_time(stage, 60.0)
        assert (len(stage.api.written), searches()) == before


def searches() -> float:
    return REGISTRY.get_sample_value("reprieve_planning_seconds_count") or 0.0


async def test_counts_and_the_first_run_are_written() -> None:
    """So a gang that has run whole does not count as one in pieces later."""
    async with observed(node("n0"), node("n1"), gang(minimum=2), member(0)) as stage:
        await stage.settle()
        await pass_time(stage, 1.0)
        assert stage.api.waits["gang"][-1] == (
            "Observing",
            "planning.mode is Observe, so nothing is done for it: 1 of 2 members exist",
        )
        stage.add(member(0, node="n0"), member(1, node="n1"))
        await pass_time(stage, 2.0)
        await pass_time(stage, 2.0)
        written = [each.body["status"] for each in stage.api.written if "/podgroups/" in each.path]
        said = {each["type"]: each["status"] for status in written for each in status["conditions"]}
        assert said == {"reprieve.dev/Scheduled": "True", "PodGroupInitiallyScheduled": "True"}
        counts = [status for status in written if "boundMembers" in status]
        assert (counts[-1]["members"], counts[-1]["boundMembers"]) == (2, 2)
        assert foreign(stage) == []


async def test_a_gang_in_pieces_is_not_released() -> None:
    async with observed(node("n0"), gang(minimum=2), member(0, node="n0"), member(1)) as stage:
        await stage.settle()
        for _ in range(5):
            await pass_time(stage, 60.0)
        assert foreign(stage) == []
        assert set(phases(stage)) <= {"Observed"}


@pytest.mark.parametrize("setting", ["Steer", "Drive", "Off"])
async def test_gangs_of_the_schedulers_own_kind_say_who_would_evict(setting: Any) -> None:
    """Off says what Steer would do: that is what an operator compares with."""
    objects = [node("n0"), native_object(minimum=1), native_pod("m0"), victim()]
    async with observed(*objects, native_groups=setting) as stage:
        await stage.settle()
        (plan,) = plans(stage)
        assert plan.spec.evicted_by == ("Reprieve" if setting == "Drive" else "Scheduler")
        assert foreign(stage) == []


async def test_no_more_observed_plans_stay_than_the_setting_says() -> None:
    gangs = [each for number in range(6) for each in (gang(f"g{number}", minimum=1), asks(number))]
    async with observed(node("n0"), victim(), *gangs, observed_plans_at_most=4) as stage:
        await stage.settle(30)
        await pass_time(stage, 2.0)
        await pass_time(stage, 2.0)
        assert len(plans(stage)) == 4


def asks(number: int) -> Any:
    return member(f"m{number}", group=f"g{number}", requests=BIG)


async def test_an_active_plan_of_a_former_mode_is_not_carried_out() -> None:
    async with staged(*one_to_evict()) as former:
        await former.settle(3)
        assert phases(former) != ["Observed"]
        stage = ObservedStage(former._executor, former.api)
        stage.add(*one_to_evict())
        await stage.settle()
        deleted = [*stage.api.deleted]
        await pass_time(stage, 120.0)
        await stage.close()
        assert stage.api.deleted == deleted
        assert sorted(str(each) for each in phases(stage)) == ["Aborted", "Observed"]
        assert stage.reserved == 0


async def test_an_observed_plan_is_never_carried_out_by_another_mode() -> None:
    """Whatever its status says. Anybody may have written that, and a process may die before it writes one."""
    async with observed(*one_to_evict()) as former:
        await former.settle()
        (name,) = former.api.plans
        for status in ({}, {"phase": "Planned"}, {"phase": "Evicting"}):
            former.api.plans[name]["status"] = status
            stage = Stage(
                former._executor, former.api, PlanningConfiguration(mode="Enforce", confirmation="Require")
            )
            stage.agrees = False
            stage.add(*[each for each in one_to_evict() if not isinstance(each, PodGroup)])
            await stage.settle()
            assert stage.reserved == 0
            assert stage.api.deleted == []
            await stage.close()


async def test_nobody_answers_as_a_leader() -> None:
    """The verbs give back what they get. The face of the gangs has nobody who decides."""
    async with observed(*one_to_evict()) as stage:
        await stage.settle()
        answering = Answering(stage.controller, lambda: True)
        assert not answering.leads
        assert not answering.decides
        assert stage.controller.waking is None


# ---- on the state before

PREEMPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority pod",
}


def preempted(number: int, **fields: Any) -> Any:
    """A victim that a scheduler has marked and deleted."""
    return victim(number, conditions=[PREEMPTED], deleting="2026-01-01T00:00:30Z", **fields)


async def decision(*objects: Any, then: Callable[[ObservedStage], object] = lambda _: None) -> PreemptionPlan:
    """The plan that is stored for the gang once it is complete."""
    async with observed(*objects) as stage:
        await stage.settle()
        then(stage)
        await stage.settle()
        await stage.written()
        (plan,) = plans(stage)
        return plan


def why(plan: PreemptionPlan) -> tuple[str, str]:
    """The reason of the plan's phase, and what it says."""
    assert plan.status is not None
    (said,) = plan.status.conditions or []
    return said.reason, said.message


@pytest.mark.parametrize("is_gone", [False, True], ids=["terminating", "gone"])
@pytest.mark.parametrize("place", [{"node": "n0"}, {"nominated": "n0"}], ids=["bound", "nominated"])
async def test_a_gang_is_decided_on_the_state_before_its_scheduler_began(
    place: dict[str, str], is_gone: bool
) -> None:
    """v0 was preempted for m0 before m1 exists. The decision is as if nothing had happened."""
    nodes, group, last = [node("n0"), node("n1")], gang(minimum=2), member(1)
    before = await decision(*nodes, group, member(0), last, victim(0), victim(1))

    def then(stage: ObservedStage) -> None:
        stage.add(preempted(0))
        if is_gone:
            stage.delete(preempted(0))
        stage.add(member(0, **place), last)

    after = await decision(*nodes, group, member(0), victim(0), victim(1), then=then)
    assert after.spec == before.spec
    assert {each.name for each in after.spec.victims} == {"v0", "v1"}
    assert why(after)[0] == "Observed"


async def test_what_went_before_a_term_is_not_known() -> None:
    """Whoever began for the gang before may have evicted pods that are gone."""
    objects = [node("n0"), node("n1"), gang(minimum=2), member(0, node="n0"), victim(1)]
    plan = await decision(*objects, then=lambda stage: stage.add(member(1)))
    assert why(plan)[0] == "Changed"
    assert why(plan)[1].endswith("is not known: it had begun before reprieve began to lead")


async def test_nothing_is_kept_of_pods_that_nobody_asks_for() -> None:
    async with observed(*one_to_evict(2)) as stage:
        await stage.settle()
        kept = stage.leading.before._preempted
        for number in range(2):
            stage.add(preempted(number))
            stage.delete(preempted(number))
            stage.add(member(number, node=f"n{number}"))
        await pass_time(stage, 2.0)
        assert len(kept) > 0
        await pass_time(stage, KEPT_SECONDS)
        stage.add(pod("other"))
        assert len(kept) == 0, "the gang has run whole"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda stage: (stage.delete(preempted(0)), stage.add(pod("other", node="n0", requests=BIG))),
            "pods on node n0 were preempted, and another pod has come to it",
        ),
        (
            lambda stage: stage.delete(preempted(0), node("n0")),
            "pod default/v0 was preempted, and its node is gone",
        ),
        (
            lambda stage: stage.add(pod("other", nominated="n0", priority=100)),
            "pods on node n0 were preempted, and another pod is nominated to it",
        ),
        (
            lambda stage: stage.add(budget("b", selector={"matchLabels": {"app": "x"}})),
            "pod default/v0 was preempted, and counts against a budget",
        ),
    ],
)
async def test_what_cannot_be_put_back_makes_the_decision_another_one(
    change: Callable[[ObservedStage], object], says: str
) -> None:
    def then(stage: ObservedStage) -> None:
        stage.add(preempted(0, labels={"app": "x"}), member(0, node="n0"))
        change(stage)
        stage.add(member(1))

    objects = [node("n0"), node("n1"), gang(minimum=2), member(0), victim(1)]
    plan = await decision(*objects, victim(0, labels={"app": "x"}), then=then)
    reason, message = why(plan)
    assert reason == "Changed"
    assert message.endswith(f"the state before its scheduler began is not known: {says}")


async def test_a_gang_that_has_run_keeps_its_members() -> None:
    """A replacement is planned beside them."""
    async with observed(
        node("n0"), node("n1"), gang(minimum=2), member(0, node="n0"), member(1, node="n1")
    ) as stage:
        await stage.settle()
        stage.delete(member(1))
        stage.add(member(2), victim(1))
        await pass_time(stage, 2.0)
        await pass_time(stage, 2.0)
        (plan,) = plans(stage)
        assert [each.pod for each in plan.spec.placements] == ["m2"]


# ---- single pods


async def test_a_single_pod_gets_a_plan_if_a_unit_that_goes_whole_is_in_its_way() -> None:
    unit = gang("whole", mode="all", priority=1)
    victims = [pod(f"w{each}", node=f"n{each}", group="whole", requests=BIG, priority=1) for each in range(2)]
    hero = pod("hero", priority=100, requests=BIG)
    async with observed(node("n0"), node("n1"), unit, *victims, hero) as stage:
        await stage.settle()
        assert plans(stage) == [], "nobody has asked"
        for _ in range(2):
            stage.controller.preempt_heard(hero, {"n0": ["uid-default-w0"]})
            await stage.settle()
        (plan,) = plans(stage)
        assert (plan.spec.preemptor.kind, plan.spec.outcome, plan.spec.mode) == ("Pod", "Preempts", "Observe")
        assert {each.name for victim in plan.spec.victims for each in victim.pods} == {"w0", "w1"}
        assert phases(stage) == ["Observed"]
        assert foreign(stage) == []


async def test_other_preemptions_of_single_pods_get_no_plan() -> None:
    hero = pod("hero", priority=100, requests=BIG)
    async with observed(*one_to_evict(), hero) as stage:
        await stage.settle()
        stored = len(plans(stage))
        stage.controller.preempt_heard(hero, {"n0": ["uid-default-v0"]})
        stage.controller.preempt_heard(member(0), {"n0": ["uid-default-v0"]})
        stage.controller.preempt_heard(hero, {"n0": ["unknown"]})
        await pass_time(stage, 2.0)
        assert len(plans(stage)) == stored
