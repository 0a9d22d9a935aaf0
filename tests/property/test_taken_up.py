"""A process dies before its plan for a native gang is carried out, and the scheduler goes on without answers.

The next process takes the plan up at any moment of what the scheduler does. No pod is evicted twice, and no more pods
are evicted than the gang needs. The cluster is a stage, and the scheduler a few lines.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.settings import SETTLED_SECONDS, NativeGroups
from tests.kit.examples import examples
from tests.kit.native_gangs import GANG_KEY, native_object, native_pod
from tests.kit.objects import BIG, make, node, pod
from tests.kit.stage import Stage, staged

NODES: Final = tuple(f"n{number}" for number in range(5))
MEMBERS: Final = ("m0", "m1")
ROUNDS: Final = 60
MARK: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority podgroup",
}


class World:
    """Full nodes, a gang that needs two of them, and a scheduler that tries it as kube-scheduler does."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.priority = {name: random.choice((1, 2)) for name in NODES}
        self.there, self.leaving = {*NODES}, set[str]()
        """Nodes whose pod runs, and nodes whose pod terminates."""
        self.bound: dict[str, str] = {}
        self.nominated: dict[str, str] = {}
        self.evicted: Counter[str] = Counter()
        """How often the pod of each node was evicted."""
        self.unseen: list[tuple[str, str]] = []
        """What the scheduler has decided and nobody sees yet: nominations (member, node) and marks ("", node)."""
        self.deleted = 0
        self.rounds = 0
        self.told = dict[str, Pod]()
        """What the watch has shown."""

    # ---- objects

    def low(self, name: str) -> Pod:
        found = pod(f"v-{name}", node=name, requests=BIG, priority=self.priority[name])
        if name not in self.leaving:
            return found
        body = msgspec.to_builtins(found)
        body["metadata"] |= {
            "deletionTimestamp": "2027-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 3600,
        }
        body["status"] = {**body.get("status", {}), "conditions": [MARK]}
        return make(Pod, body)

    def member(self, name: str) -> Pod:
        where = self.bound.get(name, "")
        nominated = "" if where else self.nominated.get(name, "")
        return native_pod(name, requests=BIG, node=where, nominated=nominated)

    def pods(self) -> list[Pod]:
        return [*map(self.low, sorted(self.there | self.leaving)), *map(self.member, MEMBERS)]

    # ---- the scheduler

    def attempt(self, stage: Stage | None) -> None:
        """A real pass, and then a simulated one. Without a stage nobody answers."""
        waiting = [name for name in MEMBERS if name not in self.bound]
        free = {name for name in NODES if name not in self.there | self.leaving} - {*self.bound.values()}
        placed = self._pass(waiting, free, stage)
        if placed is not None:
            self.bound |= placed
            return
        if self.leaving & {*self.nominated.values()}:
            return  # ongoing preemption
        placed = self._pass(waiting, {*NODES} - {*self.bound.values()}, stage)
        if placed is None:
            self.nominated.clear()
            return
        self.unseen = [*placed.items(), *(("", name) for name in placed.values() if name in self.there)]
        self.random.shuffle(self.unseen)

    def _pass(self, waiting: list[str], passing: set[str], stage: Stage | None) -> dict[str, str] | None:
        placed: dict[str, str] = {}
        for name in waiting:
            left = sorted(passing - {*placed.values()})
            where = self.nominated.get(name)
            found = self._filtered(name, [where], stage) if where in left else []
            found = found or self._filtered(name, left, stage)
            if not found:
                return None
            placed[name] = self.random.choice(found)
        return placed

    def _filtered(self, name: str, nodes: list[str], stage: Stage | None) -> list[str]:
        if stage is None or not nodes:
            return nodes
        return stage.filter(self.member(name), *nodes)

    def show(self, count: int) -> None:
        """Nominations and marks are written."""
        shown, self.unseen = self.unseen[:count], self.unseen[count:]
        for name, where in shown:
            if name:
                self.nominated[name] = where
            else:
                self._evict(where)

    def _evict(self, where: str) -> None:
        self.evicted[where] += 1
        self.there.discard(where)
        self.leaving.add(where)

    # ---- what reprieve does

    def follow(self, stage: Stage) -> None:
        """Its deletions and nominations."""
        new, self.deleted = stage.api.deleted[self.deleted :], len(stage.api.deleted)
        for name in new:
            self._evict(name.removeprefix("v-"))
        self.nominated = {name: where for name, where in stage.api.nominated.items() if name in MEMBERS}

    def tell(self, stage: Stage) -> None:
        """The watch shows what is there."""
        there = {each.metadata.name: each for each in self.pods()}
        stage.add(*there.values())
        for name in self.told.keys() - there.keys():
            stage.delete(self.told[name])
        self.told = there

    async def goes_on(self, stage: Stage, seconds: float) -> None:
        self.tell(stage)
        stage.clock += seconds
        stage.leading.planner._following.stir_plans()
        await stage.settle(4)
        self.follow(stage)

    def leave(self, stage: Stage) -> None:
        """Pods that terminate may be gone. None of them stays longer than it may."""
        self.rounds += 1
        stays = self.random.random() < 0.5 and self.rounds % 3
        self.leaving = {name for name in sorted(self.leaving) if stays and self.random.random() < 0.7}
        self.tell(stage)


async def live(mode: NativeGroups, seed: int) -> None:
    random = Random(seed)
    world = World(random)
    group, nodes = native_object(minimum=2), [node(name) for name in NODES]
    configuration = PlanningConfiguration(mode="Enforce", native_groups=mode)
    async with staged(*nodes, group, *world.pods(), configuration=configuration) as stage:
        stage.agrees = False
        await stage.settle(4)
        stage.filter(pod("other", priority=1), "n0")
        await stage.settle(4)
        plan = stage.leading.gangs.life_of(GANG_KEY).plan
        assert plan is not None
        for planned in plan.members.values():
            if random.random() < 0.5:
                world.nominated[planned.name] = planned.node
        stage.api.of("/api/v1/pods").clear()
        for _ in range(random.randrange(3)):
            if not world.unseen:
                world.attempt(None)
            world.show(random.choice((4, 4, random.randrange(5))))
        again = stage.restart()
        again.compares = False
        again.add(*nodes, group)
        await world.goes_on(again, 0.0)
        if world.unseen:  # what the scheduler was doing becomes visible within this time
            await world.goes_on(again, random.choice((0.0, SETTLED_SECONDS * 0.4)))
            world.show(random.randrange(5))
            await world.goes_on(again, SETTLED_SECONDS * 0.4)
            world.show(4)
        for _ in range(ROUNDS):
            await world.goes_on(again, 1.0)
            world.leave(again)
            await world.goes_on(again, 0.0)
            world.attempt(again)
            world.show(4)
            if len(world.bound) == len(MEMBERS):
                break
        await again.close()
    assert len(world.bound) == len(MEMBERS), "the gang is bound"
    assert {*world.evicted.values()} == {1}, "no pod is evicted twice"
    assert sum(world.evicted.values()) == len(MEMBERS), "as many as it needs"


@settings(max_examples=examples(80), deadline=None)
@given(mode=st.sampled_from(["Steer", "Drive"]), seed=st.integers(0, 2**32))
def test_no_more_pods_are_evicted_than_the_gang_needs(mode: NativeGroups, seed: int) -> None:
    asyncio.run(live(mode, seed))
