"""A small scenario for `reprieve quota`, as plain manifests that tests change."""

from __future__ import annotations

from typing import Any, Final

NOW: Final = "2026-03-01T12:00:00Z"
API_VERSION: Final = "kueue.x-k8s.io/v1beta2"


def manifest(kind: str, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": "2026-03-01T08:00:00Z"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **parts}


def cluster_queue(name: str, cpu: object = "10", **spec: Any) -> dict[str, Any]:
    flavors = [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    return manifest(
        "ClusterQueue",
        name,
        spec={"namespaceSelector": {}, "resourceGroups": groups, "preemption": preemption, **spec},
    )


def workload(name: str, priority: int, cpu: object) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": containers}}}
    return manifest(
        "Workload", name, "d", spec={"queueName": "lq", "priority": priority, "podSets": [pod_set]}
    )


def admitted(name: str, priority: int, cpu: object, queue: str = "cq") -> dict[str, Any]:
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": cpu}}
    reserved = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "",
        "lastTransitionTime": "2026-03-01T09:00:00Z",
    }
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
