"""The table of defaults: every one of a field that an engine, an answer or a webhook of ours reads.

`source` names the function, and the file below pkg/apis of Kubernetes 1.37. A generated default stands in
zz_generated.defaults.go beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from api.core import (
    NAMESPACE_NAME_LABEL,
    RBD,
    ContainerPort,
    Namespace,
    Node,
    Pod,
    PodSpec,
    PriorityClass,
    TopologySpreadConstraint,
)
from api.foreign_owners import (
    JobSet,
    LeaderWorkerSet,
    LeaderWorkerSetSpec,
    MPIJobV2,
    RayCluster,
    SetSpec,
    StartupPolicy,
    TrainingJobSpec,
)
from api.jobs import Job, JobSpec, PodConditionPattern
from api.limits import LimitRangeItem
from api.meta import Struct
from api.pod_owners import ReplicationController
from api.storage import (
    CSIDriverSpec,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)
from api.workloads import Workload
from schema.defaults.amounts import with_container_requests, with_pod_requests

__all__ = ["ROWS", "Default"]

CONTAINER: Final = "Container"


@dataclass(frozen=True, slots=True)
class Default:
    """A line of the table."""

    kind: str
    field: str
    """Its path in an object of the kind."""
    value: str
    """In words."""
    source: str
    of: type[Struct]
    """The object that has the field."""
    fill: Callable[[Any], None] | None = None
    """Fill it in. None: the struct has the default, or what reads the object adds it."""
    after_admission: bool = False
    """Filled in after the admission plugins have seen the object."""


def _set(name: str, value: object, *empty: object) -> Callable[[Any], None]:
    """Set the field if it is null, or one of the other values that mean that nobody has set it."""

    def fill(thing: Any) -> None:
        held = getattr(thing, name)
        if held is None or held in empty:
            setattr(thing, name, value)

    return fill


# ---- rules with more than a value


def _requests(pod: Pod) -> None:
    pod.spec = with_container_requests(pod.spec)


def _pod_requests(pod: Pod) -> None:
    pod.spec = with_pod_requests(pod.spec)


def _grace(pod: Pod) -> None:
    seconds = pod.spec.termination_grace_period_seconds
    if seconds is not None and seconds < 0:
        pod.spec.termination_grace_period_seconds = 1


def _host_ports(spec: PodSpec) -> None:
    if not spec.host_network:
        return
    for container in [*(spec.containers or ()), *(spec.init_containers or ())]:
        for port in container.ports or ():
            port.host_port = port.host_port or port.container_port


def _name_label(namespace: Namespace) -> None:
    name = namespace.metadata.name
    if name:
        namespace.metadata.labels = {**(namespace.metadata.labels or {}), NAMESPACE_NAME_LABEL: name}


def _allocatable(node: Node) -> None:
    if node.status.allocatable is None and node.status.capacity is not None:
        node.status.allocatable = dict(node.status.capacity)


def _of_limit_range(item: LimitRangeItem) -> None:
    if item.type != CONTAINER:
        return
    item.default = {**(item.max or {}), **(item.default or {})}
    item.default_request = {**(item.min or {}), **item.default, **(item.default_request or {})}


def _workload_ports(workload: Workload) -> None:
    for pods in workload.spec.pod_sets:
        for container in [
            *(pods.template.spec.containers or ()),
            *(pods.template.spec.init_containers or ()),
        ]:
            for port in container.ports or ():
                port.protocol = port.protocol or "TCP"


def _job_set(job_set: JobSet) -> None:
    for each in job_set.spec.replicated_jobs or ():
        each.replicas = 1 if each.replicas is None else each.replicas


def _leader_worker_set(found: LeaderWorkerSet) -> None:
    template = found.spec.leader_worker_template
    template.size = 1 if template.size is None else template.size


def _ray_cluster(cluster: RayCluster) -> None:
    for group in cluster.spec.worker_group_specs or ():
        group.replicas = 0 if group.replicas is None else group.replicas
        group.num_of_hosts = 1 if group.num_of_hosts is None else group.num_of_hosts


def _mpi_job(job: MPIJobV2) -> None:
    for role, each in (job.spec.mpi_replica_specs or {}).items():
        if each.replicas is None:
            each.replicas = 0 if role == "Worker" else 1


def _completions(spec: JobSpec) -> None:
    if spec.parallelism is None and spec.completions is None:
        spec.completions = 1
    if spec.parallelism is None:
        spec.parallelism = 1


def _backoff_limit(spec: JobSpec) -> None:
    spec.backoff_limit = spec.most_failures


def _job_labels(job: Job) -> None:
    template = getattr(job.spec, "template", None)
    meta = getattr(template, "metadata", None)
    if not job.metadata.labels and meta is not None and meta.labels is not None:
        job.metadata.labels = dict(meta.labels)


POD: Final = "core/v1/defaults.go SetDefaults_Pod"
SPEC: Final = "core/v1/defaults.go SetDefaults_PodSpec"
CONTAINERS: Final = "spec.containers[*], spec.initContainers[*]"
JOB: Final = "batch/v1/defaults.go SetDefaults_Job"

ROWS: Final = (
    Default(
        "Pod", f"{CONTAINERS}.resources.requests", "the limit of the same resource", POD, Pod, _requests
    ),
    Default(
        "Pod",
        "spec.resources.requests",
        "the sum of the containers' requests; without one, the limit of the pod",
        "pkg/api/pod/util.go DefaultPodLevelResources; up to 1.36, core/v1/defaults.go defaultPodRequests",
        Pod,
        _pod_requests,
        after_admission=True,
    ),
    Default("Pod", "spec.terminationGracePeriodSeconds", "1, if it is negative", POD, Pod, _grace),
    Default("Pod", f"{CONTAINERS}.ports[*].hostPort", "containerPort, with hostNetwork", POD, PodSpec, _host_ports),
    Default(
        "Pod", "spec.schedulerName", "default-scheduler", SPEC, PodSpec,
        _set("scheduler_name", "default-scheduler", ""),
    ),
    Default(
        "Pod", "spec.terminationGracePeriodSeconds", "30", SPEC, PodSpec,
        _set("termination_grace_period_seconds", 30),
    ),
    Default(
        "Pod", f"{CONTAINERS}.ports[*].protocol", "TCP", "core/v1/zz_generated.defaults.go", ContainerPort,
        _set("protocol", "TCP", ""),
    ),
    Default("Pod", "spec.volumes[*].rbd.pool", "rbd", "core/v1/zz_generated.defaults.go", RBD),
    Default(
        "Pod", "spec.topologySpreadConstraints[*].nodeAffinityPolicy, nodeTaintsPolicy", "absent: Honor, Ignore",
        "none: the scheduler's PodTopologySpread", TopologySpreadConstraint,
    ),
    Default(
        "Node", "status.allocatable", "status.capacity", "core/v1/defaults.go SetDefaults_NodeStatus", Node,
        _allocatable,
    ),
    Default(
        "Namespace", f'metadata.labels["{NAMESPACE_NAME_LABEL}"]', "its name",
        "core/v1/defaults.go SetDefaults_Namespace", Namespace, _name_label,
    ),
    Default(
        "LimitRange", "spec.limits[*].default, defaultRequest",
        "of containers: default from max, defaultRequest from default, else from min",
        "core/v1/defaults.go SetDefaults_LimitRangeItem", LimitRangeItem, _of_limit_range,
    ),
    Default(
        "PersistentVolume", "spec.volumeMode", "Filesystem", "core/v1/defaults.go SetDefaults_PersistentVolume",
        PersistentVolumeSpec, _set("volume_mode", "Filesystem"),
    ),
    Default(
        "PersistentVolume", "status.phase", "Pending", "core/v1/defaults.go SetDefaults_PersistentVolume",
        PersistentVolumeStatus, _set("phase", "Pending", ""),
    ),
    Default(
        "PersistentVolumeClaim", "spec.volumeMode", "Filesystem",
        "core/v1/defaults.go SetDefaults_PersistentVolumeClaimSpec", PersistentVolumeClaimSpec,
        _set("volume_mode", "Filesystem"),
    ),
    Default(
        "PersistentVolumeClaim", "status.phase", "Pending", "core/v1/defaults.go SetDefaults_PersistentVolumeClaim",
        PersistentVolumeClaimStatus, _set("phase", "Pending", ""),
    ),
    Default(
        "StorageClass", "volumeBindingMode", "Immediate", "storage/v1/defaults.go SetDefaults_StorageClass",
        StorageClass,
    ),
    Default(
        "CSIDriver", "spec.storageCapacity", "false", "storage/v1/defaults.go SetDefaults_CSIDriver", CSIDriverSpec,
        _set("storage_capacity", False),
    ),
    Default(
        "CSIDriver", "spec.preventPodSchedulingIfMissing", "false (absent without the gate VolumeLimitScaling)",
        "storage/v1/defaults.go SetDefaults_CSIDriver", CSIDriverSpec,
        _set("prevent_pod_scheduling_if_missing", False),
    ),
    Default(
        "PriorityClass", "preemptionPolicy", "PreemptLowerPriority",
        "scheduling/v1/defaults.go SetDefaults_PriorityClass", PriorityClass,
        _set("preemption_policy", "PreemptLowerPriority"),
    ),
    Default("Job", "spec.completions, spec.parallelism", "1 and 1; parallelism 1 if completions is set", JOB, JobSpec,
            _completions),
    Default(
        "Job", "spec.backoffLimit", "6; with backoffLimitPerIndex 2147483647", JOB, JobSpec, _backoff_limit
    ),
    Default("Job", "spec.completionMode", "NonIndexed", JOB, JobSpec),
    Default("Job", "spec.suspend", "false", JOB, JobSpec, _set("suspend", False)),
    Default("Job", "metadata.labels", "those of its template, if it has none", JOB, Job, _job_labels),
    Default(
        "ReplicationController", "metadata.labels", "those of its template, if it has none",
        "core/v1/defaults.go SetDefaults_ReplicationController", ReplicationController,
    ),
    Default(
        "ReplicaSet, StatefulSet, Deployment", "spec.replicas", "1",
        "apps/v1/defaults.go SetDefaults_ReplicaSet, SetDefaults_StatefulSet, SetDefaults_Deployment", SetSpec,
        _set("replicas", 1),
    ),
    Default(
        "Workload", f"spec.podSets[*].template.{CONTAINERS}.ports[*].protocol", "TCP",
        "the schema of Kueue's CustomResourceDefinition", Workload, _workload_ports,
    ),
    Default(
        "Job", "spec.podFailurePolicy.rules[*].onPodConditions[*].status", "True",
        "batch/v1/defaults.go SetDefaults_PodFailurePolicyOnPodConditionsPattern", PodConditionPattern,
    ),
    # CustomResourceDefinitions that are not ours: an API server that has them adds the defaults of their schemas.
    Default(
        "JobSet", "spec.replicatedJobs[*].replicas", "1",
        "kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go", JobSet, _job_set,
    ),
    Default(
        "JobSet", "spec.startupPolicy.startupPolicyOrder", "AnyOrder",
        "kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go", StartupPolicy,
    ),
    Default(
        "LeaderWorkerSet", "spec.leaderWorkerTemplate.size", "1",
        "kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go", LeaderWorkerSet, _leader_worker_set,
    ),
    Default(
        "LeaderWorkerSet", "spec.startupPolicy", "LeaderCreated",
        "kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go", LeaderWorkerSetSpec,
    ),
    Default(
        "RayCluster", "spec.workerGroupSpecs[*].replicas, numOfHosts", "0 and 1",
        "ray-project/kuberay ray-operator/apis/ray/v1/raycluster_types.go", RayCluster, _ray_cluster,
    ),
    Default(
        "MPIJob (v2beta1)", "spec.mpiReplicaSpecs[*].replicas", "1 of the launcher, 0 of the workers",
        "kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/default.go", MPIJobV2, _mpi_job,
    ),
    Default(
        "MPIJob (v2beta1)", "spec.launcherCreationPolicy", "AtStartup",
        "kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go", TrainingJobSpec,
    ),
)  # fmt: skip
"""Quantities are rounded up to thousandths everywhere (core/v1/defaults.go SetDefaults_ResourceList): see `filling`."""
