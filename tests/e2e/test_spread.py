"""Gangs whose members look at pods on other nodes, on a real control plane: the cheapest domain is not a valid one.

The scheduler must not refuse a member on its planned node: after it has its nomination, it is bound or held by us.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from hack.controlplane.client import Json
from tests.e2e.support import Sandbox, condition

TIMES = int(os.environ.get("REPRIEVE_E2E_TIMES", "1"))
"""How often each gang is tried."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN = {"matchLabels": {"reprieve.dev/pod-group": "hero"}}


def spread(key: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": OWN,
    }
    return {"topologySpreadConstraints": [constraint]}


def apart(key: str) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": OWN}]}}}


def refused(sandbox: Sandbox, member: str) -> list[str]:
    """What the scheduler has said of the member since it was nominated, if that is a refusal of its own."""
    states = [pod for _, pod in sandbox.history.states if pod["metadata"]["name"] == member]
    first = next((place for place, pod in enumerate(states) if nominated(pod)), len(states))
    before = {said(pod) for pod in states[: first + 1]}
    return [each for pod in states[first:] if (each := said(pod)) not in before and "reprieve" not in each]


def nominated(pod: Json) -> bool:
    return bool(pod.get("status", {}).get("nominatedNodeName"))


def said(pod: Json) -> str:
    scheduled = condition(pod, "PodScheduled")
    return scheduled.get("message", "") if scheduled is not None and scheduled["status"] == "False" else ""


@pytest.mark.parametrize("_time", range(TIMES))
def test_members_are_spread_over_racks(sandbox: Sandbox, _time: int) -> None:
    """All of the cheap victims are in one rack, which would take the whole gang."""
    where: dict[str, str] = {}
    for rack, priority in (("cheap", 10), ("dear", 50)):
        for number in range(2):
            node = sandbox.node(f"{rack}{number}", cpu="2", labels={"rack": rack})
            where[node] = rack
            sandbox.filler(f"{rack}-{number}", node, 2, priority=priority)
    members = sandbox.gang("hero", 4, priority=100, **spread("rack"))
    bound = sandbox.wait_bound(*members)
    assert sorted(where[bound[member]] for member in members) == ["cheap", "cheap", "dear", "dear"]
    plan = sandbox.wait_plan("hero", "Bound")["spec"]
    assert plan["notModelled"] == []
    assert sorted(each["wave"] for each in plan["placements"]) == [0, 0, 1, 1]
    assert {member: bound[member] for member in members} == {
        each["pod"]: each["node"] for each in plan["placements"]
    }
    assert len(sandbox.history.evictions()) == 4
    assert [refused(sandbox, member) for member in members] == [[]] * 4


@pytest.mark.parametrize("_time", range(TIMES))
def test_members_that_keep_one_another_out_of_a_rack(sandbox: Sandbox, _time: int) -> None:
    """The cheap zone has one rack. The dear one has two."""
    for zone, racks, priority in (("cheap", "aa", 10), ("dear", "bc", 50)):
        for number, rack in enumerate(racks):
            labels = {"zone": zone, "rack": rack}
            node = sandbox.node(f"{zone}{number}", cpu="1", labels=labels)
            sandbox.filler(f"{zone}-{number}", node, 1, priority=priority)
    members = sandbox.gang("hero", 2, priority=100, topology="zone", **apart("rack"))
    bound = sandbox.wait_bound(*members)
    assert sorted(bound[member].rpartition("-")[2] for member in members) == ["dear0", "dear1"]
    plan = sandbox.wait_plan("hero", "Bound")["spec"]
    assert plan["notModelled"] == []
    (lost,) = [each for each in plan["domains"] if each["value"] == "cheap"]
    assert (lost["outcome"], "anti-affinity by rack" in lost["reason"]) == ("Unschedulable", True)
    assert sorted(sandbox.history.evictions()) == ["dear-0-0", "dear-1-0"]
    assert [refused(sandbox, member) for member in members] == [[]] * 2


def test_a_gang_that_can_never_be_spread_evicts_nobody(sandbox: Sandbox) -> None:
    """One rack has room for one member. So the other one takes two at the most."""
    for rack, cpu in (("small", "1"), ("large", "4")):
        node = sandbox.node(rack, cpu=cpu, labels={"rack": rack})
        sandbox.filler(rack, node, int(cpu))
    members = sandbox.gang("hero", 4, priority=100, **spread("rack"))
    why = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert (
        "3 of 4 members can run: topology spread by rack (maxSkew 1): small has room for 1" in why["message"]
    )
    sandbox.watch_quietly(3, *members)
