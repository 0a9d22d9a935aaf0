"""A steered gang of two on two full nodes, and what a test does to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from api.core import Pod
from api.foreign_groups import NativePodGroup
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.settings import GatesMode
from tests.kit.native_gangs import GANG_KEY, native_pod
from tests.kit.objects import make, node, pod
from tests.kit.stage import Stage, staged

__all__ = [
    "BIG",
    "MARK",
    "MEMBERS",
    "group",
    "hand_over",
    "marked",
    "member",
    "nominated",
    "plan_of",
    "replace_status",
    "said",
    "steering",
    "victim",
]

BIG = {"cpu": "4"}
MARK = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority pod",
}


def group(said: str = "") -> NativePodGroup:
    """The gang of two. `said`: what the scheduler says of it."""
    condition = {
        "type": "PodGroupInitiallyScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": said,
    }
    body = {
        "metadata": {"name": "gang", "namespace": "default", "uid": "uid-gang", "generation": 1},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "priority": 100,
            "disruptionMode": {"single": {}},
        },
        "status": {"conditions": [condition]} if said else None,
    }
    return make(NativePodGroup, body)


def member(name: str, **fields: Any) -> Pod:
    return native_pod(name, **{"requests": BIG, **fields})


def victim(number: int, **fields: Any) -> Pod:
    return pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1, **fields)


def marked(each: Pod) -> Pod:
    """The scheduler has marked the pod."""
    return replace_status(each, conditions=[MARK])


def replace_status(each: Pod, **status: Any) -> Pod:
    body = msgspec.to_builtins(each)
    body["status"] = {**body.get("status", {}), **status}
    return make(Pod, body)


@asynccontextmanager
async def steering(*others: Any, gates: GatesMode = "Gathering") -> AsyncIterator[Stage]:
    """Two full nodes, and a gang that needs both. Its plan is steered."""
    objects = [node("n0"), node("n1"), victim(0), victim(1)]
    configuration = PlanningConfiguration(mode="Enforce", native_groups="Steer", gates=gates)
    async with staged(*objects, configuration=configuration) as stage:
        await stage.settle()
        stage.filter(pod("other", priority=1), "n0")
        stage.add(group(), *others)
        await stage.settle()
        yield stage


def plan_of(stage: Stage) -> ActivePlan:
    plan = stage.leading.gangs.life_of(GANG_KEY).plan
    assert plan is not None
    return plan


def nominated(stage: Stage) -> dict[str, str]:
    """The node to which each member is nominated."""
    pods = stage.api.of("/api/v1/pods").values()
    found = {each["metadata"]["name"]: each["status"].get("nominatedNodeName") for each in pods}
    return {name: where for name, where in sorted(found.items()) if where}


def said(stage: Stage) -> dict[str, str]:
    """The last note of each reason that events give."""
    events = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return {each["reason"]: each["note"] for each in events}


async def hand_over(stage: Stage) -> None:
    """A pass: filter is called for each member."""
    for each in MEMBERS:
        assert stage.filter(each, "n0", "n1") == [plan_of(stage).members[each.metadata.uid].node]
    await stage.settle()
    assert plan_of(stage).handed_over is not None


MEMBERS = (member("m0"), member("m1"))
