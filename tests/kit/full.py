"""One object of each of Kueue's kinds, with every field set, and to something else than its default."""

from __future__ import annotations

import json
from typing import Any, Final

from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, WorkloadPriorityClass
from api.meta import Struct
from api.workloads import Workload

KINDS: Final[dict[str, type[Struct]]] = {
    kind.__name__: kind
    for kind in (
        ClusterQueue,
        Cohort,
        LocalQueue,
        ResourceFlavor,
        WorkloadPriorityClass,
        AdmissionCheck,
        MultiKueueConfig,
        MultiKueueCluster,
        Workload,
    )
}

TIME = "2026-01-01T00:00:00Z"
CONDITIONS = [
    {
        "type": "Active",
        "status": "True",
        "reason": "Ready",
        "message": "m",
        "lastTransitionTime": TIME,
        "observedGeneration": 1,
    }
]
TOLERATION = {
    "key": "k",
    "operator": "Equal",
    "value": "v",
    "effect": "NoExecute",
    "tolerationSeconds": 30,
}
GROUPS = [
    {
        "coveredResources": ["cpu"],
        "flavors": [
            {
                "name": "spot",
                "resources": [
                    {"name": "cpu", "nominalQuota": "10", "borrowingLimit": 2, "lendingLimit": 0.5},
                ],
            }
        ],
    }
]
USAGE = [{"name": "spot", "resources": [{"name": "cpu", "total": "4", "borrowed": "1"}]}]
LOCAL_USAGE = [{"name": "spot", "resources": [{"name": "cpu", "total": "4"}]}]
COUNTS = {"pendingWorkloads": 1, "reservingWorkloads": 2, "admittedWorkloads": 3}


def _cluster_queue() -> dict[str, Any]:
    return {
        "spec": {
            "resourceGroups": GROUPS,
            "cohortName": "research",
            "queueingStrategy": "StrictFIFO",
            "namespaceSelector": {
                "matchLabels": {"team": "a"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
            },
            "flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "MayStopSearch",
                "preference": "PreemptionOverBorrowing",
            },
            "preemption": {
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
                "withinClusterQueue": "LowerOrNewerEqualPriority",
                "withinClusterQueueConfig": {"minAdmitDuration": "4h"},
            },
            "admissionChecksStrategy": {"admissionChecks": [{"name": "check", "onFlavors": ["spot"]}]},
            "stopPolicy": "HoldAndDrain",
            "fairSharing": {"weight": "2"},
            "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
            "concurrentAdmissionPolicy": {
                "migration": {
                    "mode": "TryPreferredFlavors",
                    "constraints": {"lastAcceptableFlavorName": "spot"},
                }
            },
        },
        "status": {
            "conditions": CONDITIONS,
            "flavorsReservation": USAGE,
            "flavorsUsage": USAGE,
            "fairSharing": {"weightedShare": 250},
            **COUNTS,
        },
    }


def _local_queue() -> dict[str, Any]:
    used = {"consumedResources": {"cpu": "7"}, "lastUpdate": TIME}
    return {
        "spec": {"clusterQueue": "team-a", "stopPolicy": "Hold", "fairSharing": {"weight": 0.5}},
        "status": {
            "conditions": CONDITIONS,
            "flavorsReservation": LOCAL_USAGE,
            "flavorsUsage": LOCAL_USAGE,
            "fairSharing": {"weightedShare": 250, "admissionFairSharingStatus": used},
            **COUNTS,
        },
    }


def _pod_set() -> dict[str, Any]:
    return {
        "name": "workers",
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        },
        "count": 8,
        "minCount": 4,
        "topologyRequest": {
            "required": "rack",
            "preferred": "block",
            "unconstrained": True,
            "podIndexLabel": "batch.kubernetes.io/job-completion-index",
            "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
            "subGroupCount": 2,
            "podSetGroupName": "group",
            "podSetSliceRequiredTopology": "rack",
            "podSetSliceSize": 4,
            "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 4}],
        },
    }


def _admission() -> dict[str, Any]:
    domains = {
        "domainCount": 2,
        "valuesPerLevel": [
            {"universal": "block-1", "individual": {"roots": ["1", "2"], "prefix": "rack-", "suffix": "-x"}}
        ],
        "podCounts": {"universal": 4, "individual": [3, 5]},
    }
    return {
        "clusterQueue": "team-a",
        "podSetAssignments": [
            {
                "name": "workers",
                "flavors": {"cpu": "spot"},
                "resourceUsage": {"cpu": "8"},
                "count": 8,
                "topologyAssignment": {"levels": ["rack"], "slices": [domains]},
                "delayedTopologyRequest": "Ready",
            }
        ],
    }


def _check_state() -> dict[str, Any]:
    return {
        "name": "check",
        "state": "Retry",
        "lastTransitionTime": TIME,
        "message": "later",
        "requeueAfterSeconds": 60,
        "retryCount": 2,
        "podSetUpdates": [
            {
                "name": "workers",
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
                "nodeSelector": {"e": "f"},
                "tolerations": [TOLERATION],
            }
        ],
    }


def _workload() -> dict[str, Any]:
    return {
        "spec": {
            "podSets": [_pod_set()],
            "queueName": "queue",
            "priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "WorkloadPriorityClass",
                "name": "high",
            },
            "priority": 100,
            "active": False,
            "maximumExecutionTimeSeconds": 3600,
            "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}],
        },
        "status": {
            "conditions": CONDITIONS,
            "admission": _admission(),
            "requeueState": {"count": 1, "requeueAt": TIME},
            "reclaimablePods": [{"name": "workers", "count": 1}],
            "admissionChecks": [_check_state()],
            "resourceRequests": [{"name": "workers", "resources": {"cpu": "8"}}],
            "accumulatedPastExecutionTimeSeconds": 10,
            "schedulingStats": {
                "evictions": [{"reason": "Preempted", "underlyingCause": "InClusterQueue", "count": 1}]
            },
            "nominatedClusterNames": ["one"],
            "clusterName": "two",
            "unhealthyNodes": [{"name": "node"}],
            "preemptionGates": [
                {"name": "kueue.x-k8s.io/multikueue", "position": "Closed", "lastTransitionTime": TIME}
            ],
        },
    }


def _flavor() -> dict[str, Any]:
    return {
        "spec": {
            "nodeLabels": {"pool": "spot"},
            "nodeTaints": [{"key": "spot", "value": "v", "effect": "NoSchedule", "timeAdded": TIME}],
            "tolerations": [TOLERATION],
            "topologyName": "racks",
        }
    }


def full(kind: str) -> dict[str, Any]:
    """An object of that kind, that shares nothing with another or within itself."""
    bodies: dict[str, Any] = {
        "ClusterQueue": _cluster_queue(),
        "Cohort": {
            "spec": {"parentName": "all", "resourceGroups": GROUPS, "fairSharing": {"weight": "0"}},
            "status": {"fairSharing": {"weightedShare": 250}},
        },
        "LocalQueue": _local_queue(),
        "ResourceFlavor": _flavor(),
        "WorkloadPriorityClass": {"value": 1000, "description": "d"},
        "AdmissionCheck": {
            "spec": {
                "controllerName": "kueue.x-k8s.io/multikueue",
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "config"},
            },
            "status": {"conditions": CONDITIONS},
        },
        "MultiKueueConfig": {"spec": {"clusters": ["one", "two"], "quotaManagement": "Automated"}},
        "MultiKueueCluster": {
            "spec": {
                "clusterSource": {
                    "kubeConfig": {"location": "secret", "locationType": "Path"},
                    "clusterProfileRef": {"name": "profile"},
                }
            },
            "status": {"conditions": CONDITIONS},
        },
        "Workload": _workload(),
    }
    document = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "thing", "labels": {"a": "b"}},
        **bodies[kind],
    }
    fresh: dict[str, Any] = json.loads(json.dumps(document))
    return fresh
