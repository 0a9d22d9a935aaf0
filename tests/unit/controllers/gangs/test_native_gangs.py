"""Gangs of kube-scheduler's own kind, live: with `planning.nativeGroups: Drive` they preempt as ours do."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.foreign_groups import NativePodGroup
from controllers.gangs.configuration import PlanningConfiguration
from tests.kit.native_gangs import native_pod
from tests.kit.objects import make, node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}
KEY = ("default", "podgroups.scheduling.k8s.io:gang")
DRIVE = PlanningConfiguration(native_groups="Drive")


def group(
    minimum: int = 2, priority: int = 100, *, status: dict[str, Any] | None = None, **spec: Any
) -> NativePodGroup:
    body = {
        "metadata": {"name": "gang", "namespace": "default", "uid": "uid-gang", "generation": 1},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priority": priority, **spec},
        "status": status,
    }
    return make(NativePodGroup, body)


def member(name: str, **fields: Any) -> Pod:
    return native_pod(name, **{"requests": BIG, **fields})


def cluster(nodes: int = 2) -> list[Any]:
    """Nodes, and a pod on each that fills it."""
    there = [node(f"n{number}") for number in range(nodes)]
    return [
        *there,
        *(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(nodes)),
    ]


def said(stage: Stage) -> dict[str, str]:
    """The last note of each reason that events of the PodGroup give."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return {each["reason"]: each["note"] for each in stored if each["regarding"]["kind"] == "PodGroup"}


async def begun(stage: Stage, *schedulers: str) -> None:
    """These schedulers have called us, and the default one has."""
    await stage.settle()
    for each in ("default-scheduler", *schedulers):
        stage.filter(pod("other", priority=1, schedulerName=each), "n0")
    await stage.settle()


async def test_it_is_planned_for_as_one() -> None:
    async with staged(*cluster(), group(), member("m0"), configuration=DRIVE) as stage:
        await stage.settle()
        assert stage.filter(member("m0"), "n0", "n1") == [], "it waits for its sibling"
        assert stage.api.plans == {}
        stage.add(member("m1"))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        [plan] = stage.api.plans.values()
        assert plan["spec"]["preemptor"] == {
            "kind": "PodGroup",
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "namespace": "default",
            "name": KEY[1],
            "uid": "uid-gang",
            "priority": 100,
        }
        assert not any("/podgroups/" in each.path for each in stage.api.written), "its status is not ours"
        assert "Preempting" in said(stage)


async def test_it_is_no_preemptor_by_default() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1")) as stage:
        await stage.settle()
        assert (stage.api.deleted, stage.api.plans) == ([], {})
        assert stage.filter(member("m0"), "n0", "n1") == ["n0", "n1"]


async def test_it_counts_once_its_scheduler_has_called_us() -> None:
    objects = [*cluster(), group(), member("m0"), member("m1")]
    async with staged(*objects, configuration=DRIVE) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.api.plans == {}
        stage.filter(pod("other", priority=1), "n0")
        await stage.settle()
        assert stage.phases() == ["Planned"]


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "gate": ({}, {"gated": True}, "SchedulingGated", "1 pod has a scheduling gate of another"),
    "priority": ({}, {"priority": 50}, "PriorityMismatch", "pod m2 has priority 50, and its PodGroup has 100"),
    "policy": ({}, {"preemptionPolicy": "Never"}, "PriorityMismatch", "pod m2 has preemptionPolicy Never"),
    "scheduler": ({}, {"schedulerName": "other"}, "SchedulerMismatch", "its pods name 2 schedulers"),
    "part": ({"parentCompositePodGroupName": "all"}, {}, "CompositePodGroup", "a part of CompositePodGroup all"),
}  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
async def test_nothing_is_planned_while_the_scheduler_would_not_try_it(why: str) -> None:
    """A third member, beyond minCount, is enough: the scheduler tries all or none."""
    spec, fields, reason, text = WRONG[why]
    objects = [*cluster(), group(**spec), member("m0"), member("m1")]
    async with staged(*objects, member("m2", **fields), configuration=DRIVE) as stage:
        await begun(stage, "other")
        assert (stage.api.deleted, stage.api.plans, stage.reserved) == ([], {}, 0)
        assert text in said(stage)[reason]
        assert stage.filter(member("m0"), "n0", "n1") == []
        if why == "part":
            stage.add(group())
        else:
            stage.delete(member("m2"))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_a_plan_that_has_not_begun_ends_when_the_scheduler_does_not_try_the_gang_any_longer() -> None:
    objects = [*cluster(), group(), member("m0"), member("m1")]
    async with staged(*objects, configuration=DRIVE) as stage:
        stage.agrees = False
        await begun(stage)
        assert stage.phases() == ["Planned"]
        stage.add(member("m2", gated=True))
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Aborted"], 0)


async def test_its_condition_does_not_say_that_it_has_run() -> None:
    """The scheduler writes PodGroupInitiallyScheduled before the bindings, and one of them may fail."""
    true = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    objects = [
        *cluster(),
        group(status={"conditions": [true]}),
        member("m0", node="n1", requests={"cpu": "0"}),
    ]
    async with staged(*objects, configuration=DRIVE) as stage:
        await begun(stage)
        assert stage.controller.known.mirror.roster.minimum(KEY) == 2
        stage.add(member("m1"))
        await stage.settle()
        assert stage.api.deleted == ["v0"], "its second member is planned for"
