"""The Workload of a PodGroup: what it asks for, and its pod sets from the pods themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from api.core import Pod
from api.groups import PodGroup
from api.integration import (
    ADMISSION_GATE,
    POD_SET_LABEL,
    QUEUE_NAME_LABEL,
)
from api.workloads import PriorityClassRef
from controllers.jobs.owned_workload import (
    Classes,
    Wish,
    class_of_label,
    owned_body,
    owned_name,
    owner_reference,
    seconds_of_label,
)
from controllers.jobs.pod_groups.life import Admit
from controllers.jobs.pod_groups.members import ADMITTED_BY, pod_set_name
from runtime.work.pod_gates import removed_gate

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
OF_THE_POD: Final = ("nodeName", "schedulingGates", "hostname", "ephemeralContainers")
"""Fields of a pod's spec that are its own, and not those of all pods like it."""


def group_workload_name(group: PodGroup) -> str:
    """The name of the group's Workload. A group of the same name that is made later gets another one."""
    return owned_name(KIND, GROUP, group.metadata)


def group_wish(group: PodGroup, classes: Classes) -> Wish:
    """What the group asks for. The queue is empty if it names none. Raises JobError."""
    labels = group.metadata.labels or {}
    ref, priority = _priority(group, labels, classes)
    return Wish(labels.get(QUEUE_NAME_LABEL, ""), priority, ref, seconds_of_label(labels))


def group_workload_body(group: PodGroup, wish: Wish, pod_sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The Workload to create, as JSON has it."""
    meta = group.metadata
    owner = owner_reference(group.api_version, KIND, meta, blocks=False)
    return owned_body(group_workload_name(group), meta.namespace, owner, wish, pod_sets)


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
    """A strategic merge patch that lets the pod pass: it adds all of the admission, and removes this gate. Gates of
    others stay.

    `tolerations`: those that the pod has. They are replaced as a whole.
    """
    member, info = admit
    more = [each for each in map(msgspec.to_builtins, info.tolerations) if each not in tolerations]
    spec: dict[str, Any] = {}
    if member.is_gated:
        spec["schedulingGates"] = [removed_gate(ADMISSION_GATE)]
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
    if (of_label := class_of_label(labels, classes)) is not None:
        return of_label
    name, priority = group.spec.priority_class_name, group.spec.priority or 0
    if not name:
        return None, priority
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", name), priority
