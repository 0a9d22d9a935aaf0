"""Objects that make pods and whose pods are no group of their owner, as far as reprieve reads them.

Nobody watches them: they are read when somebody asks what would happen if they were submitted. What becomes of their
pod templates is read elsewhere. Sources: `v1`, `apps/v1` and `batch/v1` of Kubernetes, `ray.io/v1` of KubeRay,
`trainer.kubeflow.org/v1alpha1` of Kubeflow's trainer, `kueue.x-k8s.io/v1beta2` of Kueue.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from api.foreign_owners import JobTemplate, RayClusterSpec, Template, TemplateSpec
from api.meta import ObjectMeta, Struct

__all__ = [
    "BarePod",
    "CronJob",
    "Deployment",
    "PodSets",
    "RayJob",
    "RayJobSpec",
    "RayService",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "TrainJob",
]


class BarePod(Struct, kw_only=True):
    """v1 Pod: it is its own template."""

    metadata: ObjectMeta
    spec: TemplateSpec = field(default_factory=TemplateSpec)


class ReplicasSpec(Struct):
    """Equal pods. Without a number there is one."""

    replicas: int | None = None
    template: Template | None = None
    paused: bool | None = None
    """Only a Deployment has it."""


class ReplicaSet(Struct, kw_only=True):
    """apps/v1 ReplicaSet."""

    metadata: ObjectMeta
    spec: ReplicasSpec = field(default_factory=ReplicasSpec)


class Deployment(ReplicaSet):
    """apps/v1 Deployment. A ReplicaSet makes its pods."""


class StatefulSetSpec(ReplicasSpec):
    """The spec of a StatefulSet."""

    volume_claim_templates: list[dict[str, Any]] | None = None
    """As JSON has them. Each pod gets a claim made of each."""


class StatefulSet(ReplicaSet):
    """apps/v1 StatefulSet."""

    spec: StatefulSetSpec = field(default_factory=StatefulSetSpec)


class ReplicationController(ReplicaSet):
    """v1 ReplicationController."""


class CronJobSpec(Struct):
    """The spec of a CronJob."""

    suspend: bool | None = None
    job_template: JobTemplate = field(default_factory=JobTemplate)


class CronJob(Struct, kw_only=True):
    """batch/v1 CronJob."""

    metadata: ObjectMeta
    spec: CronJobSpec = field(default_factory=CronJobSpec)


class RayJobSpec(Struct):
    """The spec of a RayJob."""

    suspend: bool | None = None
    submission_mode: str = "K8sJobMode"
    """K8sJobMode, HTTPMode, InteractiveMode or SidecarMode: what submits the job to the cluster."""
    cluster_selector: dict[str, str] | None = None
    """Labels of a RayCluster that exists. Then the RayJob makes none."""
    ray_cluster_spec: RayClusterSpec | None = None
    submitter_pod_template: Template | None = None


class RayJob(Struct, kw_only=True):
    """RayJob of ray.io."""

    metadata: ObjectMeta
    spec: RayJobSpec = field(default_factory=RayJobSpec)


class RayServiceSpec(Struct):
    """The spec of a RayService."""

    ray_cluster_config: RayClusterSpec = field(default_factory=RayClusterSpec)


class RayService(Struct, kw_only=True):
    """RayService of ray.io."""

    metadata: ObjectMeta
    spec: RayServiceSpec = field(default_factory=RayServiceSpec)


class TrainJobSpec(Struct):
    """The part of the spec of a TrainJob that does not depend on its runtime."""

    suspend: bool | None = None


class TrainJob(Struct, kw_only=True):
    """TrainJob of trainer.kubeflow.org."""

    metadata: ObjectMeta
    spec: TrainJobSpec = field(default_factory=TrainJobSpec)


class PodSet(Struct):
    """Equal pods of a Workload. Without a number there is one."""

    name: str = "main"
    count: int | None = None
    template: Template | None = None


class PodSetsSpec(Struct):
    """The part of the spec of a Workload that says which pods it is for."""

    pod_sets: list[PodSet] | None = None


class PodSets(Struct, kw_only=True):
    """Workload of kueue.x-k8s.io, as the description of pods."""

    metadata: ObjectMeta
    spec: PodSetsSpec = field(default_factory=PodSetsSpec)
