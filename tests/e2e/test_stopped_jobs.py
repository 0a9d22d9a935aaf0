"""A Job whose gang is evicted for another on nodes is stopped first, and creates no pods again. Its quota is free."""

from __future__ import annotations

from typing import Any

from hack.controlplane import objects
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import POOL
from tests.e2e.node_sandbox import NodeSandbox
from tests.e2e.support import wait_for

GROUP = "reprieve.dev/pod-group"


def gang_job(box: NodeSandbox, name: str, queue: str, pods: int, level: str) -> None:
    """A Job whose pods form a gang, one on each node. A pod that fails once is one too many."""
    box.client.create(
        objects.pod_group(name, box.name, min_count=pods, priority_class=box.classes[level], mode="all")
    )
    pod: Any = {"cpu": "8", "priority_class": box.classes[level]}
    box.job(name, queue, pods, template_labels={GROUP: name}, pod=pod, backoffLimit=0)


def test_a_gang_of_a_job_goes_for_another_and_the_job_comes_back(quota_plane: ControlPlane) -> None:
    box = NodeSandbox(quota_plane, "stopped", 2)
    box.queue("team", 16)
    gang_job(box, "train", "team", 2, "low")
    wait_for(lambda: len(running(box, "train")) == 2, what=lambda: box.told("train"))

    tolerated = {"key": POOL, "operator": "Exists", "effect": "NoSchedule"}
    box.client.create(
        objects.pod_group("urgent", box.name, min_count=2, priority_class=box.classes["high"], mode="all")
    )
    for number in range(2):
        box.client.create(
            objects.pod(
                f"urgent-{number}",
                box.name,
                cpu="8",
                group="urgent",
                priority_class=box.classes["high"],
                nodeSelector={POOL: box.pool},
                tolerations=[tolerated],
            )
        )
    wait_for(lambda: bound(box, "urgent") == 2, what=lambda: box.told("train"))

    workload = box.workload_of("train")
    said = next(
        each for each in box.get(workload)["status"]["conditions"] if each["type"] in ("Evicted", "Preempted")
    )
    assert "Preempted on nodes: PodGroup" in said["message"]
    box.until_event("train", "Stopped", "Preempted on nodes")
    # Its quota was free, and it has it again. Its pods wait for nodes.
    box.until_event("train", "Started")
    for number in range(2):
        box.client.delete("v1", "Pod", f"urgent-{number}", box.name, grace_seconds=0)
    wait_for(lambda: len(running(box, "train")) == 2, what=lambda: box.told("train"))
    status = box.get_job("train")["status"]
    assert status.get("failed", 0) == 0, status


def running(box: NodeSandbox, job: str) -> list[str]:
    return [each["metadata"]["name"] for each in box.pods(job) if each["status"]["phase"] == "Running"]


def bound(box: NodeSandbox, group: str) -> int:
    pods = box.client.list("v1", "Pod", box.name)
    mine = [each for each in pods if each["metadata"].get("labels", {}).get(GROUP) == group]
    return sum(bool(each["spec"].get("nodeName")) for each in mine)
