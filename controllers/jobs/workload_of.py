"""The Workload that a Job asks for, and whether a Workload is that one. Pure functions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from api.core import PodSpec, PriorityClass
from api.integration import (
    MAX_EXEC_TIME_LABEL,
    MIN_PARALLELISM_ANNOTATION,
    PREBUILT_WORKLOAD_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME_LABEL,
)
from api.jobs import TemplatedJob
from api.kueue import API_VERSION, WorkloadPriorityClass
from api.meta import ObjectMeta
from api.podsets import DEFAULT_POD_SET, PodSet, PodTemplate
from api.priority import SYSTEM_CLASSES, global_default
from api.workloads import JOB_UID_LABEL, QUOTA_RESERVED, PriorityClassRef, Workload
from controllers.jobs.job_state import OF_THE_JOB, has_additions, pods_at_once, pods_needed
from runtime.finalizers import RESOURCE_IN_USE

__all__ = [
    "Classes",
    "JobError",
    "Wish",
    "is_for",
    "matches",
    "pod_sets",
    "queue_of",
    "wish_of",
    "workload_body",
    "workload_name",
]

JOB_KIND: Final = "Job"
JOB_GROUP: Final = "batch"
MAX_NAME: Final = 253
DIGEST: Final = 5
TOPOLOGIES: Final = {
    "kueue.x-k8s.io/podset-required-topology": "required",
    "kueue.x-k8s.io/podset-preferred-topology": "preferred",
}
"""Annotations of a template, by the field of the pod set's topologyRequest."""
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"


class JobError(ValueError):
    """The Job cannot become a Workload. The message names the field."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Where priorities come from, by name."""

    workload_priority_classes: Mapping[str, WorkloadPriorityClass]
    priority_classes: Mapping[str, PriorityClass]


@dataclass(frozen=True, slots=True)
class Wish:
    """The spec of the Workload that a Job asks for, without its pod sets."""

    queue_name: str
    priority: int
    priority_class_ref: PriorityClassRef | None
    maximum_execution_time_seconds: int | None

    def changes(self, workload: Workload) -> dict[str, Any]:
        """What is different in the Workload, as a merge patch of its spec."""
        spec = workload.spec
        wanted = msgspec.to_builtins(self.priority_class_ref) if self.priority_class_ref is not None else None
        pairs = {
            "queueName": (self.queue_name or None, spec.queue_name or None),
            "priority": (self.priority, spec.priority or 0),
            "priorityClassRef": (wanted, msgspec.to_builtins(spec.priority_class_ref)),
            "maximumExecutionTimeSeconds": (
                self.maximum_execution_time_seconds,
                spec.maximum_execution_time_seconds,
            ),
        }
        return {name: wish for name, (wish, is_) in pairs.items() if wish != is_}


def workload_name(job: TemplatedJob) -> str:
    """The name of the Job's Workload. A Job of the same name that is made later gets another one."""
    prebuilt = (job.metadata.labels or {}).get(PREBUILT_WORKLOAD_LABEL)
    if prebuilt:
        return prebuilt
    name = job.metadata.name
    text = "\n".join((JOB_KIND, JOB_GROUP, name, job.metadata.uid))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:DIGEST]
    return f"{f'job-{name}'[: MAX_NAME - DIGEST - 1].rstrip('.-')}-{digest}"


def queue_of(job: TemplatedJob) -> str:
    """The LocalQueue that the Job names; empty if it names none."""
    return (job.metadata.labels or {}).get(QUEUE_NAME_LABEL, "")


def is_for(workload: Workload, job: TemplatedJob) -> bool:
    """Whether the Workload belongs to the Job."""
    return any(each.uid == job.metadata.uid for each in workload.metadata.owner_references or ())


def has_quota(workload: Workload) -> bool:
    """Whether quota is reserved."""
    return any(
        each.type == QUOTA_RESERVED and each.status == "True" for each in workload.status.conditions or ()
    )


def wish_of(job: TemplatedJob, classes: Classes) -> Wish:
    """What the Job asks for. Raises JobError."""
    ref, priority = _priority(job, classes)
    return Wish(queue_of(job), priority, ref, _seconds(job))


def matches(job: TemplatedJob, workload: Workload) -> bool:
    """Whether the Workload's pod sets are the pods of the Job.

    While the Job waits, they are the same. A Job that has quota may need fewer pods than that: the others are
    reclaimable. More pods than have quota are others. A template can change only while the Job waits.
    """
    if len(workload.spec.pod_sets) != 1:
        return False
    (pods,) = workload.spec.pod_sets
    if has_quota(workload) or has_additions(job):
        gone = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
        if pods_needed(job) > pods.count - gone.get(pods.name, 0):
            return False
    if has_additions(job):
        return _unchanged(pods) == _unchanged(_typed(_pod_set(job)))
    return _normal(pods) == _normal(_typed(_pod_set(job)))


def workload_body(job: TemplatedJob, wish: Wish) -> dict[str, Any]:
    """The Workload to create, as JSON has it."""
    meta = job.metadata
    owner = {
        "apiVersion": "batch/v1",
        "kind": JOB_KIND,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": workload_name(job),
            "namespace": meta.namespace,
            "labels": {JOB_UID_LABEL: meta.uid},
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": [owner],
        },
        "spec": {"podSets": [_pod_set(job)], **_spec(wish)},
    }


def pod_sets(job: TemplatedJob) -> list[dict[str, Any]]:
    """The pod sets as JSON has them. The template must have nothing that an admission added."""
    return [_pod_set(job)]


def _spec(wish: Wish) -> dict[str, Any]:
    spec: dict[str, Any] = {"priority": wish.priority}
    if wish.queue_name:
        spec["queueName"] = wish.queue_name
    if wish.priority_class_ref is not None:
        spec["priorityClassRef"] = msgspec.to_builtins(wish.priority_class_ref)
    if wish.maximum_execution_time_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = wish.maximum_execution_time_seconds
    return spec


def _pod_set(job: TemplatedJob) -> dict[str, Any]:
    template = msgspec.json.decode(job.spec.template)
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key not in OF_THE_JOB}
    annotations = meta.get("annotations") or {}
    kept = {name: each for name, each in (("labels", labels), ("annotations", annotations)) if each}
    result: dict[str, Any] = {
        "name": DEFAULT_POD_SET,
        "count": pods_at_once(job),
        "template": {"metadata": kept, "spec": template.get("spec") or {}},
    }
    topology: dict[str, Any] = {
        field: annotations[key] for key, field in TOPOLOGIES.items() if key in annotations
    }
    if annotations.get(UNCONSTRAINED) == "true":
        topology["unconstrained"] = True
    if topology:
        result["topologyRequest"] = topology
    if least := _least(job):
        result["minCount"] = least
    return result


def _typed(pod_set: Mapping[str, Any]) -> PodSet:
    """As the Workload is read: fields that nobody knows are left out."""
    return msgspec.convert(pod_set, PodSet, strict=False)


def _normal(pods: PodSet) -> PodSet:
    """Metadata that is empty and metadata that is missing are the same."""
    meta = pods.template.metadata or ObjectMeta()
    plain = ObjectMeta(labels=meta.labels or None, annotations=meta.annotations or None)
    return msgspec.structs.replace(pods, template=PodTemplate(plain, pods.template.spec))


def _unchanged(pods: PodSet) -> PodSpec:
    """What no admission changes. Resources of a suspended Job may change even with the rest of an admission there."""
    return msgspec.structs.replace(pods.template.spec, node_selector=None, tolerations=None)


def _priority(job: TemplatedJob, classes: Classes) -> tuple[PriorityClassRef | None, int]:
    """The class of the label, else that of the pods, else the global default, else 0."""
    name = (job.metadata.labels or {}).get(PRIORITY_CLASS_LABEL)
    if name:
        own = classes.workload_priority_classes.get(name)
        if own is None:
            raise JobError(
                f"metadata.labels[{PRIORITY_CLASS_LABEL}]: WorkloadPriorityClass {name} does not exist"
            )
        return PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", name), own.value
    name = _typed(_pod_set(job)).template.spec.priority_class_name
    known = classes.priority_classes
    found = (known.get(name) or SYSTEM_CLASSES.get(name)) if name else global_default(known.values())
    if name and found is None:
        raise JobError(f"spec.template.spec.priorityClassName: PriorityClass {name} does not exist")
    if found is None:
        return None, 0
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", found.metadata.name), found.value


def _seconds(job: TemplatedJob) -> int | None:
    return _positive(job.metadata.labels, f"metadata.labels[{MAX_EXEC_TIME_LABEL}]", MAX_EXEC_TIME_LABEL)


def _least(job: TemplatedJob) -> int | None:
    """The minCount that the Job asks for. The webhook refuses a text that is no such number."""
    try:
        return _positive(job.metadata.annotations, "", MIN_PARALLELISM_ANNOTATION)
    except JobError:
        return None


def _positive(texts: Mapping[str, str] | None, field: str, key: str) -> int | None:
    text = (texts or {}).get(key)
    if text is None:
        return None
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise JobError(f"{field}: {text[:40]!r} is not a whole number above 0")
    return int(text)
