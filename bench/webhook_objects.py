"""A ClusterQueue and a Workload of realistic size, and the reviews that API servers send about them."""

from __future__ import annotations

from typing import Any, Final

import orjson

from api.kueue import API_VERSION
from webhooks.registrations import REGISTRATIONS

__all__ = ["NAMESPACE", "REVIEWS", "cluster_queue", "workload"]

Json = dict[str, Any]

NAMESPACE: Final = "default"
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu", "rdma/hca")
FLAVORS: Final = ("reserved", "on-demand", "spot", "a100", "h100", "l4")


def cluster_queue(name: str = "team-a") -> Json:
    """A ClusterQueue with six flavors of four resources, borrowing and lending, and every kind of preemption."""
    quota = {"nominalQuota": "512", "borrowingLimit": "256", "lendingLimit": "128"}
    flavors = [
        {"name": flavor, "resources": [{"name": each, **quota} for each in RESOURCES]} for flavor in FLAVORS
    ]
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": name, **_written("clusterqueues", name)},
        "spec": {
            "cohortName": "research",
            "queueingStrategy": "BestEffortFIFO",
            "namespaceSelector": {
                "matchLabels": {"team": "a"},
                "matchExpressions": [{"key": "stage", "operator": "In", "values": ["dev", "prod"]}],
            },
            "resourceGroups": [{"coveredResources": list(RESOURCES), "flavors": flavors}],
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
            "preemption": {
                "reclaimWithinCohort": "LowerPriority",
                "withinClusterQueue": "LowerOrNewerEqualPriority",
                "withinClusterQueueConfig": {"minAdmitDuration": "30m"},
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
            },
            "fairSharing": {"weight": "2"},
            "stopPolicy": "None",
        },
    }


def workload(name: str = "train-llm-7b", namespace: str = NAMESPACE) -> Json:
    """A Workload of a training job: a driver and two sets of workers."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace, **_written("workloads", name)},
        "spec": {
            "queueName": "research",
            "active": True,
            "priority": 100,
            "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}],
            "podSets": [_pod_set("driver", 1), _pod_set("workers", 64), _pod_set("evaluators", 8)],
        },
    }


def _pod_set(name: str, count: int) -> Json:
    requests = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}
    container = {
        "name": "main",
        "image": "registry.example/research/trainer:v2026.11",
        "command": ["python", "-m", "trainer"],
        "args": ["--model=7b", "--steps=100000", "--checkpoints=/checkpoints", f"--role={name}"],
        "env": [{"name": f"SETTING_{index}", "value": f"value of {index}"} for index in range(20)],
        "ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
        "resources": {"requests": requests, "limits": requests},
        "volumeMounts": [{"name": each, "mountPath": f"/{each}"} for each in ("checkpoints", "data", "shm")],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 9090}, "periodSeconds": 10},
    }
    labels = {f"example.com/label-{index}": f"value-{index}" for index in range(6)}
    spec = {
        "containers": [container, {**container, "name": "logs"}],
        "initContainers": [{**container, "name": "fetch"}],
        "restartPolicy": "Never",
        "nodeSelector": {"cloud.example/pool": "a100"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        ],
    }
    return {"name": name, "count": count, "template": {"metadata": {"labels": labels}, "spec": spec}}


def _written(resource: str, name: str) -> Json:
    """Labels and annotations from other programs."""
    return {
        "labels": {"app.kubernetes.io/managed-by": "jobs", "kueue.x-k8s.io/job-uid": f"{resource}-{name}"},
        "annotations": {f"example.com/note-{index}": "written by somebody " * 3 for index in range(4)},
    }


def _review(new: Json, old: Json | None) -> bytes:
    registration = next(each for each in REGISTRATIONS if each.kind == new["kind"])
    kind = {"group": registration.group, "version": registration.version, "kind": registration.kind}
    resource = {
        "group": registration.group,
        "version": registration.version,
        "resource": registration.plural,
    }
    options = {"kind": "CreateOptions" if old is None else "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}
    request = {
        "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": new["metadata"]["name"],
        "namespace": new["metadata"].get("namespace", ""),
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "system:serviceaccount:jobs:controller", "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": options,
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def _relabelled(body: Json) -> Json:
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "labels": {**metadata["labels"], "example.com/changed": "yes"}}}


REVIEWS: Final = {
    ("/validate/clusterqueue", "ClusterQueue, created"): _review(cluster_queue(), None),
    ("/validate/clusterqueue", "ClusterQueue, updated"): _review(
        _relabelled(cluster_queue()), cluster_queue()
    ),
    ("/validate/workload", "Workload, created"): _review(workload(), None),
    ("/validate/workload", "Workload, updated"): _review(_relabelled(workload()), workload()),
}
"""By (path, subject): the body of a review. All of them are allowed."""
