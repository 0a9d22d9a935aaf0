"""The Workload that a Job asks for, and whether a Workload is that one. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from api.core import PodSpec
from api.integration import QUEUE_NAME_LABEL
from api.jobs import OF_THE_JOB, TemplatedJob
from api.meta import ObjectMeta
from api.multikueue import is_copy, prebuilt_workload
from api.partial_jobs import min_parallelism
from api.podsets import DEFAULT_POD_SET, PodSet, PodTemplate
from api.priority import SYSTEM_CLASSES, global_default
from api.workloads import JOB_UID_LABEL, QUOTA_RESERVED, PriorityClassRef, Workload
from controllers.jobs.batch.partial import pods_with_quota
from controllers.jobs.job_state import has_additions, pods_at_once, pods_needed
from controllers.jobs.owned_workload import (
    Classes,
    JobError,
    Wish,
    class_of_label,
    owned_body,
    owned_name,
    owner_reference,
    seconds_of_label,
)
from quota.state.workloads import is_true

__all__ = [
    "is_for",
    "labels_of",
    "matches",
    "owner_of",
    "pod_sets",
    "queue_of",
    "topology_of",
    "wish_of",
    "workload_body",
    "workload_name",
]

KIND: Final = "Job"
GROUP: Final = "batch"
TOPOLOGIES: Final = {
    "kueue.x-k8s.io/podset-required-topology": "required",
    "kueue.x-k8s.io/podset-preferred-topology": "preferred",
    "kueue.x-k8s.io/podset-slice-required-topology": "podSetSliceRequiredTopology",
}
"""Annotations of a template, by the field of the pod set's topologyRequest."""
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"


def workload_name(job: TemplatedJob) -> str:
    """The name of the Job's Workload. A Job of the same name that is made later gets another one."""
    return prebuilt_workload(job.metadata) or owned_name(KIND, GROUP, job.metadata)


def queue_of(job: TemplatedJob) -> str:
    """The LocalQueue that the Job names; empty if it names none."""
    return (job.metadata.labels or {}).get(QUEUE_NAME_LABEL, "")


def is_for(workload: Workload, job: TemplatedJob) -> bool:
    """Whether the Workload belongs to the Job."""
    return any(each.uid == job.metadata.uid for each in workload.metadata.owner_references or ())


def wish_of(job: TemplatedJob, classes: Classes) -> Wish:
    """What the Job asks for. Raises JobError."""
    ref, priority = _priority(job, classes)
    return Wish(queue_of(job), priority, ref, seconds_of_label(job.metadata.labels))


def matches(job: TemplatedJob, workload: Workload) -> bool:
    """Whether the Workload's pod sets are the pods of the Job.

    While the Job waits, they are the same. A Job that has quota may need fewer pods than that: the others are
    reclaimable, or have no quota (partial admission). More pods than have quota are others. A template can change only
    while the Job waits. A copy is compared as Kueue does it: whoever changes the labels of pods in this cluster does no
    harm.
    """
    if len(workload.spec.pod_sets) != 1:
        return False
    (pods,) = workload.spec.pod_sets
    if is_true(workload, QUOTA_RESERVED) or has_additions(job):
        gone = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
        most = pods.count - gone.get(pods.name, 0)
        if has_additions(job):  # until it is started, it asks for all its pods
            most = min(most, pods_with_quota(workload).get(pods.name, most))
        if pods_needed(job) > most:
            return False
    if has_additions(job):
        return _unchanged(pods) == _unchanged(_typed(_pod_set(job)))
    asked = _typed(_pod_set(job))
    if is_copy(workload.metadata):
        return _size(pods) == _size(asked)
    return _normal(pods) == _normal(asked)


def workload_body(job: TemplatedJob, wish: Wish) -> dict[str, Any]:
    """The Workload to create, as JSON has it."""
    name, namespace = workload_name(job), job.metadata.namespace
    return owned_body(name, namespace, owner_of(job), wish, pod_sets(job), labels_of(job))


def owner_of(job: TemplatedJob) -> dict[str, Any]:
    """The Job, as its Workload names it."""
    return owner_reference("batch/v1", KIND, job.metadata, blocks=True)


def labels_of(job: TemplatedJob) -> dict[str, str]:
    """The labels of its Workload."""
    return {JOB_UID_LABEL: job.metadata.uid}


def pod_sets(job: TemplatedJob) -> list[dict[str, Any]]:
    """The pod sets as JSON has them. The template must have nothing that an admission added."""
    return [_pod_set(job)]


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
    if topology := topology_of(annotations):
        result["topologyRequest"] = topology
    least = min_parallelism(job.metadata.annotations)
    if least is not None and result["count"]:
        # The webhook checks the annotation when it is written. The Job may ask for fewer pods since then.
        result["minCount"] = min(least, result["count"])
    return result


def topology_of(annotations: Mapping[str, str] | None) -> dict[str, Any]:
    """The topologyRequest of a pod set, from the annotations of its template; empty if it has none."""
    said = annotations or {}
    topology: dict[str, Any] = {field: said[key] for key, field in TOPOLOGIES.items() if key in said}
    if said.get(UNCONSTRAINED) == "true":
        topology["unconstrained"] = True
    return topology


def _typed(pod_set: Mapping[str, Any]) -> PodSet:
    """As the Workload is read: fields that nobody knows are left out."""
    return msgspec.convert(pod_set, PodSet, strict=False)


def _normal(pods: PodSet) -> PodSet:
    """Metadata that is empty and metadata that is missing are the same. Kueue leaves a label of the Job controller in
    its Workloads."""
    meta = pods.template.metadata or ObjectMeta()
    labels = {key: value for key, value in (meta.labels or {}).items() if key not in OF_THE_JOB}
    plain = ObjectMeta(labels=labels or None, annotations=meta.annotations or None)
    return msgspec.structs.replace(pods, template=PodTemplate(plain, pods.template.spec))


def _size(pods: PodSet) -> tuple[int, int | None, PodSpec]:
    """How many pods, and what they ask for."""
    return pods.count, pods.min_count, pods.template.spec


def _unchanged(pods: PodSet) -> PodSpec:
    """What no admission changes. Resources of a suspended Job may change even with the rest of an admission there."""
    return msgspec.structs.replace(pods.template.spec, node_selector=None, tolerations=None)


def _priority(job: TemplatedJob, classes: Classes) -> tuple[PriorityClassRef | None, int]:
    """The class of the label, else that of the pods, else the global default, else 0."""
    if (of_label := class_of_label(job.metadata.labels, classes)) is not None:
        return of_label
    name = _typed(_pod_set(job)).template.spec.priority_class_name
    known = classes.priority_classes
    found = (known.get(name) or SYSTEM_CLASSES.get(name)) if name else global_default(known.values())
    if name and found is None:
        raise JobError(f"spec.template.spec.priorityClassName: PriorityClass {name} does not exist")
    if found is None:
        return None, 0
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", found.metadata.name), found.value
