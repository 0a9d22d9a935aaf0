"""Gangs come and go under new names: nothing of them stays, neither in the API server nor in the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

import msgspec
from prometheus_client import REGISTRY

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, CoschedulingSpec
from api.groups import PodGroup
from api.meta import ObjectMeta
from api.plans import PreemptionPlan
from controllers.gangs.plan_acts import HOUSEKEEPING
from tests.kit.held import entries
from tests.kit.objects import BIG, gang, node, pod
from tests.kit.stage import Api, Stage, staged
from tests.kit.waiting import until

GANGS: Final = 400
EACH: Final = 8
"""Gangs of each kind in a round."""
KINDS: Final = 5
NOISE: Final = EACH
"""Searches run in a thread, so two rounds are not quite the same. What is kept of each gang of a kind makes 80."""
DAY: Final = 86400.0

BOUNDED: Final = frozenset({"ChangeLog._changes", "View._gone"})
"""What is remembered of the last changes, whatever they were about."""


class Round:
    """`EACH` gangs of each kind, on nodes of their own."""

    def __init__(self, stage: Stage, number: int) -> None:
        self._stage, self._number = stage, number
        self._there: dict[str, Any] = {}
        self._singles: list[Pod] = []

    async def come_and_go(self) -> Counter[str]:
        """Returns the phases of the plans when most gangs are bound."""
        stage = self._stage
        for each in range(EACH):
            self._comes(f"r{self._number}-{each}", each)
        self._ask()
        await self._settle()
        for single in self._singles:
            stage.preempt(
                single, **{f"e{single.metadata.name[-1]}": [f"uid-default-u-{single.metadata.name}"]}
            )
        await self._settle()
        self._go(*(name for name in self._there if name.startswith("leaves-")))
        await self._settle()
        self._go(*stage.api.deleted)
        stage.api.deleted.clear()
        await self._settle()
        self._ask()
        for name, where in stage.api.nominated.items():
            if name in self._there:
                self._add(bound(self._there[name], where))
        await self._settle()
        phases = Counter(stage.phases())
        last = [each for each in self._there.values() if isinstance(each, Pod)]
        self._go(*list(self._there))
        await self._settle()
        self._ask(last)  # the scheduler has not seen yet that they are gone
        await self._settle()
        return phases

    def _comes(self, name: str, each: int) -> None:
        """One gang of each kind, and what it evicts."""
        victim: dict[str, Any] = {"requests": BIG, "priority": 1}
        low = f"low-{name}"
        self._add(
            # It evicts a pod of another namespace, and runs.
            pod(f"v-{name}", namespace="other", node=f"a{each}", **victim),
            *wants(f"runs-{name}", f"a{each}", gates=[{"name": "reprieve.dev/gang"}]),
            # Its PodGroup goes while it evicts a group.
            gang(low, minimum=2, mode="all", priority=1),
            *(pod(f"w{side}-{name}", node=f"{side}{each}", group=low, **victim) for side in "bc"),
            *wants(f"leaves-{name}", f"b{each}"),
            # It fits nowhere.
            *wants(f"large-{name}", "nowhere"),
            # Another program's group, which fits without evictions.
            cosched(f"fits-{name}"),
            waiting(f"m-fits-{name}", f"d{each}", labels={"scheduling.x-k8s.io/pod-group": f"fits-{name}"}),
        )
        # A single pod, for which a group is evicted.
        single = waiting(name, f"e{each}", priority=50)
        self._singles.append(single)
        whole = f"whole-{name}"
        self._add(
            gang(whole, minimum=1, mode="all", priority=1),
            pod(f"u-{name}", node=f"e{each}", group=whole, **victim),
            single,
        )

    def _add(self, *objects: Any) -> None:
        self._stage.add(*objects)
        self._there |= {each.metadata.name: each for each in objects}

    def _go(self, *names: str) -> None:
        for name in names:
            if (there := self._there.pop(name, None)) is not None:
                self._stage.delete(there)

    def _ask(self, pods: Collection[Any] = ()) -> None:
        """The scheduler tries these pods, or every pod that is there."""
        for each in pods or self._there.values():
            if isinstance(each, Pod) and not each.spec.node_name:
                self._stage.filter(each, *(each.spec.node_selector or {}).values())

    async def _settle(self) -> None:
        self._stage.clock += 1.0
        await self._stage.settle(steps=EACH * 3)
        watch_plans(self._stage)


def waiting(name: str, where: str, priority: int = 100, **fields: Any) -> Pod:
    """A pod that fits on this node only."""
    return pod(name, requests=BIG, priority=priority, nodeSelector={"name": where}, **fields)


def wants(name: str, where: str, gates: list[dict[str, str]] | None = None) -> list[PodGroup | Pod]:
    """A gang of one that needs this node."""
    return [gang(name, minimum=1), waiting(f"m-{name}", where, group=name, schedulingGates=gates)]


def cosched(name: str) -> CoschedulingPodGroup:
    meta = ObjectMeta(name, "default", f"uid-{name}", generation=1, creation_timestamp="2026-01-01T00:00:00Z")
    return CoschedulingPodGroup(metadata=meta, spec=CoschedulingSpec(1))


def bound(member: Pod, where: str) -> Pod:
    return msgspec.structs.replace(member, spec=msgspec.structs.replace(member.spec, node_name=where))


def watch_plans(stage: Stage) -> None:
    """The watch shows which plans have changed, and which are gone."""
    view, plans = stage._views["preemptionplans"], stage.api.plans
    shown = {name: (namespace, held.number) for (namespace, name), held in view._held.items()}
    for name, plan in plans.items():
        version = int(plan["metadata"]["resourceVersion"])
        if shown.get(name, ("", -1))[1] != version:
            view.upsert(msgspec.convert(plan, PreemptionPlan), listed=False)
    for name, (namespace, _) in shown.items():
        if name not in plans:
            view.delete(ObjectMeta(name, namespace, resource_version=stage.api.next_version()))


def held(stage: Stage) -> Counter[str]:
    found = entries(stage.controller, stage.leading, stage.verbs, but=(Api, Stage))
    return Counter({path: count for path, count in found.items() if path not in BOUNDED and count})


def objects(stage: Stage) -> dict[str, int]:
    """In the API server; events aside, which it deletes itself."""
    return {
        path: len(there)
        for path, there in stage.api._served.items()
        if there and not path.endswith("/events")
    }


def series() -> int:
    return sum(len(metric.samples) for metric in REGISTRY.collect())


async def a_day_later(stage: Stage) -> None:
    """Nothing happens but the time. Whole decisions are looked for once an hour."""
    stage.clock += DAY
    while stage.api.plans:
        before = len(stage.api.plans)
        await sweep(stage)
        assert len(stage.api.plans) < before
    stage.clock += 3600.0
    await sweep(stage)
    stage.api.written.clear()


async def sweep(stage: Stage) -> None:
    stage.clock += 60.0
    await stage.settle(steps=1)
    await until(lambda: stage.leading.writes.is_idle(HOUSEKEEPING))
    watch_plans(stage)


async def test_nothing_is_left_of_many_gangs_a_day_later() -> None:
    """A round is before it and after it: what is forgotten only when something comes has had its chance."""
    nodes = [
        node(f"{side}{each}", labels={"name": f"{side}{each}"}) for side in "abcde" for each in range(EACH)
    ]
    async with staged(*nodes) as stage:
        stage.compares = False

        async def left(number: int) -> tuple[Counter[str], dict[str, int], int]:
            phases = await Round(stage, number).come_and_go()
            assert phases == {"Bound": 3 * EACH, "Aborted": EACH, "Unschedulable": EACH}
            await a_day_later(stage)
            return held(stage), objects(stage), series()

        before, rounds = await left(0), GANGS // (EACH * KINDS)
        for number in range(1, rounds + 1):
            await Round(stage, number).come_and_go()
        assert len(stage.api.plans) == GANGS
        await a_day_later(stage)
        after = await left(rounds + 1)
        grown = {
            path: (before[0][path], count)
            for path, count in after[0].items()
            if count > before[0][path] + NOISE
        }
        assert not grown, "entries before and after"
        assert after[1:] == before[1:]
