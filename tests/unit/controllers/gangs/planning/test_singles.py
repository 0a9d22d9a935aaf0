"""A pod that preempts alone: what its candidates lead to, and what follows when no plan comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.keys import LonePod
from kube.errors import ApiError
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}
CRITICAL = 2_000_001_000


def hero(**fields: Any) -> Pod:
    return pod("hero", **{"requests": BIG, "priority": 100, **fields})


def unit(priority: int = 1, nodes: int = 3, name: str = "low") -> list[Any]:
    """A group that goes whole, a pod of it on each node."""
    made = [
        pod(f"{name}-{number}", node=f"n{number}", group=name, requests=BIG, priority=priority)
        for number in range(nodes)
    ]
    return [gang(name, minimum=nodes, mode="all", priority=priority), *made]


def nodes(count: int = 3) -> list[Any]:
    return [node(f"n{number}") for number in range(count)]


def uid(name: str) -> str:
    return f"uid-default-{name}"


def offer(stage: Stage, who: Pod | None = None, **victims: str) -> list[str]:
    """The scheduler offers candidates, one victim on each; returns the nodes on which it may evict."""
    return stage.preempt(who or hero(), **{name: [uid(victim)] for name, victim in victims.items()})


def preemptors(stage: Stage) -> list[tuple[str, str]]:
    found = [plan["spec"]["preemptor"] for plan in stage.api.plans.values()]
    return [(each["kind"], each["name"]) for each in found]


@pytest.mark.parametrize("priority", [100, CRITICAL])
async def test_a_group_that_goes_whole_is_evicted_for_a_single_pod(priority: int) -> None:
    """The whole way: plan, Evicting, Ready, offered its node alone, Bound."""
    one = hero(priority=priority)
    async with staged(*nodes(), *unit(), one) as stage:
        await stage.settle()
        assert offer(stage, one, n0="low-0", n1="low-1", n2="low-2") == []
        assert stage.api.deleted == []
        await stage.settle()
        assert preemptors(stage) == [("Pod", "hero")]
        assert sorted(stage.api.deleted) == ["low-0", "low-1", "low-2"]
        assert stage.filter(one, "n0", "n1") == [], "it is held until the room is free"
        stage.delete(*unit()[1:])
        await stage.settle()
        assert stage.phases() == ["Ready"]
        (plan,) = stage.api.plans.values()
        (placement,) = plan["spec"]["placements"]
        assert stage.filter(one, "n0", "n1", "n2") == [placement["node"]]
        assert "hero" in stage.api.nominated
        stage.add(hero(priority=priority, node=placement["node"]))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        assert stage.reserved == 0
        assert stage.leading.gangs.alone(one.metadata.uid) is None, "a pod that is bound is forgotten"


async def test_others_are_kept_out_of_its_room() -> None:
    async with staged(*nodes(1), *unit(nodes=1), hero()) as stage:
        await stage.settle()
        offer(stage, n0="low-0")
        await stage.settle()
        stage.delete(*unit(nodes=1)[1:])
        await stage.settle()
        other = pod("other", requests=BIG, priority=100)
        stage.add(other)
        assert stage.filter(other, "n0") == []
        assert stage.filter(hero(), "n0") == ["n0"]


async def test_without_a_group_that_goes_whole_the_scheduler_evicts_itself() -> None:
    victims = [pod("v0", node="n0", requests=BIG, priority=1)]
    async with staged(*nodes(1), *victims, hero()) as stage:
        await stage.settle()
        assert offer(stage, n0="v0") == ["n0"]
        await stage.settle()
        assert stage.api.plans == {}


async def test_a_group_of_the_same_priority_is_struck_out() -> None:
    async with staged(*nodes(1), *unit(priority=100, nodes=1), hero()) as stage:
        await stage.settle()
        assert offer(stage, n0="low-0") == []
        await stage.settle()
        assert stage.api.plans == {}


async def test_only_nodes_that_the_scheduler_offered_are_planned() -> None:
    """There is a free node, which the scheduler did not offer: its filters may know more than ours."""
    free = node("n9")
    async with staged(*nodes(1), free, *unit(nodes=1), hero()) as stage:
        await stage.settle()
        offer(stage, n0="low-0")
        await stage.settle()
        (plan,) = stage.api.plans.values()
        assert [each["node"] for each in plan["spec"]["placements"]] == ["n0"]


@pytest.mark.parametrize(("group", "single", "gone"), [(1, 50, "low-0"), (50, 1, "v1")])
async def test_the_cheaper_one_goes(group: int, single: int, gone: str) -> None:
    dearer = pod("v1", node="n1", requests=BIG, priority=single)
    async with staged(*nodes(2), *unit(priority=group, nodes=1), dearer, hero()) as stage:
        await stage.settle()
        assert offer(stage, n0="low-0", n1="v1") == []
        await stage.settle()
        assert stage.api.deleted == [gone]


async def test_a_member_of_a_gang_that_runs_is_answered_as_before() -> None:
    member = hero(group="team")
    runs = [gang("team", minimum=1), pod("first", node="n1", group="team", requests=BIG, priority=100)]
    async with staged(*nodes(2), *unit(nodes=1), *runs, member) as stage:
        await stage.settle()
        assert offer(stage, member, n0="low-0") == []
        await stage.settle()
        assert stage.api.plans == {}


async def test_a_pod_that_evicts_nobody_gets_no_plan() -> None:
    one = hero(preemptionPolicy="Never")
    async with staged(*nodes(1), *unit(nodes=1), one) as stage:
        await stage.settle()
        assert offer(stage, one, n0="low-0") == []
        await stage.settle()
        assert stage.api.plans == {}


async def test_a_pod_that_the_mirror_does_not_know_yet_is_planned_once_it_does() -> None:
    async with staged(*nodes(1), *unit(nodes=1)) as stage:
        await stage.settle()
        assert offer(stage, n0="low-0") == []
        await stage.settle()
        assert stage.api.plans == {}
        stage.add(hero())
        await stage.settle()
        assert preemptors(stage) == [("Pod", "hero")]


# ---- when no plan comes of it


async def test_without_a_plan_the_pod_comes_back_and_is_answered_without_one_for_a_while() -> None:
    ordinary = pod("v1", node="n1", requests=BIG, priority=50)
    one = hero(requests={"cpu": "4", "example.com/none": "1"})
    async with staged(*nodes(2), *unit(nodes=1), ordinary, one) as stage:
        await stage.settle()
        assert offer(stage, one, n0="low-0", n1="v1") == []
        await stage.settle()
        assert "hero" in stage.api.pulsed
        assert stage.api.deleted == []
        assert offer(stage, one, n0="low-0", n1="v1") == ["n1"], "what is left after striking"
        pulses = len(stage.api.pulsed)
        await stage.settle()
        assert len(stage.api.pulsed) == pulses, "it is brought back once"
        stage.clock += 120
        assert offer(stage, one, n0="low-0", n1="v1") == [], "a plan is tried again"


async def test_a_plan_that_cannot_be_stored_is_given_up() -> None:
    async with staged(*nodes(1), *unit(nodes=1), hero()) as stage:
        await stage.settle()
        stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "no", 0) if method == "POST" and "preemptionplans" in path else None
        )
        offer(stage, n0="low-0")
        await stage.settle()
        assert stage.api.deleted == []
        assert stage.reserved == 0
        assert "hero" in stage.api.pulsed


async def test_a_pod_that_goes_ends_its_plan() -> None:
    async with staged(*nodes(), *unit(), hero()) as stage:
        stage.agrees = False
        await stage.settle()
        offer(stage, n0="low-0", n1="low-1", n2="low-2")
        await stage.settle(2)
        assert stage.reserved == 1
        stage.delete(hero())
        await stage.settle()
        assert stage.reserved == 0
        ((kind, phase),) = [
            (plan["spec"]["preemptor"]["kind"], plan["status"]["phase"]) for plan in stage.api.plans.values()
        ]
        assert (kind, phase) == ("Pod", "Aborted")


async def test_the_next_process_goes_on_with_the_plan() -> None:
    async with staged(*nodes(), *unit(), hero()) as stage:
        await stage.settle()
        offer(stage, n0="low-0", n1="low-1", n2="low-2")
        await stage.settle(2)
        assert len(stage.api.plans) == 1
        other = stage.restart()
        other.add(*nodes(), *unit(), hero())
        await other.settle()
        assert other.reserved == 1
        assert sorted(set(stage.api.deleted)) == ["low-0", "low-1", "low-2"]
        assert other.filter(hero(), "n0") == []
        await other.close()


async def test_a_plan_that_the_api_server_refuses_is_given_up() -> None:
    async with staged(
        *nodes(2), *unit(nodes=1), pod("v1", node="n1", requests=BIG, priority=50), hero()
    ) as stage:
        await stage.settle()
        stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "no", 0) if method == "DELETE dry run" else None
        )
        assert offer(stage, n0="low-0", n1="v1") == []
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert stage.reserved == 0
        assert "hero" in stage.api.pulsed
        assert offer(stage, n0="low-0", n1="v1") == ["n1"]
        assert stage.api.deleted == []


async def test_a_wish_that_nobody_fulfils_is_given_up() -> None:
    """The planner does not come to it. The pod comes back, and is answered without a plan."""
    wish = LonePod("default", "hero", uid("hero")).key
    async with staged(*nodes(1), *unit(nodes=1), hero()) as stage:
        await stage.settle()
        offer(stage, n0="low-0")
        singles = stage.leading.lone.singles
        assert singles.expire() == []
        stage.clock += 31
        assert singles.expire() == [wish]
        await stage.settle()
        assert "hero" in stage.api.pulsed
        assert stage.api.plans == {}


async def test_a_pod_whose_plan_came_to_nothing_comes_back_for_another_one() -> None:
    """A victim has gone by itself, so the plan ends. Nothing happens in the cluster after that."""
    low = unit(nodes=2)
    async with staged(*nodes(2), *low, hero()) as stage:
        stage.agrees = False
        await stage.settle()
        offer(stage, n0="low-0", n1="low-1")
        await stage.settle(2)
        stage.delete(low[2])
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert offer(stage, n0="low-0") == [], "it is answered without a plan for now"
        pulses = len(stage.api.pulsed)
        stage.clock += 1.5
        await stage.settle()
        assert len(stage.api.pulsed) == pulses + 1
        stage.agrees = True
        assert offer(stage, n0="low-0") == []
        await stage.settle()
        assert stage.api.deleted == ["low-0"]


async def test_a_pod_without_a_feasible_plan_does_not_come_back_again_and_again() -> None:
    """The scheduler's own events bring it back. A pulse would have every parked pod tried."""
    one = hero(requests={"cpu": "4", "example.com/none": "1"})
    async with staged(*nodes(1), *unit(nodes=1), one) as stage:
        await stage.settle()
        offer(stage, one, n0="low-0")
        await stage.settle()
        pulses = len(stage.api.pulsed)
        for _ in range(5):
            stage.clock += 120
            await stage.settle()
        assert len(stage.api.pulsed) == pulses
        assert len(stage.leading.lone.singles) == 0
