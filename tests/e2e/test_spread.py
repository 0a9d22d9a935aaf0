"""Gangs whose members look at pods on other nodes, on a real control plane: the cheapest domain is not a valid one.

The scheduler must not refuse a member on its planned node: after it has its nomination, it is bound or held by us.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import ReprieveFactory, Sandbox, condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS

TIMES = int(os.environ.get("REPRIEVE_E2E_TIMES", "1"))
"""How often each gang is tried."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
Racks = Callable[..., tuple[ControlPlane, Sandbox, list[str]]]
"""Failpoints of reprieve, if any → the plane, the sandbox and the members of the gang."""
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


@pytest.fixture
def racks(reprieve_with: ReprieveFactory) -> Racks:
    """A gang of twelve that is spread over two racks, in six waves, on a plane whose reprieve has failpoints."""

    def start(failpoints: str = "") -> tuple[ControlPlane, Sandbox, list[str]]:
        plane, sandbox = reprieve_with(failpoints)
        for rack in "ab":
            node = sandbox.node(rack, cpu="6", labels={"rack": rack})
            sandbox.filler(rack, node, 6)
        return plane, sandbox, sandbox.gang("hero", 12, priority=100, **spread("rack"))

    return start


def test_the_next_process_goes_on_between_two_waves(racks: Racks) -> None:
    """While no process answers, the scheduler goes on by itself. The next process ends the same plan either way."""
    plane, sandbox, members = racks("plan.next_wave=kill")
    plane.reprieve.wait(PATIENCE_SECONDS)
    plane.reprieve.environment = {}
    plane.start_reprieve()
    sandbox.wait_bound(*members)
    (plan,) = sandbox.plans("hero")
    assert len({each["wave"] for each in plan["spec"]["placements"]}) == 6
    sandbox.wait_plan("hero", "Bound")
    assert len(sandbox.history.evictions()) == 12


def test_a_member_that_is_deleted_between_two_waves_is_replaced(racks: Racks) -> None:
    _, sandbox, members = racks()
    wait_for(lambda: sandbox.bound().keys() & set(members), what=sandbox.report)
    lost = min(sandbox.bound().keys() & set(members))
    sandbox.delete_pod(lost)
    sandbox.pod("hero-new", group="hero", priority=100, **spread("rack"))
    sandbox.wait_bound("hero-new", *(name for name in members if name != lost))
    sandbox.wait_plan("hero", "Bound")
    assert len(sandbox.history.evictions()) == 12
