"""Objects that are right, requests about them, and the verdicts in short."""

from __future__ import annotations

import copy
from typing import Any, Final

from hack.controlplane import objects
from schema.verdict import Verdict
from tests.kit.objects import priority_class
from webhooks.facts import KnownFacts
from webhooks.rules import Object, Request, validate

TIME = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"
NOW = "2026-06-07T08:09:10Z"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
"""The annotation of a job that grows and shrinks while it runs."""

KUEUE: Final = "kueue.x-k8s.io/v1beta2"

Pairs = list[tuple[str, str]]


def kueue(kind: str, name: str, namespace: str = "", **parts: Any) -> Object:
    """An object of Kueue's; `parts` are its spec, its status and so on."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, **parts}


def cluster_queue(*, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """A ClusterQueue of a cohort, with the defaults of the schema."""
    made = kueue(
        "ClusterQueue",
        "team-a",
        spec={
            "cohortName": "all",
            "queueingStrategy": "BestEffortFIFO",
            "namespaceSelector": {},
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": preemption(),
            "resourceGroups": [group(("cpu", "memory"), "spot", "on-demand"), group(("gpu",), "a100")],
            **spec,
        },
    )
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def preemption(**fields: Any) -> Object:
    """`spec.preemption` with the defaults of the schema."""
    never = {
        "reclaimWithinCohort": "Never",
        "withinClusterQueue": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    }
    return never | fields


def group(resources: tuple[str, ...], *flavors: str, **quota: Any) -> Object:
    """A resource group with the same quota everywhere."""
    quotas = [{"name": resource, "nominalQuota": "10", **quota} for resource in resources]
    return {
        "coveredResources": list(resources),
        "flavors": [{"name": flavor, "resources": copy.deepcopy(quotas)} for flavor in flavors],
    }


def workload(
    *, annotations: dict[str, str] | None = None, status: Object | None = None, **spec: Any
) -> Object:
    """A Workload of a driver and four workers."""
    pod_sets = [pod_set("driver", 1), pod_set("workers", 4)]
    made = kueue("Workload", "job", "default", spec={"active": True, "podSets": pod_sets, **spec})
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made | ({"status": status} if status is not None else {})


def pod_set(name: str, count: float, requests: Object | None = None, **fields: Any) -> Object:
    """A pod set of one container."""
    container = {"name": "c", "resources": {"requests": requests or {"cpu": "1", "memory": "1Gi"}}}
    return {"name": name, "count": count, "template": {"spec": {"containers": [container]}}, **fields}


def condition(kind: str, status: str = "True", **fields: Any) -> Object:
    """A condition."""
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": TIME,
        "reason": "R",
        "message": "",
        **fields,
    }


def reserved(**status: Any) -> Object:
    """The status of the Workload once it holds quota."""
    assignments = [
        {"name": "driver", "count": 1, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "1"}},
        {"name": "workers", "count": 4, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "4"}},
    ]
    return {
        "conditions": [condition("QuotaReserved")],
        "admission": {"clusterQueue": "team-a", "podSetAssignments": assignments},
        **status,
    }


def gate_state(name: str, position: str, time: str = TIME) -> Object:
    """An entry of `status.preemptionGates`."""
    return {"name": name, "position": position, "lastTransitionTime": time}


def pod_group(namespace: str = "default", **spec: Any) -> Object:
    """A PodGroup that is a gang of three."""
    return objects.pod_group("gang", namespace, min_count=3, **spec)


CLASSES = KnownFacts(
    [
        priority_class("high", 1000, policy="Never"),
        priority_class("low", -5),
        priority_class("top", 10**9),
    ]
)


def created(new: Object, **fields: Any) -> Verdict:
    """The verdict on creating it."""
    return validate(Request(kind=new["kind"], operation="CREATE", new=new, **fields))


def updated(old: Object, new: Object, **fields: Any) -> Verdict:
    """The verdict on this update."""
    return validate(Request(kind=new["kind"], operation="UPDATE", new=new, old=old, **fields))


def pairs(verdict: Verdict) -> Pairs:
    """Field and type of every cause, sorted; without what stands before the type of each."""
    return sorted((cause.field, cause.type.removeprefix("FieldValue")) for cause in verdict.causes)
