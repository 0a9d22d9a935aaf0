"""A small scenario for the commands about quota, as plain manifests that tests change."""

from __future__ import annotations

from typing import Any, Final

from tests.kit.manifests import condition, group, kueue, pod_set

NOW: Final = "2026-03-01T12:00:00Z"


def manifest(kind: str, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
    made = kueue(kind, name, namespace, **parts)
    made["metadata"]["creationTimestamp"] = "2026-03-01T08:00:00Z"
    return made


def cluster_queue(name: str, cpu: object = "10", **spec: Any) -> dict[str, Any]:
    groups = [group(("cpu",), "default", nominalQuota=cpu)]
    preemption = {"withinClusterQueue": "LowerPriority"}
    return manifest(
        "ClusterQueue",
        name,
        spec={"namespaceSelector": {}, "resourceGroups": groups, "preemption": preemption, **spec},
    )


def workload(name: str, priority: int, cpu: object) -> dict[str, Any]:
    pod_sets = [pod_set("main", 1, {"cpu": cpu})]
    return manifest(
        "Workload", name, "d", spec={"queueName": "lq", "priority": priority, "podSets": pod_sets}
    )


def admitted(name: str, priority: int, cpu: object, queue: str = "cq") -> dict[str, Any]:
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": cpu}}
    reserved = condition("QuotaReserved", reason="QuotaReserved", lastTransitionTime="2026-03-01T09:00:00Z")
    status = {
        "admission": {"clusterQueue": queue, "podSetAssignments": [assignment]},
        "conditions": [reserved],
    }
    return {**workload(name, priority, cpu), "status": status}


FLAVOR: Final = manifest("ResourceFlavor", "default")
QUEUE: Final = cluster_queue("cq")
LOCAL: Final = manifest("LocalQueue", "lq", "d", spec={"clusterQueue": "cq"})
LOW: Final = admitted("low", 1, "6")
HIGH: Final = admitted("high", 9, "4")
INCOMING: Final = workload("incoming", 5, "3")

OBJECTS: Final = [FLAVOR, QUEUE, LOCAL, LOW, HIGH, INCOMING]
SCENARIO: Final[dict[str, Any]] = {
    "id": "good",
    "now": NOW,
    "fairSharing": False,
    "objects": OBJECTS,
    "incoming": "d/incoming",
}


def with_object(thing: dict[str, Any]) -> list[dict[str, Any]]:
    """The scenario's objects, with this one in the place of that of its kind and name, or added."""

    def key(other: dict[str, Any]) -> tuple[str, str]:
        return other["kind"], other["metadata"]["name"]

    objects = [thing if key(other) == key(thing) else other for other in OBJECTS]
    return objects if thing in objects else [*objects, thing]
