"""Plans that version 0.1.0 stored, as a real API server returned them: this version understands them."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import PodGroup
from api.times import parse_rfc3339
from tests.kit.stage import Stage, staged

CASES = Path(__file__).parents[3] / "data" / "plans-0.1.0" / "cases.jsonl.xz"
KINDS: dict[str, type[Any]] = {
    "Node": Node,
    "Pod": Pod,
    "PodDisruptionBudget": PodDisruptionBudget,
    "PriorityClass": PriorityClass,
    "PodGroup": PodGroup,
}
GONE_ON_FROM = {
    "planned": 3,
    "planned-no-status": 3,
    "planned-fits": 0,
    "planned-all-group": 2,
    "planned-rack": 2,
    "planned-after-others": 2,
    "planned-again": 2,
    "planned-compressed": 510,
    "evicting": 3,
    "evicting-some-gone": 3,
    "evicting-middle": 16,
    "evicting-terminating": 0,
    "evicting-all-group": 1,
    "ready": 0,
    "ready-nominated": 0,
    "ready-one-bound": 0,
}
"""Deletions that are to come, by case."""


def read_cases() -> Iterator[dict[str, Any]]:
    with lzma.open(CASES) as lines:
        yield from (orjson.loads(line) for line in lines)


RECORDED = {case["case"]: case for case in read_cases()}


class Upgraded:
    """A new process at the recorded API server, so many seconds after the recording."""

    def __init__(self, stage: Stage, case: dict[str, Any], later: float) -> None:
        self.stage = stage
        stage.clock += parse_rfc3339(case["at"]) + later - stage.api.clock.wall()
        self.recorded = {
            each["metadata"]["name"]: each for each in case["objects"] if each["kind"] == "PreemptionPlan"
        }
        stage.api.plans.update(orjson.loads(orjson.dumps(self.recorded)))
        self.objects = [
            msgspec.convert(each, KINDS[each["kind"]]) for each in case["objects"] if each["kind"] in KINDS
        ]
        self.pods = {each.metadata.name: each for each in self.objects if isinstance(each, Pod)}
        stage.add(*self.objects)

    @property
    def plans(self) -> dict[str, Any]:
        """What is stored of the recorded plans."""
        return {name: plan for name, plan in self.stage.api.plans.items() if name in self.recorded}

    def newest(self) -> dict[str, Any]:
        """The recorded plan that was touched last."""
        active = ("Planned", "Evicting", "Ready", None)
        plans = self.recorded.values()
        chosen = [each for each in plans if (each.get("status") or {}).get("phase") in active]
        name: str = (chosen or list(plans))[-1]["metadata"]["name"]
        found: dict[str, Any] = self.plans[name]
        return found

    async def let_victims_go_and_bind(self, deletions: int) -> None:
        """The cluster does what was asked of it: victims end, and members are bound where they are planned."""
        for _ in range(3):
            await self.stage.settle(steps=8 + deletions // 4)
            gone = {*self.stage.api.deleted}
            leaving = {n for n, pod in self.pods.items() if pod.metadata.deletion_timestamp}
            for name in (gone | leaving) & self.pods.keys():
                self.stage.delete(self.pods.pop(name))
        for name, node in self.stage.api.nominated.items():
            pod = self.pods[name]
            bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
            self.stage.add(bound)
        await self.stage.settle()


@pytest.mark.parametrize(("case", "deletions"), GONE_ON_FROM.items())
async def test_an_active_plan_is_gone_on_from(case: str, deletions: int) -> None:
    async with staged() as stage:
        upgraded = Upgraded(stage, RECORDED[case], later=5.0)
        await upgraded.let_victims_go_and_bind(deletions)
        assert len(stage.api.deleted) == len(set(stage.api.deleted)) == deletions
        assert upgraded.newest()["status"]["phase"] == "Bound"
        assert upgraded.plans.keys() == stage.api.plans.keys(), "no second plan"
        assert stage.reserved == 0


@pytest.mark.parametrize("case", GONE_ON_FROM)
async def test_an_active_plan_whose_time_is_over_ends_and_evicts_nobody(case: str) -> None:
    async with staged() as stage:
        upgraded = Upgraded(stage, RECORDED[case], later=400.0)
        await stage.settle(steps=1)
        assert upgraded.newest()["status"]["phase"] == "Expired"
        assert stage.api.deleted == []


@pytest.mark.parametrize(
    "case", sorted(RECORDED.keys() - GONE_ON_FROM.keys() - {"expired", "blocked-host-ports"})
)
async def test_an_ended_plan_stays_as_it_is(case: str) -> None:
    async with staged() as stage:
        upgraded = Upgraded(stage, RECORDED[case], later=5.0)
        before = {name: plan["status"] for name, plan in upgraded.recorded.items()}
        await stage.settle()
        assert stage.api.deleted == []
        statuses = {name: dict(plan["status"]) for name, plan in upgraded.plans.items()}
        for status in statuses.values():
            status.pop("lastDecisionTime", None)
        assert statuses == before


@pytest.mark.parametrize("case", sorted(RECORDED))
async def test_a_recorded_decision_never_changes(case: str) -> None:
    async with staged() as stage:
        upgraded = Upgraded(stage, RECORDED[case], later=5.0)
        await stage.settle()
        assert {name: plan["spec"] for name, plan in upgraded.plans.items()} == {
            name: plan["spec"] for name, plan in upgraded.recorded.items()
        }


async def test_a_plan_with_a_time_that_cannot_be_read_holds_up_nobody() -> None:
    """Anybody who may write the status of plans could have written it."""
    async with staged() as stage:
        upgraded = Upgraded(stage, RECORDED["planned"], later=5.0)
        odd = orjson.loads(orjson.dumps(next(iter(upgraded.recorded.values()))))
        odd["metadata"] |= {"name": "odd", "uid": "odd", "creationTimestamp": "yesterday"}
        odd["spec"]["preemptor"]["name"] = "odd"
        odd["status"]["conditions"][0]["lastTransitionTime"] = "soon"
        stage.api.plans["odd"] = odd
        await stage.settle()
        assert stage.controller.leading is not None
        assert upgraded.newest()["status"]["phase"] == "Evicting"
