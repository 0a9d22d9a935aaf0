"""Some namespaces are enforced, and the others are observed, in a random history. Observed ones become enforced.

No pod of an observed namespace is evicted by a plan of ours, nobody is held there, and nothing is written to its pods.
The cluster is a stage, and the scheduler a few lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from api.core import Pod
from api.groups import DisruptionMode, PodGroup
from api.plans import PreemptionPlan
from tests.kit.canary import canary, space
from tests.kit.examples import examples
from tests.kit.objects import BIG, group, make, node, pod
from tests.kit.stage import Stage, staged

NODES: Final = tuple(f"n{number}" for number in range(4))
SPACES: Final = ("red", "green", "blue")
STEPS: Final = 25
PRIORITIES: Final = (1, 10, 100)


class History:
    """One cluster, and what its users and its scheduler do."""

    def __init__(self, random: Random) -> None:
        self.random, self.made = random, 0
        self.enforced = {name for name in SPACES if random.random() < 0.5}
        self.pods: dict[str, Pod] = {}
        self.deleted = self.written = 0

    # ---- the cluster

    def priority(self, name: str) -> int:
        return self.pods[name].spec.priority or 0

    def on(self, where: str) -> str | None:
        """The pod on the node, which takes one pod."""
        return next((name for name, each in self.pods.items() if each.spec.node_name == where), None)

    def waiting(self) -> list[str]:
        return [name for name, each in self.pods.items() if not each.spec.node_name]

    def observed(self, each: Pod) -> bool:
        return each.metadata.namespace not in self.enforced

    def put(self, stage: Stage, each: Pod) -> None:
        self.pods[each.metadata.name] = each
        stage.add(each)

    def bind(self, stage: Stage, name: str, where: str) -> None:
        body = msgspec.to_builtins(self.pods[name])
        body["spec"]["nodeName"] = where
        self.put(stage, make(Pod, body))

    def remove(self, stage: Stage, name: str) -> None:
        stage.delete(self.pods.pop(name))

    # ---- what happens

    def create(self, stage: Stage) -> None:
        """A group, or a single pod."""
        self.made += 1
        name, size = f"p{self.made}", self.random.choice((0, 1, 2, 3))
        namespace, priority = self.random.choice(SPACES), self.random.choice(PRIORITIES)
        if size:
            stage.add(self.group(name, namespace, size, priority))
        for number in range(max(1, size)):
            which = pod(
                f"{name}-{number}",
                namespace=namespace,
                group=name if size else None,
                requests=BIG,
                priority=priority,
            )
            self.put(stage, which)

    def group(self, name: str, namespace: str, size: int, priority: int) -> PodGroup:
        made = group(name, namespace=namespace, minimum=size, priority=priority)
        if self.random.random() < 0.5:
            made.spec.disruption_mode = make(DisruptionMode, {"all": {}})
        return made

    def attempt(self, stage: Stage) -> None:
        """The scheduler tries a pod: it binds it, or evicts for it."""
        if not (waiting := self.waiting()):
            return
        name = self.random.choice(waiting)
        tried = self.pods[name]
        free = [where for where in NODES if self.on(where) is None]
        kept = self.filtered(stage, tried, free) if free else []
        if kept:
            self.bind(stage, name, self.random.choice(kept))
            return
        offered = {
            where: [self.pods[there].metadata.uid]
            for where in NODES
            if (there := self.on(where)) is not None and self.priority(there) < self.priority(name)
        }
        if offered:
            self.preempt(stage, tried, offered)

    def filtered(self, stage: Stage, tried: Pod, nodes: list[str]) -> list[str]:
        promised = [
            where
            for where in nodes
            if stage.controller.known.promises.is_reserved(where, at_least=tried.spec.priority)
        ]
        kept = stage.filter(tried, *nodes)
        if self.observed(tried):
            assert {*nodes} - {*kept} <= {*promised}, "only promised room is kept from it"
            assert stage.controller.waking is not None
            assert not stage.controller.waking.waker.is_held(tried.metadata.uid)
        return kept

    def preempt(self, stage: Stage, tried: Pod, offered: dict[str, list[str]]) -> None:
        answer = stage.preempt(tried, **offered)
        if self.observed(tried):
            assert sorted(answer) == sorted(offered)
        if answer and self.random.random() < 0.5:
            victim = self.on(self.random.choice(sorted(answer)))
            assert victim is not None
            self.remove(stage, victim)

    def delete(self, stage: Stage) -> None:
        if self.pods:
            self.remove(stage, self.random.choice(sorted(self.pods)))

    def enforce(self, stage: Stage) -> None:
        """A namespace that was observed is enforced from now on."""
        name = self.random.choice(SPACES)
        self.enforced.add(name)
        stage.add(space(name, enforced=True))

    async def go_on(self, stage: Stage) -> None:
        stage.clock += self.random.choice((0.1, 1.0, 10.0, 200.0))
        await stage.settle(3)
        self.check(stage)
        new, self.deleted = stage.api.deleted[self.deleted :], len(stage.api.deleted)
        for name in {*new} & self.pods.keys():
            self.remove(stage, name)

    # ---- what must hold

    def check(self, stage: Stage) -> None:
        for name in stage.api.deleted[self.deleted :]:
            assert name not in self.pods or not self.observed(self.pods[name])
        for plan in self.plans(stage):
            ours = plan.spec.preemptor.namespace in self.enforced
            assert ours or plan.spec.mode == "Observe"
        new, self.written = stage.api.written[self.written :], len(stage.api.written)
        for each in new:
            parts = each.path.split("/")
            if "pods" in parts:
                assert parts[parts.index("namespaces") + 1] in self.enforced, each.path

    def plans(self, stage: Stage) -> Iterator[PreemptionPlan]:
        for each in stage.api.plans.values():
            yield msgspec.convert(each, PreemptionPlan)


def refused() -> float:
    return REGISTRY.get_sample_value("reprieve_pod_writes_refused_total") or 0.0


async def live(seed: int) -> None:
    random, before = Random(seed), refused()
    history = History(random)
    spaces = [space(name, enforced=name in history.enforced) for name in SPACES]
    async with staged(*spaces, *(node(name) for name in NODES), configuration=canary()) as stage:
        stage.agrees = random.random() < 0.8
        for _ in range(STEPS):
            what = random.choice(
                (history.create, history.create, history.attempt, history.attempt, history.delete)
            )
            (history.enforce if random.random() < 0.05 else what)(stage)
            await history.go_on(stage)
    assert refused() == before, "nobody asks for a write that the last barrier refuses"


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32))
def test_an_observed_namespace_is_left_alone(seed: int) -> None:
    asyncio.run(live(seed))
