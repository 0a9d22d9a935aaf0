"""Waits for simulated nodes."""

from __future__ import annotations

from typing import Final

from hack.controlplane.client import Client, Json
from hack.controlplane.processes import wait_until

__all__ = ["is_played", "wait_for_nodes"]

PLAY_SECONDS: Final = 120.0
LIFECYCLE_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def is_played(node: Json) -> bool:
    """Whether KWOK manages the node and the scheduler may use it.

    Both are needed. The node lifecycle controller takes the not-ready taint off a node without any condition, so a node
    that KWOK has never seen loses it, too (doNoScheduleTaintingPass of pkg/controller/nodelifecycle).
    """
    conditions = node.get("status", {}).get("conditions") or []
    taints = node["spec"].get("taints") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions) and not any(
        taint["key"] in LIFECYCLE_TAINTS for taint in taints
    )


def wait_for_nodes(client: Client, *names: str, seconds: float = PLAY_SECONDS) -> None:
    """Return when KWOK plays all these nodes. Raises ProcessFailedError with the names of the
    others after `seconds`."""
    waiting: set[str] = set(names)

    def none_waits() -> bool:
        waiting.difference_update(
            each["metadata"]["name"] for each in client.list("v1", "Node") if is_played(each)
        )
        return not waiting

    wait_until(none_waits, seconds, lambda: f"KWOK does not play the nodes {sorted(waiting)}")
