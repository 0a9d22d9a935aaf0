"""Many gangs that cannot fit: the planner looks at each once, and again only when something could help it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import Decided, NotDecided
from kube.errors import ApiError
from tests.kit.objects import gang, group, node, pod, priority_class
from tests.kit.stage import Stage, staged

SEARCH_SECONDS = 0.05
BIG = {"cpu": "4"}


class Searches:
    """Counts what the planner searches for. Each search takes a while."""

    def __init__(self, stage: Stage) -> None:
        self.looks: Counter[str] = Counter()
        """By name of the gang."""
        self.at: dict[str, float] = {}
        """When the first search for each gang ended."""
        self._stage, self._decide = stage, stage.leading.planner._turns._decider.decide
        stage.leading.planner._turns._decider.decide = self.decide  # type: ignore[method-assign]

    async def decide(self, key: GroupKey, *, barred: str = "", in_vain: bool = False) -> Decided | NotDecided:
        """The real search, after the time that it takes on a large cluster."""
        decided = await self._decide(key, barred=barred, in_vain=in_vain)
        self._stage.clock += SEARCH_SECONDS
        self.looks[key[1]] += 1
        self.at.setdefault(key[1], self._stage.clock)
        return decided


def waits(name: str, *, priority: int, cpu: str = "64", members: int = 2) -> list[Any]:
    """A gang, and its members."""
    made = [
        pod(f"{name}-{number}", group=name, requests={"cpu": cpu}, priority=priority)
        for number in range(members)
    ]
    return [gang(name, minimum=members, priority=priority), *made]


async def crowded(stage: Stage, count: int) -> Searches:
    """`count` gangs of high priority wait, and the planner has looked at all of them."""
    await stage.settle()
    searches = Searches(stage)
    for number in range(count):
        stage.add(*waits(f"c{number}", priority=900, cpu=f"{64 + number % 7}"))
    while await stage.leading.planner.step():
        pass
    await stage.settle()
    return searches


async def test_a_thousand_gangs_that_cannot_fit_are_looked_at_once() -> None:
    async with staged(node("n0"), pod("v", node="n0", requests=BIG, priority=950)) as stage:
        searches = await crowded(stage, 1000)
        assert set(searches.looks.values()) == {1}
        assert len(searches.looks) == 1000
        for _ in range(15):
            stage.clock += 60.0
            await stage.settle(2)
        stage.delete(pod("v"))
        stage.add(node("small", cpu="1"))
        await stage.settle(4)
        assert sum(searches.looks.values()) == 1000, "nothing of this could help"
        stage.add(node("large", cpu="130"))
        await stage.settle(30)
        helped = {name for name, looks in searches.looks.items() if looks > 1}
        assert helped, "two members fit"
        assert all(int(name[1:]) % 7 <= 1 for name in helped), "two members of 66 CPUs do not"


async def test_a_feasible_gang_of_the_lowest_priority_is_looked_at_while_a_thousand_are_new() -> None:
    """All come at once. The check before the search says who has a chance."""
    async with staged(node("n0")) as stage:
        await stage.settle()
        searches = Searches(stage)
        for number in range(1000):
            stage.add(*waits(f"c{number}", priority=900))
        stage.add(*waits("new", priority=1, cpu="2"))
        began = stage.clock
        while "new" not in searches.at:
            assert await stage.leading.planner.step()
        assert searches.at["new"] - began < 2.0


async def test_a_priority_class_concerns_only_the_gangs_that_have_it() -> None:
    of_class = gang("of-class", minimum=1, priority=None, priorityClassName="high")
    members = [pod("of-class-0", group="of-class", requests={"cpu": "64"}, priority=500)]
    async with staged(node("n0"), of_class, *members) as stage:
        searches = await crowded(stage, 3)
        before = sum(searches.looks.values())
        stage.add(priority_class("other", 7))
        await stage.settle(4)
        assert sum(searches.looks.values()) == before
        stage.add(priority_class("high", 500))
        stage.clock += 1.0
        await stage.settle(4)
        assert searches.looks - Counter({f"c{number}": 1 for number in range(3)}) == {"of-class": 1}


async def test_other_labels_of_a_running_pod_may_help() -> None:
    """They kept a member off by its anti-affinity. Nothing else of the node changes."""
    terms = [{"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    there = pod("p", node="n0", labels={"app": "a"}, priority=950)
    n0 = node("n0", labels={"kubernetes.io/hostname": "n0"})
    async with staged(n0, there, gang(minimum=1), pod("m", group="gang", affinity=apart)) as stage:
        await stage.settle()
        assert stage.phases() == ["Unschedulable"]
        stage.add(pod("p", node="n0", labels={"app": "b"}, priority=950))
        await stage.settle()
        assert stage.phases() == ["Unschedulable", "Ready"]


# ---- one freed slot


@pytest.mark.parametrize("first", ["high", "low"])
@pytest.mark.parametrize("backs_off", ["high", "low", "both"])
async def test_a_freed_slot_goes_to_the_gang_of_the_higher_priority(first: str, backs_off: str) -> None:
    async with staged(node("n0"), pod("v", node="n0", requests=BIG, priority=950)) as stage:
        await stage.settle()
        priorities = {"high": 500, "low": 10}
        for name in sorted(priorities, key=lambda name: name != first):
            stage.add(*waits(name, priority=priorities[name], cpu="4", members=1))
            await stage.settle()
        for gang_ in stage.leading.gangs:
            due = stage.clock + (60.0 if backs_off in (gang_.key[1], "both") else 0.0)
            gang_.life = replace(gang_.life, due=due)
            stage.leading.gangs.stir(gang_.key)
        await stage.settle()
        stage.delete(pod("v"))
        await stage.settle()
        ready = [
            plan["spec"]["preemptor"]["name"]
            for plan in stage.api.plans.values()
            if plan["spec"]["placements"]
        ]
        assert ready == ["high"]
        assert stage.api.deleted == []


async def test_a_gang_that_may_not_evict_takes_no_room_that_others_make() -> None:
    """The plan of the lower gang would be overrun, and evict somebody else."""
    victim = pod("v", node="n0", requests=BIG, priority=1)
    async with staged(node("n0"), victim, *waits("low", priority=10, cpu="4", members=1)) as stage:
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        high = waits("high", priority=500, cpu="4", members=1)
        stage.leading.gangs._settings = replace(stage.leading.gangs._settings, untried_seconds=60.0)
        stage.add(*high)
        await stage.settle()
        stage.add(pod("v", node="n0", requests=BIG, priority=1, deleting=True))
        await stage.settle()
        assert stage.phases() == ["Evicting"], "it waits until the scheduler has tried its member"


# ---- writes


async def test_a_namespace_that_does_not_answer_holds_up_no_other() -> None:
    slow = [
        group("slow", namespace="other", minimum=1, priority=900),
        pod("s0", namespace="other", group="slow", requests=BIG),
    ]
    async with staged(node("n0"), node("n1"), *slow) as stage:
        request, hanging = stage.api.request, asyncio.Event()

        async def hang(method: str, path: str, **options: Any) -> bytes:
            if "/namespaces/other/" in path:
                hanging.set()
                await asyncio.Event().wait()
            return await request(method, path, **options)

        stage.api.request = hang  # type: ignore[method-assign]
        await stage.settle()
        assert hanging.is_set()
        stage.add(*waits("gang", priority=100, cpu="4", members=1))
        await stage.settle()
        assert stage.phases() == ["Ready"]


async def test_a_write_that_is_refused_holds_up_no_other() -> None:
    async with staged(node("n0"), node("n1")) as stage:
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = lambda _, path: ApiError(503, "Away", "x", 0) if "a-" in path else None
        stage.add(*waits("a", priority=900, cpu="4", members=1), *waits("b", priority=1, cpu="4", members=1))
        await stage.settle()
        assert "b" in [plan["spec"]["preemptor"]["name"] for plan in stage.api.plans.values()]


async def test_after_an_expired_plan_the_next_one_comes_on_a_quiet_cluster() -> None:
    """The scheduler never binds the member, and nothing else happens. Free room needs no backoff."""
    victim = pod("v0", node="n0", requests=BIG, priority=1)
    hero = pod("m0", group="gang", requests=BIG)
    async with staged(node("n0", cpu="4"), victim, gang(minimum=1), hero) as stage:
        await stage.settle()
        stage.delete(victim)
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.clock += 301
        await stage.settle()
        assert stage.phases() == ["Expired", "Ready"]


@pytest.mark.parametrize("backs_off", ["nobody", "a", "b", "both"])
@pytest.mark.parametrize("older", ["a", "b"])
@pytest.mark.parametrize(("a", "b"), [(10, 10), (20, 10), (10, 20)])
async def test_a_freed_slot_goes_to_the_right_one_of_two_gangs(
    a: int, b: int, older: str, backs_off: str
) -> None:
    """By priority, then by creation, whoever waits before its next attempt to evict. Nobody is evicted."""
    running = pod("v0", node="n0", requests=BIG, priority=1000)
    created = {name: f"2026-01-01T00:00:0{int(name != older)}Z" for name in ("a", "b")}
    waiting: list[Any] = []
    for name, priority in (("a", a), ("b", b)):
        made = gang(name, minimum=1, priority=priority)
        made.metadata.creation_timestamp = created[name]
        waiting += [made, pod(f"{name}-0", group=name, requests=BIG, priority=priority)]
    async with staged(node("n0", cpu="4"), running, *waiting) as stage:
        await stage.settle()
        for name in ("a", "b"):
            found = stage.leading.gangs.get(("default", name))
            assert found is not None
            if backs_off in (name, "both"):
                found.life = replace(found.life, due=stage.clock + 100.0)
        stage.delete(running)
        await stage.settle()
        right = "a" if (-a, created["a"]) < (-b, created["b"]) else "b"
        fits = [plan for plan in stage.api.plans.values() if plan["spec"]["outcome"] == "Fits"]
        assert [plan["spec"]["preemptor"]["name"] for plan in fits] == [right]
        assert stage.api.deleted == []
