"""The search for a native gang says who evicts: on its own thread, from what kube-scheduler knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.foreign_groups import NativePodGroup
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.observations import Decided, NotDecided
from tests.kit.native_gangs import GANG_KEY, hero, small
from tests.kit.objects import gang, make, node, pod
from tests.kit.stage import Stage, staged


def native() -> Any:
    """A native gang of one, as it is stored."""
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": {"single": {}}, "priority": 100}
    metadata = {"namespace": "default", "name": "gang", "uid": "uid-gang"}
    return make(NativePodGroup, {"metadata": metadata, "spec": spec})


async def decide(stage: Stage, *, drive: bool) -> Decided | NotDecided:
    decider = stage.leading.planner._turns._decider
    decider._searching = replace(decider._searching, drive=drive)
    return await decider.decide(GANG_KEY)


def told(decided: Decided | NotDecided) -> tuple[object, object, list[str]]:
    assert isinstance(decided, Decided)
    spec = decided.spec
    return spec.evicted_by, spec.evictor_reason, [victim.name for victim in spec.victims]


async def test_a_plan_of_a_native_gang_says_who_evicts() -> None:
    async with staged(node("n0"), native(), hero("4"), small("a")) as stage:
        assert told(await decide(stage, drive=False)) == ("Scheduler", "SameVictims", ["a"])
        assert told(await decide(stage, drive=True)) == ("Reprieve", "DriveMode", ["a"])


async def test_kube_scheduler_does_not_know_of_promised_room() -> None:
    """Two of four CPUs are free, and promised to a gang of ours, for which a pod goes. The scheduler would evict
    nobody for the native gang, and take them."""
    ours = [gang("waits", minimum=1), pod("w", group="waits", requests={"cpu": "3"}, priority=100)]
    natives = PlanningConfiguration(mode="Enforce", native_groups="Drive")
    running = (small("a"), small("b", minute=1))
    async with staged(node("n0"), *ours, *running, configuration=natives) as stage:
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.add(native(), hero("1"))
        assert told(await decide(stage, drive=False)) == ("Reprieve", "PromisedRoom", ["a"])


async def test_a_fault_in_the_comparison_holds_one_gang_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("nodes.search.decision.who_evicts", fails)
    async with staged(node("n0"), native(), hero("4"), small("a")) as stage:
        decided = await decide(stage, drive=False)
        assert decided == NotDecided(
            "PodGroup default/podgroups.scheduling.k8s.io:gang: internal error: RuntimeError('a fault')"
        )
