"""What kube-scheduler evicts of a unit that it does not know, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, CoschedulingSpec
from api.meta import ObjectMeta
from controllers.gangs.metrics import UNITS_BROKEN
from tests.kit.native_gangs import native_object, native_pod
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged

MESSAGE = "default-scheduler: preempting to accommodate a higher priority pod"
MARK = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": MESSAGE}
NAMES = ("v0", "v1", "v2")


def broken(stage: Stage) -> list[tuple[str, str]]:
    """Kind and name of the object, and the note, of each event."""
    events = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [
        (f"{each['regarding']['kind']} {each['regarding']['name']}", each["note"])
        for each in events
        if each["reason"] == "UnitBroken"
    ]


def victim(name: str, **fields: Any) -> Pod:
    return pod(name, **{"node": "n0", "group": "ring", "priority": 1, **fields})


def evicted(name: str, **fields: Any) -> Pod:
    return victim(name, conditions=[MARK], deleting=True, **fields)


async def passes(stage: Stage) -> None:
    """A few seconds."""
    stage.clock += 3.0
    stage.leading.planner._timekeeper.tick(trusted=True)
    await stage.settle()
    await stage.written()


RING = gang("ring", minimum=1, priority=1, mode="all")


@pytest.mark.parametrize("at_once", [False, True], ids=["terminates", "is gone at once"])
async def test_a_broken_unit_is_named_once(at_once: bool) -> None:
    before = UNITS_BROKEN._value.get()
    async with staged(node("n0"), RING, *map(victim, NAMES)) as stage:
        await stage.settle()
        if at_once:
            stage.add(victim("v1", conditions=[MARK]))
            stage.delete(victim("v1"))
        else:
            stage.add(evicted("v1"))
        await stage.settle()
        assert broken(stage) == [], "the scheduler may evict the others, too"
        await passes(stage)
        note = (
            "kube-scheduler evicted v1 of ring, which is evicted whole or not at all; "
            "no plan of reprieve says so, and 2 pods of it stayed"
        )
        assert broken(stage) == [("PodGroup ring", note)]
        stage.add(evicted("v2"))
        await passes(stage)
        assert len(broken(stage)) == 1
        assert UNITS_BROKEN._value.get() == before + 1


@pytest.mark.parametrize(
    "change",
    [
        {"conditions": [{**MARK, "message": f"{MESSAGE} [term 1 of stage]"}]},  # our mark
        {"conditions": [{**MARK, "reason": "EvictionByEvictionAPI"}]},
        {"conditions": None},
        {"deleting": False},  # it may stay
        {"group": "single"},
    ],
)
async def test_what_breaks_nothing(change: dict[str, Any]) -> None:
    single = gang("single", minimum=1, priority=1, mode="single")
    async with staged(node("n0"), RING, single, *map(victim, NAMES)) as stage:
        await stage.settle()
        stage.add(victim("v1", **{"conditions": [MARK], "deleting": True, **change}))
        await passes(stage)
        assert broken(stage) == []


async def test_a_unit_that_the_scheduler_evicts_whole_is_not_broken() -> None:
    async with staged(node("n0"), RING, *map(victim, NAMES)) as stage:
        await stage.settle()
        for name in NAMES:
            stage.add(evicted(name))
        await passes(stage)
        assert broken(stage) == []


async def test_a_native_unit_is_the_schedulers_own() -> None:
    pods = [native_pod(name, "ring", priority=1, node="n0") for name in NAMES]
    async with staged(node("n0"), native_object("ring", mode="all", priority=1), *pods) as stage:
        await stage.settle()
        stage.add(native_pod("v1", "ring", priority=1, node="n0", conditions=[MARK], deleting=True))
        await passes(stage)
        assert broken(stage) == []


@pytest.mark.parametrize("with_object", [True, False])
async def test_a_group_of_another_kind_is_named_by_its_object(with_object: bool) -> None:
    label: dict[str, Any] = {"group": None, "labels": {"scheduling.x-k8s.io/pod-group": "mpi"}}
    mpi = CoschedulingPodGroup(metadata=ObjectMeta("mpi", "default", "uid-mpi"), spec=CoschedulingSpec(3))
    objects = [mpi] if with_object else []
    async with staged(node("n0"), *objects, *(victim(name, **label) for name in NAMES)) as stage:
        await stage.settle()
        stage.add(evicted("v0", **label))
        await passes(stage)
        assert [about for about, _ in broken(stage)] == ["PodGroup mpi" if with_object else "Pod v1"]


async def test_the_next_leader_says_what_was_broken_before_its_term() -> None:
    async with staged(node("n0"), RING, *map(victim, NAMES)) as stage:
        stage.add(evicted("v1"))
        await stage.settle()
        await passes(stage)
        assert [about for about, _ in broken(stage)] == ["PodGroup ring"]
