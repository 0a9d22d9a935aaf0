"""The Workload of a PodGroup: what it asks for, and its pod sets from the pods themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from api.core import Pod
from api.groups import PodGroup
from api.integration import (
    ADMISSION_GATE,
    MAX_EXEC_TIME_LABEL,
    POD_SET_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME_LABEL,
)
from api.kueue import API_VERSION
from api.workloads import PriorityClassRef
from controllers.jobs.group_life import Admit
from controllers.jobs.group_members import ADMITTED_BY, pod_set_name
from controllers.jobs.workload_of import Classes, JobError, Wish
from runtime.finalizers import RESOURCE_IN_USE

__all__ = [
    "KIND",
    "admission_patch",
    "group_wish",
    "group_workload_body",
    "group_workload_name",
    "pod_sets_of",
]

KIND: Final = "PodGroup"
GROUP: Final = "reprieve.dev"
MAX_NAME: Final = 253
DIGEST: Final = 5
OF_THE_POD: Final = ("nodeName", "schedulingGates", "hostname", "ephemeralContainers")
"""Fields of a pod's spec that are its own, and not those of all pods like it."""


def group_workload_name(group: PodGroup) -> str:
    """The name of the group's Workload. A group of the same name that is made later gets another one."""
    meta = group.metadata
    text = "\n".join((KIND, GROUP, meta.name, meta.uid))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:DIGEST]
    return f"{f'podgroup-{meta.name}'[: MAX_NAME - DIGEST - 1].rstrip('.-')}-{digest}"


def group_wish(group: PodGroup, classes: Classes) -> Wish:
    """What the group asks for. The queue is empty if it names none. Raises JobError."""
    labels = group.metadata.labels or {}
    ref, priority = _priority(group, labels, classes)
    return Wish(labels.get(QUEUE_NAME_LABEL, ""), priority, ref, _seconds(labels))


def group_workload_body(group: PodGroup, wish: Wish, pod_sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The Workload to create, as JSON has it."""
    meta = group.metadata
    owner = {
        "apiVersion": group.api_version,
        "kind": KIND,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    spec: dict[str, Any] = {
        "queueName": wish.queue_name,
        "priority": wish.priority,
        "podSets": list(pod_sets),
    }
    if wish.priority_class_ref is not None:
        spec["priorityClassRef"] = msgspec.to_builtins(wish.priority_class_ref)
    if wish.maximum_execution_time_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = wish.maximum_execution_time_seconds
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": group_workload_name(group),
            "namespace": meta.namespace,
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def pod_sets_of(pods: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The pod sets of these pods (JSON), sorted by name. The template of a pod set is that of its first pod."""
    found: dict[str, dict[str, Any]] = {}
    for pod in pods:
        name = pod_set_name(msgspec.convert(pod, Pod, strict=False))
        if name in found:
            found[name]["count"] += 1
        else:
            found[name] = {"name": name, "count": 1, "template": _template(pod)}
    return [found[name] for name in sorted(found)]


def admission_patch(
    admit: Admit, workload_uid: str, tolerations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A strategic merge patch that lets the pod pass: all that the admission adds, and this gate goes. Gates of others
    stay.

    `tolerations`: those that the pod has. They are replaced as a whole.
    """
    member, info = admit
    more = [each for each in map(msgspec.to_builtins, info.tolerations) if each not in tolerations]
    spec: dict[str, Any] = {}
    if member.is_gated:
        spec["schedulingGates"] = [{"name": ADMISSION_GATE, "$patch": "delete"}]
    if info.node_selector:
        spec["nodeSelector"] = dict(info.node_selector)
    if more:
        spec["tolerations"] = [*tolerations, *more]
    return {
        "metadata": {
            "uid": member.uid,
            "resourceVersion": member.version,
            "labels": {**info.labels, POD_SET_LABEL: info.name},
            "annotations": {**info.annotations, ADMITTED_BY: workload_uid},
        },
        "spec": spec,
    }


def _template(pod: Mapping[str, Any]) -> dict[str, Any]:
    meta = pod.get("metadata") or {}
    kept = {name: dict(meta[name]) for name in ("labels", "annotations") if meta.get(name)}
    for names, ours in (("labels", POD_SET_LABEL), ("annotations", ADMITTED_BY)):
        kept.get(names, {}).pop(ours, None)
    spec = {name: each for name, each in (pod.get("spec") or {}).items() if name not in OF_THE_POD}
    return {"metadata": {name: each for name, each in kept.items() if each}, "spec": spec}


def _priority(
    group: PodGroup, labels: Mapping[str, str], classes: Classes
) -> tuple[PriorityClassRef | None, int]:
    """The class of the label, else the group's own class, else its priority."""
    name = labels.get(PRIORITY_CLASS_LABEL)
    if name:
        own = classes.workload_priority_classes.get(name)
        if own is None:
            raise JobError(
                f"metadata.labels[{PRIORITY_CLASS_LABEL}]: WorkloadPriorityClass {name} does not exist"
            )
        return PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", name), own.value
    name, priority = group.spec.priority_class_name, group.spec.priority or 0
    if not name:
        return None, priority
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", name), priority


def _seconds(labels: Mapping[str, str]) -> int | None:
    text = labels.get(MAX_EXEC_TIME_LABEL)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and 0 < int(text) < 2**31):
        raise JobError(f"metadata.labels[{MAX_EXEC_TIME_LABEL}]: {text[:40]!r} is not a whole number above 0")
    return int(text)
