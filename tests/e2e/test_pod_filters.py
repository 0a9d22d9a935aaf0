"""Gangs whose members look at other pods, on a real control plane: each evicts the right pods, and binds."""

from __future__ import annotations

from typing import Any

from hack.controlplane.client import Json
from tests.e2e.evicted import evicted
from tests.e2e.support import Sandbox

HOSTNAME = "kubernetes.io/hostname"
RACK = "rack"
HERO = {"app": "hero"}


def anti(**term: Any) -> Json:
    terms = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": HERO}, **term}]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def nodes_of(sandbox: Sandbox, count: int, **member: Any) -> list[str]:
    """The nodes on which the members of a new gang are bound, sorted."""
    members = sandbox.gang("hero", count, priority=100, **member)
    bound = sandbox.wait_bound(*members)
    return sorted(bound[each] for each in members)


def test_members_with_host_name_anti_affinity_never_share_a_node(sandbox: Sandbox) -> None:
    """A node with room for both takes one of them; the other one evicts on the next node."""
    roomy, full = sandbox.node("roomy", cpu="2"), sandbox.node("full", cpu="1")
    sandbox.filler("low", full, 1)
    assert nodes_of(sandbox, 2, labels=HERO, affinity=anti()) == sorted([roomy, full])
    evicted(sandbox, "low-0")


def test_a_running_pod_goes_because_it_keeps_members_off_its_node(sandbox: Sandbox) -> None:
    """There is room beside both pods. The one that repels the members is evicted, and the other one stays."""
    first, second = sandbox.nodes(2, cpu="2")
    sandbox.filler("repels", first, 1, affinity=anti())
    sandbox.filler("beside", second, 1)
    assert nodes_of(sandbox, 2, labels=HERO, affinity=anti()) == sorted([first, second])
    evicted(sandbox, "repels-0")


def test_the_labels_of_the_namespace_decide_whom_a_running_pod_keeps_off(sandbox: Sandbox) -> None:
    """A term that chooses other namespaces keeps nobody off: the gang evicts who takes its room."""
    (node,) = sandbox.nodes(1, cpu="2")
    sandbox.client.patch("v1", "Namespace", sandbox.namespace, {"metadata": {"labels": {"team": "a"}}})
    other = anti(namespaceSelector={"matchLabels": {"team": "b"}})
    sandbox.filler("other", node, 1, priority=200, affinity=other)
    sandbox.filler("low", node, 1)
    assert nodes_of(sandbox, 1, labels=HERO) == [node]
    evicted(sandbox, "low-0")


def test_nobody_goes_where_the_scheduler_would_not_notice(sandbox: Sandbox) -> None:
    """The running pod keeps the member off by the label of its namespace. The plan says so, and is Blocked."""
    (node,) = sandbox.nodes(1, cpu="2")
    sandbox.client.patch("v1", "Namespace", sandbox.namespace, {"metadata": {"labels": {"team": "a"}}})
    sandbox.filler("repels", node, 1, affinity=anti(namespaceSelector={"matchLabels": {"team": "a"}}))
    (member,) = sandbox.gang("hero", 1, priority=100, labels=HERO)
    (named,) = sandbox.wait_plan("hero", "Blocked")["spec"]["notModelled"]
    assert "does not notice" in named
    sandbox.watch_quietly(2, member)


def test_a_gang_with_topology_spread_evicts_in_each_rack(sandbox: Sandbox) -> None:
    """Two members in each rack, though one rack has free room for all four."""
    for rack, name in (("a", "a0"), ("a", "a1"), ("b", "b0"), ("b", "b1")):
        node = sandbox.node(name, cpu="2" if rack == "a" else "1", labels={RACK: rack})
        if rack == "b":
            sandbox.filler(f"low-{name}", node, 1)
    spread = {
        "maxSkew": 1,
        "topologyKey": RACK,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": HERO},
    }
    nodes = nodes_of(sandbox, 4, labels=HERO, topologySpreadConstraints=[spread])
    racks = [node.removeprefix(f"{sandbox.namespace}-")[0] for node in nodes]
    assert racks == ["a", "a", "b", "b"]
    evicted(sandbox, "low-b0-0", "low-b1-0")


def test_members_with_host_ports_evict_who_holds_the_port(sandbox: Sandbox) -> None:
    """There is room on both nodes. Only the pod that holds the members' port is evicted."""
    first, second = sandbox.nodes(2, cpu="4")

    def listens(number: int) -> list[Json]:
        ports = [{"containerPort": number, "hostPort": number}]
        return [{"name": "main", "image": "none", "ports": ports}]

    sandbox.filler("same", first, 1, containers=listens(8080))
    sandbox.filler("other", second, 1, containers=listens(9090))
    assert nodes_of(sandbox, 2, containers=listens(8080)) == sorted([first, second])
    evicted(sandbox, "same-0")
