"""The writes that start a Job, stop it, and give it its template back. Pure functions: each gives a merge patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from api.integration import POD_SET_LABEL, STARTED_WITH_ANNOTATION, WORKLOAD_ANNOTATION
from api.jobs import OF_THE_JOB, TemplatedJob
from api.multikueue import WORKER_POD_LABEL, is_copy
from api.workloads import Workload
from controllers.jobs.batch.partial import lowered, raised, started_with
from controllers.jobs.job_state import TemplateParts, template_parts
from quota.cycle.pod_set_infos import PodSetInfo, merged

__all__ = ["restore", "resume", "start", "stop", "strip"]

Patch = dict[str, Any]

ADMISSION: Final = "the admission"


def start(job: TemplatedJob, workload: Workload, info: PodSetInfo) -> Patch:
    """Adds what the admission brings, and lets as many pods run as have quota, in one write. Raises PodSetConflict."""
    parts = template_parts(job.spec.template)
    labels = {**info.labels, POD_SET_LABEL: info.name}
    if is_copy(workload.metadata):
        labels[WORKER_POD_LABEL] = "true"
    annotations = {**info.annotations, WORKLOAD_ANNOTATION: workload.metadata.name}
    merged(parts.labels, labels, "label", ADMISSION)
    merged(parts.annotations, annotations, "annotation", ADMISSION)
    merged(parts.spec.node_selector or {}, info.node_selector, "nodeSelector", ADMISSION)
    spec: Patch = {}
    if info.node_selector:
        spec["nodeSelector"] = dict(info.node_selector)
    known = [msgspec.to_builtins(each) for each in parts.spec.tolerations or ()]
    new = [each for each in map(msgspec.to_builtins, info.tolerations) if each not in known]
    if new:
        spec["tolerations"] = known + new
    pods = next(each for each in workload.spec.pod_sets if each.name == info.name)
    fewer = lowered(job, pods, info.count)
    if pods.min_count is not None:
        annotations[STARTED_WITH_ANNOTATION] = started_with(job, fewer)
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
    return _patch(job, {"suspend": False, "template": template, **fewer})


def resume(job: TemplatedJob) -> Patch:
    """Lets a Job run in the cluster that was chosen for it. Nothing is added: what this cluster's flavors say of nodes
    is not true there."""
    return _patch(job, {"suspend": False})


def stop(job: TemplatedJob) -> Patch:
    """Suspends the Job: the Job controller deletes its pods."""
    return _patch(job, {"suspend": True})


def restore(job: TemplatedJob, workload: Workload, original: TemplateParts) -> Patch:
    """Gives a suspended Job the template and the number of pods that it had before an admission.

    `original`: the template of the Workload.
    """
    now = template_parts(job.spec.template)
    template = {
        "metadata": {
            "labels": _back(now.labels, {**_of_the_job(now), **original.labels}),
            "annotations": _back(now.annotations, original.annotations),
        },
        "spec": {
            "nodeSelector": _back(now.spec.node_selector or {}, original.spec.node_selector or {}),
            "tolerations": msgspec.to_builtins(original.spec.tolerations),
        },
    }
    return _patch(job, {"template": template, **raised(job, workload)})


def strip(job: TemplatedJob) -> Patch:
    """Takes the names of the Workload and the pod set off the template, if it is not known any longer what it was.

    The Job gets all its pods back.
    """
    ours = {WORKLOAD_ANNOTATION: None, STARTED_WITH_ANNOTATION: None}
    names = {"labels": {POD_SET_LABEL: None, WORKER_POD_LABEL: None}, "annotations": ours}
    return _patch(job, {"template": {"metadata": names}, **raised(job, None)})


def _patch(job: TemplatedJob, spec: Patch) -> Patch:
    """For this Job, in the state that is known."""
    meta = job.metadata
    return {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "spec": spec}


def _back(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str | None]:
    """The changes from one to the other. Null removes a key."""
    return {**{key: None for key in now if key not in before}, **before}


def _of_the_job(parts: TemplateParts) -> dict[str, str]:
    """Labels that the API server added when the Job was created. The Workload does not have them."""
    return {key: value for key, value in parts.labels.items() if key in OF_THE_JOB}
