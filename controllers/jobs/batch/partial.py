"""A Job that starts with fewer pods than it asks for (partial admission). Pure functions.

The number of pods of its Workload says what the Job asked for, as long as the Job is lowered. So nothing has to be
remembered elsewhere. The rules are Kueue's (pkg/controller/jobs/job). See docs/decisions/0089.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from api.jobs import TemplatedJob
from api.partial_jobs import completions_follow
from api.podsets import PodSet
from api.workloads import Workload
from controllers.jobs.job_state import pods_at_once, pods_needed

__all__ = ["as_it_was", "lowered", "pods_with_quota", "raised"]


def lowered(job: TemplatedJob, pods: PodSet, count: int) -> dict[str, int]:
    """The fields of the Job's spec that let no more than `count` pods run; empty if that is so, or all pods are needed.

    `pods`: the pod set of its Workload.
    """
    if pods.min_count is None or count >= pods_needed(job):
        return {}
    return _fields(job, count)


def raised(job: TemplatedJob, workload: Workload) -> dict[str, int]:
    """The fields of the Job's spec that give it all its pods back; empty if it is not lowered.

    While the admission is there, a number that is not the admitted one is the user's. Quota may be given back just
    before the Job has its pods back. In between, a smaller number counts as ours.
    """
    pods = _pods(workload)
    if pods is None or pods.min_count is None or pods_at_once(job) >= pods.count:
        return {}
    admitted = pods_with_quota(workload).get(pods.name)
    if admitted is not None and job.spec.parallelism != admitted:
        return {}
    return _fields(job, pods.count)


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


def _fields(job: TemplatedJob, count: int) -> dict[str, int]:
    """The API server takes other completions of an Indexed Job, if they equal parallelism before and after."""
    spec = job.spec
    both = spec.completion_mode == "Indexed" and spec.completions == spec.parallelism
    follows = both and completions_follow(job.metadata.annotations)
    return {"parallelism": count, **({"completions": count} if follows else {})}


def _pods(workload: Workload) -> PodSet | None:
    return workload.spec.pod_sets[0] if len(workload.spec.pod_sets) == 1 else None
