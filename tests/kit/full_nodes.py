"""A cluster whose nodes are full, and gangs that wait for whole nodes, as a file for a command."""

from __future__ import annotations

from typing import Any

from hack.controlplane import objects

__all__ = ["cluster"]

Json = dict[str, Any]


def cluster(nodes: int = 3, gangs: int = 2) -> list[Json]:
    """Nodes that are full of a pod each, and gangs of one member that need a whole node."""
    found: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}]
    found += [objects.node(f"n{each}", cpu="4") for each in range(nodes)]
    found += [
        _running(objects.pod(f"low-{each}", "team", cpu="4", node_name=f"n{each}")) for each in range(nodes)
    ]
    for number in range(gangs):
        found.append(objects.pod_group(f"g{number}", "team", min_count=1, priority=100))
        found.append(objects.pod(f"g{number}-0", "team", cpu="4", group=f"g{number}"))
    for each in found:
        if each["kind"] == "Node":
            each["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        if each["kind"] == "Pod":
            each["spec"]["priority"] = 1 if each["metadata"]["name"].startswith("low") else 100
            each["metadata"]["uid"] = each["metadata"]["name"]
    return found


def _running(pod: Json) -> Json:
    pod["status"] = {"phase": "Running"}
    return pod
