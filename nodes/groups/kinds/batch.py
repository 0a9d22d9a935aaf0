"""Jobs, and what makes Jobs.

Sources: the controllers of `batch/v1` in Kubernetes (pkg/controller/job, pkg/controller/cronjob), and
pkg/controllers/jobset_controller.go, depends_on.go and startup_policy.go of kubernetes-sigs/jobset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from api.foreign_owners import JobSet, JobTemplate, OwningJob, ReplicatedJob
from api.jobs import pods_at_once
from api.meta import ObjectMeta, OwnerReference
from api.pod_owners import CronJob, TrainJob
from nodes.groups.kinds.alone import Alone, OnMarkedNodes, key_of
from nodes.groups.kinds.kind import (
    MOST,
    Awaited,
    Grouping,
    Held,
    Kind,
    Part,
    Queueing,
    count_or,
    reference,
    suspended,
)

__all__ = ["CRON_JOB", "JOB", "JOB_SET", "TRAIN_JOB", "job_labels"]

EXCLUSIVE_JOB: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""On a JobSet or a replicated job: each Job has a domain for itself."""
JOB_KEY: Final = "jobset.sigs.k8s.io/job-key"
BY_NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
"""Beside it: labels of nodes say which domain, so no pod waits for another one."""
OF_NODES: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"
"""The label of such nodes. Its value is the namespace, an underscore and the name of the Job."""
TAINT: Final = "alpha.jobset.sigs.k8s.io/no-schedule"


def job_labels(name: str) -> dict[str, str]:
    """What the Job controller adds to the pods of the Job of this name."""
    return {"job-name": name, "batch.kubernetes.io/job-name": name}


# ---- Job


def _job(job: OwningJob, _: int) -> Iterator[Part]:
    meta = job.metadata
    owner = reference("batch/v1", "Job", meta.name, meta)
    yield Part(
        "main", _missing(job), "spec.template", job.spec.template, owner, meta.name, job_labels(meta.name)
    )


def _missing(job: OwningJob) -> int:
    """Near its end a Job has fewer pods than before: nobody creates pods for what has succeeded, or failed for good."""
    spec, status = job.spec, job.status
    if spec.completions is None:
        return pods_at_once(spec.parallelism, None)
    over = (status.succeeded or 0) + _indexes(status.failed_indexes or "")
    return pods_at_once(spec.parallelism, max(0, spec.completions - over))


def _indexes(text: str) -> int:
    """How many indexes a text such as 1,3-5 names. What is no number names none."""
    ends = (part.partition("-") for part in text.split(","))
    spans = ((first, last or first) for first, _, last in ends)
    return sum(int(last) - int(first) + 1 for first, last in spans if first.isdecimal() and last.isdecimal())


JOB: Final = Kind(
    kind="Job",
    api_version="batch/v1",
    type=OwningJob,
    parts=_job,
    queueing=Queueing.WHOLE,
    held=suspended,
    grouping=Grouping.ASKED,
    plural="jobs",
)


# ---- CronJob


def _cron_job(item: CronJob, _: int) -> Iterator[Part]:
    """The pods of one Job."""
    meta, spec = item.metadata, item.spec.job_template.spec
    name = f"{meta.name}-0"
    count = pods_at_once(spec.parallelism, spec.completions)
    owner = reference("batch/v1", "Job", name, meta, name)
    yield Part(
        "main", count, "spec.jobTemplate.spec.template", spec.template, owner, meta.name, job_labels(name)
    )


def _cron_job_held(item: CronJob) -> Held | None:
    """Kueue resumes Jobs, and no CronJobs."""
    if item.spec.suspend:
        return Held("it is suspended, so it makes no Jobs", resumed=False)
    return Held("its Jobs are suspended") if item.spec.job_template.spec.suspend else None


def _labels_of_jobs(item: CronJob) -> Mapping[str, str] | None:
    """A Job without labels of its own gets those of its pods: see `schema.defaults.rows`."""
    meta, template = item.spec.job_template.metadata, item.spec.job_template.spec.template
    own = meta.labels if meta is not None else None
    return own or (
        template.metadata.labels if template is not None and template.metadata is not None else None
    )


CRON_JOB: Final = Kind(
    kind="CronJob",
    api_version="batch/v1",
    type=CronJob,
    parts=_cron_job,
    queueing=Queueing.WHOLE,
    held=_cron_job_held,
    labels=_labels_of_jobs,
    remark="Its pods come at its next time, and this is an answer about now.",
)


# ---- JobSet


def _job_set(job_set: JobSet, _: int) -> Iterator[Part]:
    meta, spec = job_set.metadata, job_set.spec
    jobs = spec.replicated_jobs or []
    stages: dict[str, int] = {}
    in_order = spec.startup_policy is not None and spec.startup_policy.startup_policy_order == "InOrder"
    for at, each in enumerate(jobs):
        before = jobs[at - 1].name if in_order and at else ""
        path = f"spec.replicatedJobs[{at}].template.spec.template"
        after, topology = _awaited(each, before, stages), _said(meta, each.template).get(EXCLUSIVE_JOB, "")
        stages[each.name] = after.stage if after is not None else 0
        if topology:
            for index in range(min(count_or(each.replicas, 1), MOST)):
                yield _one_alone(meta, each, path, after, index, topology)
        else:
            yield _replicated(meta, each, path, after)


def _replicated(meta: ObjectMeta, job: ReplicatedJob, path: str, after: Awaited | None) -> Part:
    """The pods of equal Jobs."""
    spec, name = job.template.spec, f"{meta.name}-{job.name}-0"
    count = count_or(job.replicas, 1) * pods_at_once(spec.parallelism, spec.completions)
    labels, owner, prefix = (
        _job_set_labels(meta, job, 0),
        _job_of(meta, name, job.name),
        f"{meta.name}-{job.name}",
    )
    return Part(job.name, count, path, spec.template, owner, prefix, labels, after=after)


def _one_alone(
    meta: ObjectMeta, job: ReplicatedJob, path: str, after: Awaited | None, index: int, topology: str
) -> Part:
    """The pods of one Job that has a domain for itself. All but one are created when that one has a node."""
    spec, name = job.template.spec, f"{meta.name}-{job.name}-{index}"
    count = pods_at_once(spec.parallelism, spec.completions)
    labels, is_marked = _job_set_labels(meta, job, index), BY_NODE_SELECTOR in _said(meta, job.template)
    return Part(
        job.name,
        count,
        path,
        spec.template,
        _job_of(meta, name, f"{job.name}-{index}"),
        name,
        labels,
        together=count if is_marked else min(1, count),
        after=after,
        alone=[
            OnMarkedNodes(OF_NODES, f"{meta.namespace}_{name}", TAINT)
            if is_marked
            else Alone(topology, JOB_KEY, labels[JOB_KEY], everywhere=True)
        ],
    )


def _job_set_labels(meta: ObjectMeta, job: ReplicatedJob, index: int) -> dict[str, str]:
    name = f"{meta.name}-{job.name}-{index}"
    return {
        "jobset.sigs.k8s.io/jobset-name": meta.name,
        "jobset.sigs.k8s.io/replicatedjob-name": job.name,
        "jobset.sigs.k8s.io/job-index": str(index),
        JOB_KEY: key_of(meta.namespace, name),
        **job_labels(name),
    }


def _job_of(meta: ObjectMeta, name: str, inside: str) -> OwnerReference:
    return reference("batch/v1", "Job", name, meta, inside)


def _said(meta: ObjectMeta, template: JobTemplate) -> Mapping[str, str]:
    """The annotations of the Jobs."""
    its = template.metadata
    return {**(meta.annotations or {}), **((its.annotations if its is not None else None) or {})}


def _awaited(job: ReplicatedJob, before: str, stages: Mapping[str, int]) -> Awaited | None:
    """`before`: the replicated job that comes before it in order. `stages`: of those that it may depend on, by name."""
    depends = job.depends_on or []
    if depends:
        words = (f"replicated job {each.name} is {each.status.lower()}" for each in depends)
        stage = max(stages.get(each.name, 0) + (each.status == "Complete") for each in depends)
        return Awaited(" and ".join(words), stage)
    return Awaited(f"replicated job {before} is ready") if before else None


JOB_SET: Final = Kind(
    kind="JobSet",
    api_version="jobset.x-k8s.io/v1alpha2",
    type=JobSet,
    parts=_job_set,
    queueing=Queueing.WHOLE,
    held=suspended,
    grouping=Grouping.YES,
    plural="jobsets",
)


# ---- TrainJob


def _train_job(_job: TrainJob, _: int) -> Iterator[Part]:
    """None of its own: see `Kind.by_runtime`."""
    return iter(())


TRAIN_JOB: Final = Kind(
    kind="TrainJob",
    api_version="trainer.kubeflow.org/v1alpha1",
    type=TrainJob,
    parts=_train_job,
    queueing=Queueing.WHOLE,
    held=suspended,
    by_runtime=True,
)
