"""Owners of groups of pods, as far as reprieve reads them. Nothing is written to them.

Sources: `jobset.x-k8s.io/v1alpha2` of kubernetes-sigs/jobset, `leaderworkerset.x-k8s.io/v1` of kubernetes-sigs/lws,
`kubeflow.org/v1` of Kubeflow's training-operator, `kubeflow.org/v2beta1` of its mpi-operator, `ray.io/v1` of KubeRay,
`batch/v1` and `apps/v1` of Kubernetes.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from api.core import PodSchedulingGroup
from api.jobs import Job, JobSpec
from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "JAXJob",
    "JobSet",
    "JobTemplate",
    "LeaderWorkerSet",
    "MPIJob",
    "MPIJobV2",
    "MXJob",
    "OwnerObject",
    "OwningJob",
    "OwningStatefulSet",
    "PaddleJob",
    "PyTorchJob",
    "RayCluster",
    "RayClusterSpec",
    "ReplicaSet",
    "ReplicatedJob",
    "ScaleSpec",
    "Scalable",
    "ScaledDeployment",
    "ScaledReplicaSet",
    "ScaledReplicationController",
    "SetSpec",
    "StatefulSet",
    "TFJob",
    "Template",
    "TemplateSpec",
    "TrainingJob",
    "WorkerGroup",
    "XGBoostJob",
]


class TemplateSpec(Struct):
    """The part of core/v1 PodSpec that names a group."""

    scheduling_group: PodSchedulingGroup | None = None


class Template(Struct):
    """core/v1 PodTemplateSpec, as far as it says to which group its pods belong."""

    metadata: ObjectMeta | None = None
    spec: TemplateSpec | None = None


class OwningJobSpec(JobSpec):
    """A JobSpec, and what its template says of its pods."""

    template: Template | None = None


class JobTemplate(Struct):
    """batch/v1 JobTemplateSpec."""

    metadata: ObjectMeta | None = None
    spec: OwningJobSpec = field(default_factory=OwningJobSpec)


class DependsOn(Struct):
    """One entry of a replicated job's dependsOn."""

    name: str = ""
    status: str = "Ready"
    """Ready or Complete."""


class ReplicatedJob(Struct):
    """Equal Jobs of a JobSet. Without a number there is one."""

    name: str = ""
    replicas: int | None = None
    template: JobTemplate = field(default_factory=JobTemplate)
    depends_on: list[DependsOn] | None = None
    """Its Jobs are created when these replicated jobs have come so far."""


class StartupPolicy(Struct):
    """In which order the Jobs of a JobSet are created."""

    startup_policy_order: str = "AnyOrder"
    """AnyOrder or InOrder."""


class JobSetSpec(Struct):
    """The spec of a JobSet."""

    suspend: bool | None = None
    replicated_jobs: list[ReplicatedJob] | None = None
    startup_policy: StartupPolicy | None = None


class JobSet(Struct, kw_only=True):
    """JobSet of jobset.x-k8s.io."""

    metadata: ObjectMeta
    spec: JobSetSpec = field(default_factory=JobSetSpec)


class SubGroupPolicy(Struct):
    """How the pods of one replica are divided."""

    type: str = ""
    """LeaderExcluded, or else the leader is in the first subgroup."""
    sub_group_size: int | None = None


class LeaderWorkerTemplate(Struct):
    """What one replica of a LeaderWorkerSet is made of."""

    size: int | None = None
    """Its pods, the leader included. Without a number there is one."""
    leader_template: Template | None = None
    """None: the leader is made as the workers are."""
    worker_template: Template | None = None
    sub_group_policy: SubGroupPolicy | None = None


class LeaderWorkerSetSpec(Struct):
    """The spec of a LeaderWorkerSet. Without a number there is one replica."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate = field(default_factory=LeaderWorkerTemplate)
    startup_policy: str = "LeaderCreated"
    """LeaderCreated or LeaderReady: when the workers of a replica are created."""


class LeaderWorkerSet(Struct, kw_only=True):
    """LeaderWorkerSet of leaderworkerset.x-k8s.io."""

    metadata: ObjectMeta
    spec: LeaderWorkerSetSpec = field(default_factory=LeaderWorkerSetSpec)


class ReplicaSpec(Struct):
    """Equal pods of a training job. Without a number there is one."""

    replicas: int | None = None
    template: Template | None = None


class SchedulingPolicy(Struct):
    """How a training job asks to be scheduled."""

    min_available: int | None = None
    priority_class: str = ""


class RunPolicy(Struct):
    """The part of a training job's runPolicy that is read."""

    suspend: bool | None = None
    scheduling_policy: SchedulingPolicy | None = None


class TrainingJobSpec(Struct):
    """The spec of any of Kubeflow's training jobs. Each kind has one of the maps, by the name of the replica type."""

    pytorch_replica_specs: dict[str, ReplicaSpec] | None = None
    tf_replica_specs: dict[str, ReplicaSpec] | None = None
    mpi_replica_specs: dict[str, ReplicaSpec] | None = None
    xgb_replica_specs: dict[str, ReplicaSpec] | None = None
    paddle_replica_specs: dict[str, ReplicaSpec] | None = None
    jax_replica_specs: dict[str, ReplicaSpec] | None = None
    mx_replica_specs: dict[str, ReplicaSpec] | None = None
    run_policy: RunPolicy | None = None
    launcher_creation_policy: str = "AtStartup"
    """Of an MPIJob: AtStartup or WaitForWorkersReady."""


class TrainingJob(Struct, kw_only=True):
    """A training job of kubeflow.org: PyTorchJob, TFJob, MPIJob and so on."""

    metadata: ObjectMeta
    spec: TrainingJobSpec = field(default_factory=TrainingJobSpec)


class JAXJob(TrainingJob):
    """JAXJob of kubeflow.org."""


class MPIJob(TrainingJob):
    """MPIJob of kubeflow.org/v1, which the training-operator serves."""


class MPIJobV2(TrainingJob):
    """MPIJob of kubeflow.org/v2beta1, which the mpi-operator serves."""


class MXJob(TrainingJob):
    """MXJob of kubeflow.org."""


class PaddleJob(TrainingJob):
    """PaddleJob of kubeflow.org."""


class PyTorchJob(TrainingJob):
    """PyTorchJob of kubeflow.org."""


class TFJob(TrainingJob):
    """TFJob of kubeflow.org."""


class XGBoostJob(TrainingJob):
    """XGBoostJob of kubeflow.org."""


class WorkerGroup(Struct):
    """Equal workers of a RayCluster."""

    group_name: str = "worker"
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    suspend: bool | None = None
    num_of_hosts: int | None = None
    """Pods of one replica. Without a number there is one."""
    template: Template | None = None


class HeadGroup(Struct):
    """The head of a RayCluster."""

    template: Template | None = None


class AutoscalerOptions(Struct):
    """How the autoscaler of a RayCluster runs."""

    resources: dict[str, Any] | None = None
    """Those of its container, as JSON has them."""


class RayClusterSpec(Struct):
    """The spec of a RayCluster. It has one head besides its workers."""

    suspend: bool | None = None
    head_group_spec: HeadGroup | None = None
    worker_group_specs: list[WorkerGroup] | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None


class RayCluster(Struct, kw_only=True):
    """RayCluster of ray.io."""

    metadata: ObjectMeta
    spec: RayClusterSpec = field(default_factory=RayClusterSpec)


class OwningJob(Job):
    """batch/v1 Job, as an owner of pods."""

    spec: OwningJobSpec = field(default_factory=OwningJobSpec)


class ScaleSpec(Struct):
    """How many pods an object is to have. Without a number there is one."""

    replicas: int | None = None


class Scalable(Struct, kw_only=True):
    """An object of apps/v1 or v1 that has a scale."""

    metadata: ObjectMeta
    spec: ScaleSpec = field(default_factory=ScaleSpec)


class ScaledReplicaSet(Scalable):
    """apps/v1 ReplicaSet, as far as it says how many pods it is to have."""


class ScaledDeployment(Scalable):
    """apps/v1 Deployment, as far as it says how many pods it is to have."""


class ScaledReplicationController(Scalable):
    """v1 ReplicationController, as far as it says how many pods it is to have."""


class OwningStatefulSet(Scalable):
    """apps/v1 StatefulSet, as far as it says who controls it, and how many pods it is to have.

    A LeaderWorkerSet has its pods by StatefulSets.
    """


class SetSpec(Struct):
    """The part of a ReplicaSet's or StatefulSet's spec that says how many pods there are."""

    replicas: int | None = None
    template: Template | None = None


class SetStatus(Struct):
    """The conditions of apps/v1 ReplicaSetStatus."""

    conditions: list[Condition] | None = None


class ReplicaSet(Struct, kw_only=True):
    """apps/v1 ReplicaSet."""

    metadata: ObjectMeta
    spec: SetSpec | None = None
    status: SetStatus | None = None


class StatefulSet(ReplicaSet):
    """apps/v1 StatefulSet."""


OwnerObject = JobSet | LeaderWorkerSet | TrainingJob | RayCluster | OwningJob
"""An object whose pods may be a group."""
