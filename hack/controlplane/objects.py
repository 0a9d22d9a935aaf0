"""Short functions that make Kubernetes objects, for tests, the demo and the bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hack.controlplane.client import Json

__all__ = ["node", "pod", "pod_disruption_budget", "pod_group", "priority_class"]

GROUP_LABEL = "reprieve.dev/pod-group"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    unschedulable: bool = False,
    **extended: str,
) -> Json:
    """A simulated node. `extended` has further resources by name."""
    capacity = {"cpu": cpu, "memory": memory, "pods": str(pods), **extended}
    spec: Json = {"taints": list(taints)} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def pod(
    name: str,
    namespace: str = "default",
    *,
    cpu: str | None = "1",
    priority_class: str | None = None,
    group: str | None = None,
    node_name: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: Sequence[str] = (),
    requests: Mapping[str, str] | None = None,
    grace_seconds: int = 0,
    **spec: object,
) -> Json:
    """A pod with one container that does nothing. `spec` is added to its spec; it has Kubernetes' field names.

    The pod requests `cpu`, unless that is None, and `requests`. `group` is the name of its PodGroup.
    """
    meta: Json = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    if group is not None:
        meta["labels"][GROUP_LABEL] = group
    if annotations:
        meta["annotations"] = dict(annotations)
    if finalizers:
        meta["finalizers"] = list(finalizers)
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {**({} if cpu is None else {"cpu": cpu}), **(requests or {})}},
    }
    content: Json = {"containers": [container], "terminationGracePeriodSeconds": grace_seconds, **spec}
    if priority_class is not None:
        content["priorityClassName"] = priority_class
    if node_name is not None:
        content["nodeName"] = node_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": content}


def pod_group(
    name: str,
    namespace: str = "default",
    *,
    min_count: int | None = None,
    mode: str | None = None,
    topology: str | None = None,
    priority_class: str | None = None,
    api_version: str = "reprieve.dev/v1alpha1",
    **spec: object,
) -> Json:
    """A gang of `min_count` pods, or a basic group if that is None. The disruption mode is `single` or `all`."""
    content: Json = {
        "schedulingPolicy": {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}},
        **spec,
    }
    if mode is not None:
        content["disruptionMode"] = {mode: {}}
    if topology is not None:
        content["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if priority_class is not None:
        content["priorityClassName"] = priority_class
    return {
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": content,
    }


def priority_class(
    name: str, value: int, *, default: bool = False, policy: str = "PreemptLowerPriority"
) -> Json:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": default,
        "preemptionPolicy": policy,
    }


def pod_disruption_budget(
    name: str, namespace: str, labels: Mapping[str, str], *, min_available: int | str
) -> Json:
    """A budget for the pods with these labels."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": dict(labels)}, "minAvailable": min_available},
    }
