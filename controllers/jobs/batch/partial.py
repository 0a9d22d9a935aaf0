"""A Job that starts with fewer pods than it asks for (partial admission). Pure functions.

The write that starts it keeps what it asked for in an annotation of its template. So it gets its pods back whatever
has become of its Workload meanwhile. The rules are Kueue's (pkg/controller/jobs/job). See docs/decisions/0089.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from api.integration import STARTED_WITH_ANNOTATION
from api.jobs import TemplatedJob
from api.partial_jobs import completions_follow
from api.podsets import PodSet
from api.workloads import Workload
from controllers.jobs.job_state import pods_at_once, pods_needed, template_parts

__all__ = ["as_it_was", "lowered", "pods_with_quota", "raised", "started_with"]

STARTED: Final = re.compile(r"([0-9]{1,10}) of ([0-9]{1,10})")


def lowered(job: TemplatedJob, pods: PodSet, count: int) -> dict[str, int]:
    """The fields of the Job's spec that let no more than `count` pods run; empty if that is so, or all pods are needed.

    `pods`: the pod set of its Workload.
    """
    if pods.min_count is None or count >= pods_needed(job):
        return {}
    both = _are_equal(job) and completions_follow(job.metadata.annotations)
    return _fields(count, both=both)


def started_with(job: TemplatedJob, fields: Mapping[str, int]) -> str:
    """What the template keeps of a Job that starts with these `fields` of `lowered`."""
    asked = pods_at_once(job) if job.spec.parallelism is None else job.spec.parallelism
    return f"{fields.get('parallelism', asked)} of {asked}"


def raised(job: TemplatedJob, workload: Workload | None) -> dict[str, int]:
    """The fields of the Job's spec that give it all its pods back; empty if it is not lowered.

    A number that is not the one that it was started with is the user's.
    """
    kept = STARTED.fullmatch(template_parts(job.spec.template).annotations.get(STARTED_WITH_ANNOTATION, ""))
    if kept is None:
        return _raised_by(workload, job) if workload is not None else {}
    given, asked = map(int, kept.groups())
    if job.spec.parallelism != given or asked <= given:
        return {}
    return _fields(asked, both=_are_equal(job))  # before, completions were more than have quota


def _raised_by(workload: Workload, job: TemplatedJob) -> dict[str, int]:
    """The same for a Job that Kueue has started: its Workload says what it asked for."""
    pods = _pods(workload)
    if pods is None or pods.min_count is None or pods_at_once(job) >= pods.count:
        return {}
    admitted = pods_with_quota(workload).get(pods.name)
    if admitted is not None and job.spec.parallelism != admitted:
        return {}
    return _fields(pods.count, both=_are_equal(job) and completions_follow(job.metadata.annotations))


def as_it_was(job: TemplatedJob, workload: Workload) -> TemplatedJob:
    """The Job with all its pods, as it asked for them."""
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, **raised(job, workload)))


def pods_with_quota(workload: Workload) -> Mapping[str, int]:
    """How many pods of each pod set the admission is for. Without an admission, nothing."""
    admission = workload.status.admission
    return {
        each.name: each.count
        for each in (admission.pod_set_assignments if admission is not None else None) or ()
        if each.count is not None
    }


def _fields(count: int, *, both: bool) -> dict[str, int]:
    return {"parallelism": count, **({"completions": count} if both else {})}


def _are_equal(job: TemplatedJob) -> bool:
    """Whether the API server takes other completions: those of an Indexed Job that equal parallelism."""
    spec = job.spec
    return spec.completion_mode == "Indexed" and spec.completions == spec.parallelism


def _pods(workload: Workload) -> PodSet | None:
    return workload.spec.pod_sets[0] if len(workload.spec.pod_sets) == 1 else None
