"""What the objects of owners say of the groups that their pods are: how many pods belong together, and what is asked.

The number is that of the pods which the owner's controller creates without waiting for one of them to run. A gang never
waits for a pod that nobody creates before the gang runs, nor for one whose template puts it into another group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod, PodSpec
from api.foreign_owners import (
    JAXJob,
    JobSet,
    LeaderWorkerSet,
    MPIJob,
    MPIJobV2,
    MXJob,
    OwnerObject,
    OwningJob,
    PaddleJob,
    PyTorchJob,
    RayCluster,
    ReplicatedJob,
    Template,
    TemplateSpec,
    TFJob,
    TrainingJob,
    WorkerGroup,
    XGBoostJob,
)
from api.jobs import pods_at_once
from api.meta import ObjectMeta, OwnerReference
from api.owner_annotations import BY_OWNER_ANNOTATION, GANG_ANNOTATION, ByOwner, parse_by_owner, parse_gang
from nodes.groups.registry import first_said

__all__ = ["OWNERS", "OwnerFacts", "OwnerKind", "by_owner_of", "facts_of"]

OURS: Final = "reprieve.dev/"
"""What annotations of ours begin with."""
EXCLUSIVE_JOB: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""On a JobSet or a replicated job: each Job has a domain for itself."""
BY_NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
"""Beside it: labels of nodes say which domain, so no pod waits for another one."""
EXCLUSIVE_REPLICA: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""On a LeaderWorkerSet: each replica has a domain for itself."""


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A kind of owner whose objects are read."""

    kind: str
    api_version: str
    plural: str
    type: type[OwnerObject]
    pods: Callable[[Any], int]
    """From the object to the number of pods that start together; 0 or less if it has none."""

    @property
    def source(self) -> str:
        """The kind and its API group, as the names of groups begin."""
        return f"{self.kind}.{self.api_version.partition('/')[0]}"


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """What an owner says."""

    reference: OwnerReference
    metadata: ObjectMeta
    """Its names, its creation and annotations of ours."""
    minimum: int
    """How many of its pods start together."""
    said: bool | None
    """Its annotation reprieve.dev/gang; None if it does not say it in a way that can be read."""
    by_owner: ByOwner | None
    """Its annotation reprieve.dev/groups-by-owner; None likewise."""


def facts_of(item: OwnerObject) -> OwnerFacts | None:
    """The facts of an object; None for a Job that says nothing: there are many of them."""
    meta, kind = item.metadata, OWNERS[type(item)]
    if isinstance(item, OwningJob) and not _is_annotated(item):
        return None
    ours = {name: said for name, said in (meta.annotations or {}).items() if name.startswith(OURS)}
    kept = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        creation_timestamp=meta.creation_timestamp,
        annotations=ours or None,
    )
    reference = OwnerReference(kind.api_version, kind.kind, meta.name, meta.uid)
    return OwnerFacts(reference, kept, kind.pods(item), gang_said(ours), by_owner_of(ours))


def gang_said(annotations: Mapping[str, str]) -> bool | None:
    """What these annotations say of the pods; None if they do not say it, or not in a way that can be read."""
    try:
        return parse_gang(annotations[GANG_ANNOTATION])
    except (KeyError, ValueError):
        return None


def by_owner_of(annotations: Mapping[str, str] | None) -> ByOwner | None:
    """The setting in these annotations; None if they have none, or none that can be read."""
    if not annotations or BY_OWNER_ANNOTATION not in annotations:
        return None
    try:
        return parse_by_owner(annotations[BY_OWNER_ANNOTATION])
    except ValueError:
        return None


# ---- pods that start together


def _of_job_set(job_set: JobSet) -> int:
    """All Jobs that do not wait for others. In order, they are those of the first replicated job."""
    jobs, policy = job_set.spec.replicated_jobs or [], job_set.spec.startup_policy
    if policy is not None and policy.startup_policy_order == "InOrder":
        jobs = jobs[:1]
    said = job_set.metadata.annotations
    return sum(
        _count(each.replicas) * _of_replicated_job(each, said)
        for each in jobs
        if not each.depends_on and _joins(each.template.spec.template)
    )


def _of_replicated_job(job: ReplicatedJob, of_the_set: Mapping[str, str] | None) -> int:
    """The pods of each of its Jobs. In an exclusive domain, all but one are created when that one has a node."""
    its, spec = job.template.metadata, job.template.spec
    said = {**(of_the_set or {}), **((its.annotations if its is not None else None) or {})}
    pods = pods_at_once(spec.parallelism, spec.completions)
    return min(1, pods) if EXCLUSIVE_JOB in said and BY_NODE_SELECTOR not in said else pods


def _of_replica(leader_worker_set: LeaderWorkerSet) -> int:
    """The leader alone, if its workers are created when it is ready, or when it has a node."""
    spec, said = leader_worker_set.spec, leader_worker_set.metadata.annotations or {}
    its = spec.leader_worker_template
    leader = int(_joins(its.leader_template or its.worker_template))
    workers = _count(its.size) - 1 if _joins(its.worker_template) else 0
    leader_first = spec.startup_policy == "LeaderReady" or EXCLUSIVE_REPLICA in said
    return leader if leader_first else leader + workers


def _of_training_job(job: TrainingJob) -> int:
    """What its scheduling policy says, else all its replicas. Nobody creates more than these.

    The launcher of the mpi-operator is a Job, so its pod belongs to that Job.
    """
    spec = job.spec
    replicas = next(filter(None, (
        spec.pytorch_replica_specs, spec.tf_replica_specs, spec.mpi_replica_specs, spec.xgb_replica_specs,
        spec.paddle_replica_specs, spec.jax_replica_specs, spec.mx_replica_specs,
    )), {})  # fmt: skip
    apart = isinstance(job, MPIJobV2) or spec.launcher_creation_policy == "WaitForWorkersReady"
    late = {"Launcher"} if apart else set()
    pods = sum(
        _count(each.replicas) for name, each in replicas.items() if name not in late and _joins(each.template)
    )
    policy = spec.run_policy.scheduling_policy if spec.run_policy is not None else None
    least = policy.min_available if policy is not None else None
    return pods if least is None else min(least, pods)


def _of_ray_cluster(cluster: RayCluster) -> int:
    """The head and the workers. With the autoscaler, the workers that it starts with at least."""
    spec, scales = cluster.spec, bool(cluster.spec.enable_in_tree_autoscaling)
    workers = sum(
        _workers(each, scales=scales) * _count(each.num_of_hosts)
        for each in spec.worker_group_specs or ()
        if _joins(each.template)
    )
    head = spec.head_group_spec
    return int(head is None or _joins(head.template)) + workers


def _workers(group: WorkerGroup, *, scales: bool) -> int:
    """The replicas that its operator creates, within their bounds. The upper bound counts more than the lower one."""
    if group.suspend:
        return 0
    least = group.min_replicas or 0
    wanted = least if scales else max(least, group.replicas or 0)
    return wanted if group.max_replicas is None else min(wanted, group.max_replicas)


def _of_job(job: OwningJob) -> int:
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


def _joins(template: Template | None) -> bool:
    """Whether pods made so belong to their owner's group: they name none themselves, and do not stay alone."""
    if template is None:
        return True
    meta, spec = template.metadata or ObjectMeta(), template.spec or TemplateSpec()
    if (meta.annotations or {}).get(GANG_ANNOTATION) == "false":
        return False
    its = ObjectMeta(labels=meta.labels, annotations=meta.annotations)
    return first_said(Pod(metadata=its, spec=PodSpec(scheduling_group=spec.scheduling_group))) is None


def _is_annotated(job: OwningJob) -> bool:
    template = job.spec.template.metadata if job.spec.template is not None else None
    said = (job.metadata.annotations, template.annotations if template is not None else None)
    return any(each is not None and GANG_ANNOTATION in each for each in said)


def _count(said: int | None) -> int:
    return 1 if said is None else said


def _training(struct: type[TrainingJob], kind: str = "", version: str = "v1") -> OwnerKind:
    name = kind or struct.__name__
    return OwnerKind(name, f"kubeflow.org/{version}", f"{name.lower()}s", struct, _of_training_job)


OWNERS: Final[Mapping[type[OwnerObject], OwnerKind]] = {
    each.type: each
    for each in (
        OwnerKind("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets", JobSet, _of_job_set),
        OwnerKind(
            "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets", LeaderWorkerSet, _of_replica
        ),
        *map(_training, (JAXJob, MPIJob, MXJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob)),
        _training(MPIJobV2, "MPIJob", "v2beta1"),
        OwnerKind("RayCluster", "ray.io/v1", "rayclusters", RayCluster, _of_ray_cluster),
        OwnerKind("Job", "batch/v1", "jobs", OwningJob, _of_job),
    )
}
"""The kinds whose objects are read, by their type."""
