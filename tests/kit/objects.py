"""Objects as an API server sends them, from the few words that matter to a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import POD_GROUP_LABEL, PodGroup
from nodes.state.tables import Tables

T = TypeVar("T")

__all__ = ["budget", "gang", "group", "make", "node", "pod", "priority_class", "tables"]


def make(kind: type[T], value: dict[str, Any]) -> T:
    """The typed object of a JSON value."""
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


def meta(name: str, namespace: str, uid: str | None, version: int | None, **more: object) -> dict[str, Any]:
    """metadata, versions left out where they are None."""
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}" if uid is None else uid,
        "resourceVersion": "" if version is None else str(version),
        **more,
    }


def node(
    name: str,
    *,
    cpu: str = "4",
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    unschedulable: bool = False,
    uid: str | None = None,
    version: int | None = None,
    **resources: str,
) -> Node:
    """A node; `resources` are further allocatable ones, `__` in their names is a slash."""
    allocatable = {name.replace("__", "/"): amount for name, amount in resources.items()}
    return make(
        Node,
        {
            "metadata": meta(name, "", uid, version, labels=labels),
            "spec": {"taints": taints, "unschedulable": unschedulable},
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110", **allocatable}},
        },
    )


def pod(
    name: str,
    *,
    namespace: str = "default",
    node: str = "",
    requests: dict[str, str] | None = None,
    group: str | None = None,
    labels: dict[str, str] | None = None,
    priority: int | None = None,
    phase: str = "",
    deleting: bool = False,
    gated: bool = False,
    mirror: bool = False,
    started: str | None = None,
    conditions: list[dict[str, str]] | None = None,
    uid: str | None = None,
    version: int | None = None,
    **spec: object,
) -> Pod:
    """A pod of one container; `spec` are further fields of its spec."""
    all_labels = {**(labels or {}), **({POD_GROUP_LABEL: group} if group is not None else {})}
    more = {
        "labels": all_labels or None,
        "annotations": {"kubernetes.io/config.mirror": "x"} if mirror else None,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T01:00:00Z" if deleting else None,
    }
    return make(
        Pod,
        {
            "metadata": meta(name, namespace, uid, version, **more),
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": requests or {"cpu": "1"}}}],
                "nodeName": node,
                "priority": priority,
                "schedulerName": "default-scheduler",
                "schedulingGates": [{"name": "gate"}] if gated else None,
                **spec,
            },
            "status": {"phase": phase, "startTime": started, "conditions": conditions},
        },
    )


def group(
    name: str,
    *,
    namespace: str = "default",
    minimum: int = 2,
    priority: int | None = None,
    uid: str | None = None,
    version: int | None = None,
    status: dict[str, object] | None = None,
) -> PodGroup:
    """A PodGroup with a gang policy."""
    return make(
        PodGroup,
        {
            "metadata": meta(name, namespace, uid, version),
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priority": priority},
            "status": status,
        },
    )


def budget(
    name: str,
    *,
    namespace: str = "default",
    selector: Mapping[str, object] | None = None,
    allowed: int = 0,
    disrupted: list[str] | None = None,
    uid: str | None = None,
    version: int | None = None,
) -> PodDisruptionBudget:
    """A PodDisruptionBudget."""
    gone = dict.fromkeys(disrupted or [], "2026-01-01T00:00:00Z")
    return make(
        PodDisruptionBudget,
        {
            "metadata": meta(name, namespace, uid, version),
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed, "disruptedPods": gone},
        },
    )


def priority_class(
    name: str, value: int, *, uid: str | None = None, version: int | None = None
) -> PriorityClass:
    """A PriorityClass."""
    return make(PriorityClass, {"metadata": meta(name, "", uid, version), "value": value})


def gang(name: str = "gang", minimum: int = 2, mode: str = "single", **spec: Any) -> PodGroup:
    """A PodGroup of priority 100 in `default`; a basic one if the minimum is 0. None leaves a field of the spec out."""
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    fields = {"schedulingPolicy": policy, "disruptionMode": {mode: {}}, "priority": 100, **spec}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return make(PodGroup, {"metadata": meta, "spec": {k: v for k, v in fields.items() if v is not None}})


def tables(*objects: Any) -> Tables:
    """Tables with these objects."""
    found = Tables()
    for each in objects:
        match type(each).__name__:
            case "Node":
                found.upsert_node(each)
            case "Pod":
                found.upsert_pod(each)
            case "PodGroup":
                found.upsert_group(each)
            case "PodDisruptionBudget":
                found.upsert_budget(each)
            case _:
                found.upsert_priority_class(each)
    return found
