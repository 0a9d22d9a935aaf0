"""`planning.limits`: how much is evicted for one plan and within an hour, also by the next leader."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import RESUMED
from api.published import NAMESPACE
from api.times import rfc3339
from controllers.gangs.configuration import LimitsConfiguration, PlanningConfiguration
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.limiting import may_wait
from controllers.gangs.lifecycle.limits import HOUR_SECONDS, Limited, Pods, namespaces_of
from controllers.gangs.lifecycle.observations import LimitSeen
from controllers.gangs.mirror.evicted_pods import SETTLE_SECONDS
from tests.kit.eviction_stage import BIG, denied, hero, refuse, singles, unit
from tests.kit.native_gangs import GANG_KEY
from tests.kit.objects import gang, node, pod
from tests.kit.paused import pause_after, resume
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.pieces_stage import in_pieces, kept, released, wait
from tests.unit.controllers.gangs.steered_stage import MEMBERS, hand_over, plan_of, steering


def limiting(**limits: int) -> PlanningConfiguration:
    return PlanningConfiguration(mode="Enforce", limits=LimitsConfiguration(**limits))


def filler(number: int, namespace: str = "default", *, priority: int = 1) -> list[Any]:
    """A node that a pod of low priority fills."""
    name = f"v{number}"
    return [
        node(f"n{number}"),
        pod(name, node=f"n{number}", requests=BIG, priority=priority, namespace=namespace),
    ]


def wants(name: str, members: int = 1, *, priority: int = 100) -> list[Any]:
    """A gang; each member needs a node for itself."""
    pods = (pod(f"{name}-{k}", group=name, requests=BIG, priority=priority) for k in range(members))
    return [gang(name, minimum=members, priority=priority), *pods]


async def told(stage: Stage, name: str) -> tuple[str, str]:
    """Reason and message of the condition of a gang that has been there for some seconds."""
    for _ in range(3):
        await later(stage)
    return stage.api.waits[name][-1]


async def later(stage: Stage, seconds: float = 2.0) -> None:
    stage.clock += seconds
    await stage.settle()


def bind(stage: Stage, name: str, node_name: str, *, priority: int = 100) -> None:
    """The member of a gang of one takes the room."""
    stage.add(pod(f"{name}-0", group=name, requests=BIG, priority=priority, node=node_name))


def leave(stage: Stage, namespace: str = "default") -> None:
    """What was deleted is gone."""
    stage.delete(*(pod(name, namespace=namespace) for name in stage.api.deleted))


@asynccontextmanager
async def evicted_one(*objects: Any, **limits: int) -> AsyncIterator[Stage]:
    """A stage on which the gang `first` got the room of pod v0, which is gone."""
    async with staged(*filler(0), *wants("first"), configuration=limiting(**limits)) as stage:
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        leave(stage)
        bind(stage, "first", "n0")
        await later(stage)
        stage.add(*objects)
        yield stage


async def test_a_decision_with_more_victims_than_a_plan_may_have_is_blocked_with_numbers() -> None:
    async with staged(*unit(3), *hero(), configuration=limiting(pods_per_plan=2)) as stage:
        await stage.settle()
        await later(stage)
        assert stage.api.reasons["gang"] == "EvictionLimit"
        why = "it would evict 3 pods, and planning.limits.podsPerPlan is 2"
        assert stage.api.waits["gang"][-1] == ("EvictionLimit", why)
        assert stage.phases() == []
        assert stage.leading.gangs.life_of(("default", "gang")).phase == "Blocked"
        await later(stage, 2 * HOUR_SECONDS)
        assert stage.api.deleted == []
        stage.add(node("free"))
        await later(stage)
        assert "Ready" in stage.phases()


async def test_a_plan_waits_until_the_hour_is_over_and_then_evicts_by_itself() -> None:
    async with evicted_one(*filler(1), *wants("hero"), pods_per_hour=1) as stage:
        reason, message = await told(stage, "hero")
        assert reason == "EvictionLimitReached"
        assert message.endswith(
            "it would evict 1 pod, 1 was evicted within the last hour, and planning.limits.podsPerHour is 1"
        )
        assert message.startswith("it waits until ")
        await later(stage, HOUR_SECONDS - 100.0)
        assert stage.api.deleted == ["v0"]
        await later(stage, 100.0)
        await later(stage)
        assert stage.api.deleted == ["v0", "v1"]


async def test_the_next_leader_has_the_same_count() -> None:
    async with evicted_one(*filler(1), *wants("hero"), pods_per_hour=1) as stage:
        said = await told(stage, "hero")
        again = stage.restart()
        again.add(*filler(1), *wants("hero"), node("n0"), *wants("first"))
        bind(again, "first", "n0")
        assert await told(again, "hero") == said
        assert again.api.deleted == ["v0"]
        await later(again, HOUR_SECONDS)
        await later(again)
        assert again.api.deleted == ["v0", "v1"]
        await again.close()


async def test_a_plan_that_is_deleted_within_the_hour_still_counts() -> None:
    async with evicted_one(pods_per_hour=1) as stage:
        (name,) = stage.api.plans
        for view in stage._views.values():
            if view.kind == "preemptionplans":
                view.delete(ObjectMeta(name=name, namespace="default", resource_version="999999"))
        assert len(stage.controller.known.promises.stored) == 0
        stage.add(*filler(1), *wants("hero"))
        assert (await told(stage, "hero"))[0] == "EvictionLimitReached"


async def test_two_plans_at_a_time_do_not_evict_more_than_an_hour_may_have() -> None:
    objects = [*filler(0), *filler(1), *wants("one"), *wants("two")]
    async with staged(*objects, configuration=limiting(pods_per_hour=1)) as stage:
        stage.agrees = False
        await later(stage)
        assert stage.phases() == ["Planned"], "the other one must not even take room"
        stage.agrees = True
        await later(stage)
        assert len(stage.api.deleted) == 1


async def test_no_preemptor_of_lower_priority_passes_one_that_waits() -> None:
    async with staged(*filler(0), *wants("first"), configuration=limiting(pods_per_hour=3)) as stage:
        await stage.settle()
        leave(stage)
        bind(stage, "first", "n0")
        await later(stage)
        stage.add(*unit(3, first=1), *wants("high", 3, priority=100))
        assert (await told(stage, "high"))[0] == "EvictionLimitReached"
        stage.add(*filler(7), *wants("low", priority=50))
        reason, message = await told(stage, "low")
        assert reason == "EvictionLimitReached"
        assert message.endswith("a preemptor that comes first waits for planning.limits.podsPerHour")
        stage.add(*wants("higher", priority=200))
        await later(stage)
        assert len(stage.api.deleted) == 2, "one of higher priority passes"


async def test_only_the_namespace_of_the_victims_counts() -> None:
    async with evicted_one(*filler(1), *wants("hero"), pods_per_namespace_and_hour=1) as stage:
        assert (await told(stage, "hero"))[0] == "EvictionLimitReached"
        stage.add(*filler(2, "elsewhere", priority=0))
        await later(stage)
        await later(stage)
        assert stage.api.deleted == ["v0", "v2"]


async def test_the_next_leader_reads_the_namespaces_that_plans_withhold() -> None:
    limits = limiting(pods_per_namespace_and_hour=1)
    async with staged(*filler(0, "elsewhere"), *wants("first"), configuration=limits) as stage:
        await stage.settle()
        leave(stage, "elsewhere")
        bind(stage, "first", "n0")
        await later(stage)
        again = stage.restart()
        again.add(node("n0"), *wants("first"), *filler(1, "elsewhere"), *wants("hero"))
        bind(again, "first", "n0")
        await later(again)
        assert again.api.deleted == ["v0"]
        reason, message = await told(again, "hero")
        assert reason == "EvictionLimitReached"
        assert "elsewhere" not in message
        again.add(*filler(2, priority=0))
        await later(again)
        await later(again)
        assert again.api.deleted == ["v0", "v2"]
        await again.close()


async def test_a_plan_of_a_former_leader_that_has_not_evicted_ends_if_the_limit_is_lower_now() -> None:
    async with staged(*unit(3), *hero(), configuration=limiting(pods_per_plan=3)) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage._configuration = limiting(pods_per_plan=2)
        again = stage.restart()
        again.add(*unit(3), *hero())
        await again.settle()
        await later(again)
        assert again.api.deleted == []
        assert again.api.waits["gang"][-1][0] == "EvictionLimit"
        assert again.phases() == ["Aborted"]
        assert again.reserved == 0
        await again.close()


async def test_what_has_begun_ends() -> None:
    async with staged(*unit(3), *hero(), configuration=limiting(pods_per_plan=3)) as stage:
        await stage.settle()
        stage._configuration = limiting(pods_per_plan=1, pods_per_hour=1)
        again = stage.restart()
        again.add(*unit(3), *hero())
        await again.settle()
        await later(again)
        assert sorted({*again.api.deleted}) == ["u0", "u1", "u2"]
        await again.close()


def vain(stage: Stage) -> list[str]:
    return [
        each["reason"]
        for plan in stage.api.plans.values()
        for each in plan["status"]["conditions"]
        if each["type"] == "InVain" and each["status"] == "True"
    ]


async def evict_in_vain(stage: Stage) -> None:
    """The room that the gang made is taken by somebody who never asked."""
    (name,) = stage.api.deleted
    leave(stage)
    stage.add(pod("thief", node=name.replace("v", "n"), requests=BIG, priority=1000))
    await later(stage)
    await later(stage, 5.0)


async def test_plans_in_vain_stop_all_evictions_for_an_hour_or_until_somebody_resumes() -> None:
    limits = limiting(plans_in_vain_per_hour=1)
    async with staged(*singles(1), *hero(), configuration=limits) as stage:
        await stage.settle()
        await evict_in_vain(stage)
        assert vain(stage) == ["EvictedInVain"]
        stage.add(*filler(5), *wants("other"))
        reason, message = await told(stage, "other")
        assert reason == "EvictionLimitReached"
        assert "1 plan evicted pods in vain" in message
        assert "planning.limits.plansInVainPerHour" in message
        assert len(stage.api.deleted) == 1
        again = {RESUMED: rfc3339(stage.api.clock.wall() + 1.0)}
        stage.add(Namespace(ObjectMeta(name=NAMESPACE, annotations=again)))
        await later(stage)
        await later(stage)
        assert len(stage.api.deleted) == 2


async def test_the_brake_ends_by_itself_after_an_hour() -> None:
    limits = limiting(plans_in_vain_per_hour=1)
    async with staged(*singles(1), *hero(), configuration=limits) as stage:
        await stage.settle()
        await evict_in_vain(stage)
        stage.add(*filler(5), *wants("other"))
        await later(stage, HOUR_SECONDS - 60.0)
        assert len(stage.api.deleted) == 1
        await later(stage, 60.0)
        await later(stage)
        assert len(stage.api.deleted) == 2


async def test_a_pod_that_two_plans_wanted_to_evict_counts_once() -> None:
    """A pause ends the first plan in the middle. The second one evicts the rest."""
    many = 40  # more than are evicted at a time
    limits = limiting(pods_per_hour=many)
    async with staged(*singles(many), *hero(many), configuration=limits) as stage:
        pause_after(stage, 1)
        await stage.settle()
        assert 0 < len(stage.api.deleted) < many
        resume(stage)
        await later(stage)
        await later(stage)
        assert len({*stage.api.deleted}) == many
        stage.add(*filler(many), *wants("late"))
        assert (await told(stage, "late"))[0] == "EvictionLimitReached"


async def test_a_victim_that_stays_ceases_to_count_when_its_plan_has_ended() -> None:
    """v0 is gone, and the API server did not let v1 go."""
    async with staged(*singles(2), *hero(2), configuration=limiting(pods_per_hour=2)) as stage:
        refuse(stage, "DELETE", denied, "v1")
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        stage.delete(*hero(2), pod("v0"))
        stage.add(
            node("n9"),
            *filler(5, priority=0),
            *wants("other"),
            pod("p", node="n9", requests=BIG, priority=500),
        )
        stage.add(pod("q", node="n0", requests=BIG, priority=500))
        assert (await told(stage, "other"))[0] == "EvictionLimitReached"
        await later(stage, SETTLE_SECONDS)
        await later(stage)
        assert "v5" in stage.api.deleted


class Refusing:
    """Limits that allow nothing."""

    def __init__(self, now: bool = True) -> None:
        self.now = now

    def of(self, group: GroupKey, pods: Pods) -> Limited | None:
        return Limited("EvictionLimitReached", "it waits: no", (), pods) if self.now else None

    def of_plan(self, plan: ActivePlan) -> Limited | None:
        return self.of(plan.group, namespaces_of(plan.spec)) if may_wait(plan) else None


async def test_a_gang_in_pieces_is_released_when_the_limits_allow_it() -> None:
    async with in_pieces() as stage:
        limits = stage.leading.gangs.limits = Refusing()
        await wait(stage)
        assert released(stage) == []
        assert kept(stage).endswith("it waits: no")
        limits.now = False
        await wait(stage)
        assert len(released(stage)) == 3


async def test_a_steered_plan_that_is_open_is_not_taken_back() -> None:
    async with steering(*MEMBERS) as stage:
        stage.leading.gangs.limits = Refusing()
        await later(stage)
        assert plan_of(stage).opened is not None
        await hand_over(stage)


async def test_a_steered_plan_is_offered_nothing_before_the_limits_allow_it() -> None:
    async with steering() as stage:
        limits = stage.leading.gangs.limits = Refusing()
        stage.add(*MEMBERS)
        await later(stage)
        assert stage.phases() == []
        assert [stage.filter(each, "n0", "n1") for each in MEMBERS] == [[], []]
        assert stage.leading.gangs.life_of(GANG_KEY).reason == "EvictionLimitReached"
        limits.now = False
        stage.leading.gangs.report(GANG_KEY, LimitSeen(None))
        await later(stage)
        await hand_over(stage)
