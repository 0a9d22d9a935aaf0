"""Gangs whose members cannot share a node, on a real control plane: host ports, and anti-affinity by host name."""

from __future__ import annotations

from typing import Any

from tests.e2e.support import Sandbox

PORT = 8080
QUIET_SECONDS = 5


def with_port() -> dict[str, Any]:
    """The spec of a pod of one CPU that takes the host port."""
    ports = [{"containerPort": PORT, "hostPort": PORT}]
    return {
        "containers": [
            {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}, "ports": ports}
        ]
    }


def apart_from(app: str) -> dict[str, Any]:
    """The affinity of a pod that shares no node with pods of the app."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_members_with_a_host_port_get_a_node_each(sandbox: Sandbox) -> None:
    """On the first node the pod with the port goes, and nobody else there; on the second one pod for its CPU."""
    first, second = sandbox.nodes(2, cpu="2")
    sandbox.filler("holder", first, 1, **with_port())
    sandbox.filler("quiet", first, 1)
    sandbox.filler("low", second, 2)
    members = sandbox.gang("hero", 2, priority=100, **with_port())
    bound = sandbox.wait_bound(*members)
    assert sorted(bound[member] for member in members) == sorted([first, second])
    plan = sandbox.wait_plan("hero", "Bound")
    assert plan["spec"]["notModelled"] == []
    evictions = sandbox.history.evictions()
    assert sorted(evictions.values()) == [1, 1], "one pod on each node, each once"
    assert "holder-0" in evictions
    assert "quiet-0" not in evictions


def test_more_members_with_a_host_port_than_nodes_evict_nobody(sandbox: Sandbox) -> None:
    """Each of them alone would find room."""
    for number, node in enumerate(sandbox.nodes(2, cpu="4")):
        sandbox.filler(f"low-{number}", node, 2)
    members = sandbox.gang("hero", 3, priority=100, **with_port())
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert "didn't have free ports for the requested pod ports" in said["message"]
    sandbox.watch_quietly(QUIET_SECONDS, *members)


def test_members_with_anti_affinity_get_a_node_each(sandbox: Sandbox) -> None:
    """Two nodes are full; the third has room, and a pod of higher priority that does not want members there."""
    full = sandbox.nodes(2, cpu="2")
    for number, node in enumerate(full):
        sandbox.filler(f"low-{number}", node, 2)
    lonely = sandbox.node("lonely", cpu="4")
    sandbox.filler("alone", lonely, 1, priority=200, affinity=apart_from("hero"))
    members = sandbox.gang("hero", 2, priority=100, labels={"app": "hero"}, affinity=apart_from("hero"))
    bound = sandbox.wait_bound(*members)
    assert sorted(bound[member] for member in members) == sorted(full)
    assert sandbox.wait_plan("hero", "Bound")["spec"]["notModelled"] == []
    evictions = sandbox.history.evictions()
    assert sorted(name[:5] for name in evictions) == ["low-0", "low-1"]
    assert set(evictions.values()) == {1}


def test_a_pod_that_does_not_want_a_member_goes(sandbox: Sandbox) -> None:
    """There is room for both, and only the running pod has a term."""
    node = sandbox.node("n0", cpu="4")
    sandbox.filler("alone", node, 1, affinity=apart_from("hero"))
    sandbox.filler("quiet", node, 1)
    sandbox.gang("hero", 1, priority=100, labels={"app": "hero"})
    assert sandbox.wait_bound("hero-0")["hero-0"] == node
    assert sandbox.history.evictions() == {"alone-0": 1}


def test_members_are_spread_over_nodes(sandbox: Sandbox) -> None:
    """One node has the cheaper victims, and would take both members."""
    first, second = sandbox.nodes(2, cpu="2")
    sandbox.filler("cheap", first, 2)
    sandbox.filler("dear", second, 2, priority=50)
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"reprieve.dev/pod-group": "hero"}},
    }
    members = sandbox.gang("hero", 2, priority=100, topologySpreadConstraints=[spread])
    bound = sandbox.wait_bound(*members)
    assert sorted(bound[member] for member in members) == sorted([first, second])
    assert sandbox.wait_plan("hero", "Bound")["spec"]["notModelled"] == []
    assert len(sandbox.history.evictions()) == 2, "one pod on each node"
