"""Typed objects of the node plane as an API server sends them, from the few words that matter to a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import INITIALLY_SCHEDULED, PodGroup
from hack.controlplane import objects
from nodes.state.costs import CostRules
from nodes.state.tables import Tables

T = TypeVar("T")

GANG: Final = "gang"
GANG_PRIORITY: Final = 100
BIG: Final = {"cpu": "4"}
"""All that a `node()` has, if nothing else is said of it."""

__all__ = [
    "BIG",
    "GANG",
    "budget",
    "gang",
    "group",
    "make",
    "member",
    "node",
    "pod",
    "priority_class",
    "tables",
]


def make(kind: type[T], value: dict[str, Any]) -> T:
    """The typed object of a JSON value."""
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


def _typed(
    kind: type[T], body: dict[str, Any], uid: str | None, version: int | None, **metadata: object
) -> T:
    """A body as an API server stores it. By default the UID is `uid-NAMESPACE-NAME`, and there is no version."""
    meta = body["metadata"]
    meta.setdefault("namespace", "")
    meta["uid"] = f"uid-{meta['namespace']}-{meta['name']}" if uid is None else uid
    meta["resourceVersion"] = "" if version is None else str(version)
    meta.update(metadata)
    return make(kind, body)


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
    """A node without a label of its own; `resources` are further allocatable ones, `__` in their names is a slash."""
    body = objects.node(name, taints=taints or (), unschedulable=unschedulable)
    extended = {name.replace("__", "/"): amount for name, amount in resources.items()}
    body["status"] = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110", **extended}}
    return _typed(Node, body, uid, version, labels=labels)


def pod(
    name: str,
    *,
    namespace: str = "default",
    node: str = "",
    nominated: str = "",
    requests: dict[str, str] | None = None,
    group: str | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    priority: int | None = None,
    phase: str = "",
    deleting: bool | str = False,
    gated: bool = False,
    mirror: bool = False,
    started: str | None = None,
    created: str = "2026-01-01T00:00:00Z",
    controller: str | None = None,
    owner: tuple[str, str, str] | None = None,
    conditions: list[dict[str, str]] | None = None,
    ready: bool | None = None,
    uid: str | None = None,
    version: int | None = None,
    **spec: object,
) -> Pod:
    """A pod of one container, which asks for one CPU if not for `requests`; `spec` are further fields of its spec.

    `ready`: the status of its condition Ready, if it has one. A member of `gang()` has its priority, if it is not given
    another one. `deleting`: since some time, or the deletion timestamp. `controller`: the name of its ReplicaSet;
    `owner`: apiVersion, kind and name of another controller. The UID of both is `uid-NAME`.
    """
    if group == GANG and priority is None:
        priority = GANG_PRIORITY
    body = objects.pod(
        name,
        namespace,
        cpu=None if requests else "1",
        requests=requests,
        group=group,
        labels=labels,
        annotations=(annotations or {}) | ({"kubernetes.io/config.mirror": "x"} if mirror else {}) or None,
        node_name=node,
    )
    body["spec"] |= {
        "priority": priority,
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "gate"}] if gated else None,
        **spec,
    }
    if ready is not None:
        conditions = [*(conditions or ()), {"type": "Ready", "status": str(ready)}]
    body["status"] = {
        "phase": phase,
        "startTime": started,
        "conditions": conditions,
        "nominatedNodeName": nominated,
    }
    if controller is not None:
        owner = ("apps/v1", "ReplicaSet", controller)
    if owner is not None:
        reference = dict(zip(("apiVersion", "kind", "name"), owner, strict=True))
        body["metadata"]["ownerReferences"] = [{**reference, "uid": f"uid-{owner[2]}", "controller": True}]
    times = {
        "creationTimestamp": created,
        "deletionTimestamp": "2026-01-01T01:00:00Z" if deleting is True else deleting or None,
    }
    return _typed(Pod, body, uid, version, **times)


def member(which: int | str = 0, **fields: Any) -> Pod:
    """A member of `gang()` that needs a whole `node()`: m0, m1 and so on by number, or by its name. See `pod`."""
    name = f"m{which}" if isinstance(which, int) else which
    return pod(name, **{"group": GANG, "requests": BIG, **fields})


def group(
    name: str,
    *,
    namespace: str = "default",
    minimum: int = 2,
    priority: int | None = None,
    uid: str | None = None,
    version: int | None = None,
    status: dict[str, object] | None = None,
    created: str | None = None,
) -> PodGroup:
    """A PodGroup with a gang policy."""
    body = objects.pod_group(name, namespace, min_count=minimum, priority=priority) | {"status": status}
    return _typed(PodGroup, body, uid, version, creationTimestamp=created)


def budget(
    name: str,
    *,
    namespace: str = "default",
    selector: Mapping[str, object] | None = None,
    allowed: int = 0,
    disrupted: list[str] | None = None,
    policy: str | None = None,
    healthy: int = 0,
    desired: int = 0,
    uid: str | None = None,
    version: int | None = None,
) -> PodDisruptionBudget:
    """A PodDisruptionBudget with any selector, and what its controller has counted.

    `policy`: its unhealthyPodEvictionPolicy. `healthy` and `desired`: its currentHealthy and desiredHealthy.
    """
    body = objects.pod_disruption_budget(name, namespace, {}, min_available=0)
    body["spec"] = {"selector": selector, "unhealthyPodEvictionPolicy": policy}
    gone = dict.fromkeys(disrupted or [], "2026-01-01T00:00:00Z")
    body["status"] = {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptedPods": gone,
    }
    return _typed(PodDisruptionBudget, body, uid, version)


def priority_class(
    name: str,
    value: int,
    *,
    default: bool = False,
    policy: str = "PreemptLowerPriority",
    uid: str | None = None,
    version: int | None = None,
) -> PriorityClass:
    """A PriorityClass."""
    return _typed(
        PriorityClass,
        objects.priority_class(name, value, default=default, policy=policy),
        uid,
        version,
    )


def gang(
    name: str = GANG,
    minimum: int = 2,
    mode: str = "single",
    generation: int = 1,
    has_run: bool = False,
    **spec: Any,
) -> PodGroup:
    """A PodGroup of priority GANG_PRIORITY in `default`; a basic one if the minimum is 0.

    None leaves a field of the spec out. `has_run`: its status says that it has run whole.
    """
    fields = {"priority": GANG_PRIORITY, **spec}
    body = objects.pod_group(
        name,
        min_count=minimum or None,
        mode=mode,
        **{key: value for key, value in fields.items() if value is not None},
    )
    if has_run:
        condition = {"type": INITIALLY_SCHEDULED, "status": "True", "reason": "Scheduled"}
        body["status"] = {"conditions": [condition]}
    return _typed(PodGroup, body, f"uid-{name}", None, generation=generation)


def tables(*given: Any, costs: CostRules | None = None) -> Tables:
    """Tables with these objects."""
    found = Tables(costs)
    for each in given:
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
