"""Quota and nodes agree: nobody is evicted for a Job whose pods would find no node."""

from __future__ import annotations

from typing import Final

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.node_sandbox import NodeSandbox
from tests.e2e.support import wait_for

WITHIN: Final[Json] = {"withinClusterQueue": "LowerPriority"}


def crowded(plane: ControlPlane, name: str, nodes: int, queue: int) -> NodeSandbox:
    """On each of four nodes 6 CPUs are taken by high priority, and 2 by low priority."""
    box = NodeSandbox(plane, name, nodes)
    box.queue("team", queue, preemption=WITHIN)
    for node in range(4):
        box.one(f"high-{node}", "team", 6, "high", node)
    return box


def fill(box: NodeSandbox) -> None:
    for node in range(4):
        box.one(f"low-{node}", "team", 2, "low", node)
    box.until_runs(*(f"{level}-{node}" for node in range(4) for level in ("high", "low")))


def test_nobody_goes_for_a_pod_that_fits_no_node(quota_plane: ControlPlane) -> None:
    box = crowded(quota_plane, "crowded", 4, 32)
    fill(box)
    box.one("big", "team", 8, "middle")
    wait_for(lambda: "find no place on nodes" in box.says("big"), what=lambda: box.says("big"))
    assert "Insufficient cpu" in box.says("big")
    assert box.conditions(box.workload_of("big"))["QuotaReserved"] == ("False", "WaitingForQuota")
    assert box.plans_of("big") == []

    # A node comes: nothing on it is evicted, and four of low priority give their quota back.
    box.add_node(f"{box.name}-new")
    box.until_runs("big")
    assert box.runs_on("big") == f"{box.name}-new"
    box.until_runs(*(f"high-{node}" for node in range(4)))


def test_those_go_whose_nodes_the_pods_can_use(quota_plane: ControlPlane) -> None:
    """By quota alone the latest ones of lower priority would be preempted, and their room is scattered."""
    box = crowded(quota_plane, "whole", 5, 40)
    box.one("whole", "team", 8, "low", 4)
    box.until_runs("whole")
    fill(box)
    box.one("big", "team", 8, "middle")
    box.until_runs("big")
    assert box.runs_on("big") == box.node_names[4]
    box.until_runs(*(f"{level}-{node}" for node in range(4) for level in ("high", "low")))
    (plan,) = box.plans_of("big")
    assert [each["name"] for each in plan["spec"]["victims"]] == [box.workload_of("whole")]
    assert [(each["pod"], each["node"]) for each in plan["spec"]["placements"]] == [
        ("main-0", box.node_names[4])
    ]
