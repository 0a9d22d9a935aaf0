"""Gangs that respect PodDisruptionBudgets, on a real control plane: the disruption controller counts, reprieve asks."""

from __future__ import annotations

from api.disruption import BUDGETS_ANNOTATION
from hack.controlplane import objects
from hack.controlplane.client import Json
from tests.e2e.support import Sandbox, wait_for

GUARDED = {"app": "guarded"}
GUARD = "guard"


def budget(sandbox: Sandbox, *, min_available: int, allows: int, **spec: str) -> None:
    """A budget of the guarded pods, once the disruption controller has counted them."""
    body = objects.pod_disruption_budget(GUARD, sandbox.namespace, GUARDED, min_available=min_available)
    body["spec"] |= spec
    sandbox.client.create(body)
    wait_for(lambda: allowed(sandbox) == allows, what="the budget is not counted")


def allowed(sandbox: Sandbox) -> int | None:
    found = sandbox.client.get("policy/v1", "PodDisruptionBudget", GUARD, sandbox.namespace)
    status = found.get("status", {})
    return int(status.get("disruptionsAllowed", 0)) if status.get("observedGeneration") else None


def guarded(sandbox: Sandbox, count: int) -> list[str]:
    """Nodes that are full of guarded pods."""
    nodes = sandbox.nodes(count, cpu="1")
    return [sandbox.filler(f"low-{number}", node, 1, labels=GUARDED)[0] for number, node in enumerate(nodes)]


def respecting(sandbox: Sandbox, name: str, members: int) -> list[str]:
    """A gang with the annotation."""
    body = objects.pod_group(name, sandbox.namespace, min_count=members, priority_class=sandbox.priority(100))
    body["metadata"]["annotations"] = {BUDGETS_ANNOTATION: "Respect"}
    sandbox.client.create(body)
    return sandbox.pods(name, members, priority=100, group=name)


def test_a_budget_stops_a_gang_until_it_allows_the_evictions(sandbox: Sandbox) -> None:
    victims = guarded(sandbox, 2)
    budget(sandbox, min_available=1, allows=1)
    members = respecting(sandbox, "hero", 2)
    plan = sandbox.wait_plan("hero", "Unschedulable")
    assert plan["spec"]["podDisruptionBudgetPolicy"] == "Respect"
    assert plan["spec"]["stoppedByPodDisruptionBudgets"] == [
        {"namespace": sandbox.namespace, "name": GUARD, "allowed": 1}
    ]
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert f"PodDisruptionBudgets are respected, and stop it: {GUARD} (allows 1)" in said["message"]
    sandbox.watch_quietly(2, *members)
    assert sandbox.history.deleted() == []
    sandbox.client.patch(
        "policy/v1", "PodDisruptionBudget", GUARD, {"spec": {"minAvailable": 0}}, sandbox.namespace
    )
    sandbox.wait_bound(*members)
    assert sandbox.history.deleted() == victims


def break_down(sandbox: Sandbox, name: str) -> None:
    """From now on the pod runs and is not Ready."""
    pod = sandbox.client.get("v1", "Pod", name, sandbox.namespace)
    others = [each for each in pod["status"]["conditions"] if each["type"] != "Ready"]
    status = {"conditions": [*others, {"type": "Ready", "status": "False", "reason": "Broken"}]}
    sandbox.client.patch("v1", "Pod", name, {"status": status}, sandbox.namespace, "status")


def test_a_pod_that_is_no_longer_ready_is_evicted_although_the_budget_allows_nothing(
    sandbox: Sandbox,
) -> None:
    """The change of its health wakes the gang. The API server does not count the eviction."""
    _, broken = guarded(sandbox, 2)
    budget(sandbox, min_available=2, allows=0, unhealthyPodEvictionPolicy="AlwaysAllow")
    [member] = respecting(sandbox, "hero", 1)
    sandbox.wait_plan("hero", "Unschedulable")
    sandbox.watch_quietly(1, member)
    break_down(sandbox, broken)
    sandbox.wait_bound(member)
    assert sandbox.history.deleted() == [broken]


def test_while_enough_pods_are_healthy_those_go_that_are_not(sandbox: Sandbox) -> None:
    _, broken = guarded(sandbox, 2)
    break_down(sandbox, broken)
    budget(sandbox, min_available=1, allows=0)
    [member] = respecting(sandbox, "hero", 1)
    sandbox.wait_bound(member)
    assert sandbox.history.deleted() == [broken]
    [plan] = sandbox.plans("hero")
    assert plan["spec"]["podDisruptionBudgetViolations"] == 0


def test_gangs_that_come_together_do_not_exceed_a_budget(sandbox: Sandbox) -> None:
    """Each of them alone would be allowed to evict. What one of them evicts counts for the others at once."""
    victims = guarded(sandbox, 4)
    budget(sandbox, min_available=3, allows=1)
    gangs = [f"hero-{number}" for number in range(4)]
    for name in gangs:
        respecting(sandbox, name, 1)
    wait_for(lambda: len(bound(sandbox, gangs)) == 1, what=sandbox.report)
    for name in set(gangs) - set(bound(sandbox, gangs)):
        for plan in wait_stopped(sandbox, name):
            assert [each["name"] for each in plan["spec"]["stoppedByPodDisruptionBudgets"]] == [GUARD]
    sandbox.watch_quietly(3, *(f"{name}-0" for name in set(gangs) - set(bound(sandbox, gangs))))
    gone = sandbox.history.deleted()
    assert len(gone) == 1
    assert set(gone) <= set(victims)
    assert allowed(sandbox) == 0


def wait_stopped(sandbox: Sandbox, gang: str) -> list[Json]:
    """The decisions by which nothing is evicted for the gang. One that was Aborted may be of the same second."""

    def found() -> list[Json]:
        plans = sandbox.plans(gang)
        return [plan for plan in plans if plan.get("status", {}).get("phase") == "Unschedulable"]

    return wait_for(found, what=lambda: f"{gang}: {[plan.get('status') for plan in sandbox.plans(gang)]}")


def bound(sandbox: Sandbox, gangs: list[str]) -> list[str]:
    """The gangs whose member runs."""
    running = sandbox.bound()
    return [name for name in gangs if f"{name}-0" in running]
