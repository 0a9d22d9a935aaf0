"""Others use the room of a plan, or the plan's world changes under it: no victim in vain, no gang or unit in pieces."""

from __future__ import annotations

import time

from hack.controlplane.client import Json
from tests.e2e.others import no_deletion_of
from tests.e2e.support import REPRIEVE, Sandbox, condition, wait_for

LINGER = ["reprieve.dev/linger"]
QUIET_SECONDS = 3.0
"""How long nothing may be evicted once the status of the gang says why."""


def test_a_planned_node_is_cordoned_while_its_victim_terminates(sandbox: Sandbox) -> None:
    """The next plan uses the room that was made, and another node; the gang is bound whole."""
    nodes = sandbox.nodes(3, cpu="1")
    for number, node in enumerate(nodes):
        finalizers = LINGER if number < 2 else []
        sandbox.filler(f"low-{number}", node, 1, priority=5 + number, finalizers=finalizers)
    members = sandbox.gang("hero", 2, priority=100)
    wait_for(lambda: sandbox.history.evicted() == ["low-0-0", "low-1-0"], what=sandbox.report)
    sandbox.client.patch("v1", "Node", nodes[0], {"spec": {"unschedulable": True}})

    def goes_on() -> bool:
        return any(
            {each["node"] for each in plan["spec"]["placements"]} == set(nodes[1:])
            for plan in sandbox.plans("hero")
            if plan.get("status", {}).get("phase") == "Evicting"
        )

    wait_for(goes_on, what=sandbox.report)
    assert not set(members) & sandbox.bound().keys()
    for victim in ("low-0-0", "low-1-0"):
        sandbox.release(victim)
    bound = sandbox.wait_bound(*members)
    assert {bound[member] for member in members} == set(nodes[1:])
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1, "low-2-0": 1}


def test_room_that_a_pod_of_higher_priority_is_nominated_to_is_not_free(sandbox: Sandbox) -> None:
    """The pod has preempted and waits for its victim. A gang that would need that room evicts nobody."""
    first = sandbox.node("n0", cpu="1")
    sandbox.filler("stuck", first, 1, finalizers=LINGER)
    sandbox.pod("urgent", priority=2000)
    wait_for(lambda: first in sandbox.history.nominations("urgent"), what=sandbox.report)
    second = sandbox.node("n1", cpu="1", taints=[{"key": "hero", "effect": "NoSchedule"}])
    tolerations = [{"key": "hero", "operator": "Exists"}]
    sandbox.filler("low", second, 1, tolerations=tolerations)
    members = sandbox.gang("hero", 2, priority=1000, tolerations=tolerations)
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert said["reason"] == "Unschedulable"
    watch_evictions(sandbox, ["stuck-0"], *members)
    sandbox.release("stuck-0")
    sandbox.wait_bound("urgent")
    third = sandbox.node("n2", cpu="1")
    bound = sandbox.wait_bound(*members)
    assert bound["urgent"] == first
    assert {bound[member] for member in members} == {second, third}
    assert sandbox.history.evictions() == {"stuck-0": 1, "low-0": 1}


def watch_evictions(sandbox: Sandbox, evicted: list[str], *pods: str) -> None:
    """Fail if anybody else is evicted in a while, or any of the pods is bound."""
    deadline = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < deadline:
        assert sandbox.history.evicted() == evicted, sandbox.report()
        assert not set(pods) & sandbox.bound().keys(), sandbox.report()
        time.sleep(0.5)


def test_one_pod_of_a_unit_may_not_be_deleted(sandbox: Sandbox) -> None:
    """The unit is not touched; another victim goes as soon as there is one."""
    sandbox.group("victims", min_count=3, priority=10, mode="all")
    names = [
        sandbox.filler(f"v-{number}", node, 1, group="victims")[0]
        for number, node in enumerate(sandbox.nodes(3, cpu="1"))
    ]
    with no_deletion_of(sandbox, names[1]):
        members = sandbox.gang("hero", 1, priority=100)
        sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
        ended = [plan for plan in sandbox.plans("hero") if plan["status"]["phase"] == "Aborted"]
        assert [plan["status"]["conditions"][-1]["reason"] for plan in ended] == ["EvictionRefused"]
        sandbox.watch_quietly(QUIET_SECONDS, *members)
        another = sandbox.node("n3", cpu="1", unschedulable=True)  # it must not be free for a moment
        sandbox.filler("low", another, 1, priority=20)
        sandbox.client.patch("v1", "Node", another, {"spec": {"unschedulable": None}})
        sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0": 1}
    assert not any(condition(pod, "DisruptionTarget") for pod in sandbox.list_pods())


def test_a_plan_that_waits_gives_its_room_to_a_higher_priority(sandbox: Sandbox) -> None:
    """Nothing else is evicted, and the gang that loses learns to which one."""
    node = sandbox.node("n0", cpu="1")
    sandbox.filler("stuck", node, 1, finalizers=LINGER)
    patient = sandbox.gang("patient", 1, priority=100)
    wait_for(sandbox.history.evicted, what=sandbox.report)
    urgent = sandbox.gang("urgent", 1, priority=1000)
    wait_for(lambda: ended_for(sandbox, "patient", "urgent"), what=sandbox.report)
    sandbox.release("stuck-0")
    bound = sandbox.wait_bound(*urgent)
    assert not set(patient) & bound.keys()
    assert sandbox.history.evictions() == {"stuck-0": 1}


def ended_for(sandbox: Sandbox, preemptor: str, other: str) -> Json | None:
    """The plan that ended because of another group, and says so."""
    for plan in sandbox.plans(preemptor):
        last = plan["status"]["conditions"][-1]
        if plan["status"]["phase"] == "Aborted" and f"{sandbox.namespace}/{other}" in last["message"]:
            return plan
    return None


def test_a_pod_that_preempt_refused_is_tried_again_when_the_plan_ends(sandbox: Sandbox) -> None:
    """Nothing else happens in the cluster: the victim stays where it is."""
    node = sandbox.node("n0", cpu="1")
    sandbox.filler("stuck", node, 1, finalizers=LINGER)
    sandbox.gang("hero", 1, priority=100)
    wait_for(sandbox.history.evicted, what=sandbox.report)
    sandbox.pod("ordinary", priority=50)
    wait_for(lambda: sandbox.events("PreemptionRefused", "ordinary"), what="its room is not held")
    sandbox.client.delete(REPRIEVE, "PodGroup", "hero", sandbox.namespace)
    wait_for(lambda: node in sandbox.history.nominations("ordinary"), what=sandbox.report)
    sandbox.release("stuck-0")
    sandbox.wait_bound("ordinary")
    assert sandbox.history.evictions() == {"stuck-0": 1}
