"""The resources that controllers and services watch."""

from __future__ import annotations

from typing import Any, Final

from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from api.devices import DeviceClass
from api.dispatch import DispatchPlan
from api.foreign_groups import (
    COSCHEDULING,
    NATIVE_VERSIONS,
    VOLCANO,
    CoschedulingPodGroup,
    NativePodGroup,
    VolcanoPodGroup,
)
from api.foreign_owners import OwningStatefulSet
from api.groups import PodGroup
from api.jobs import TemplatedJob
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, WorkloadPriorityClass
from api.limits import LimitRange, RuntimeClass
from api.plans import ClusterPreemptionPlan, PreemptionPlan
from api.preempted import PREEMPTED, PreemptedEvent
from api.reports import PreemptionReport
from api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from api.workloads import Workload
from kube.reflector import Resource
from nodes.groups.kinds.kind import Kind
from nodes.groups.kinds.table import OWNERS

__all__ = [
    "ADMISSION_CHECKS",
    "BUDGETS",
    "CLUSTER_QUEUES",
    "COHORTS",
    "COSCHEDULING_GROUPS",
    "DEVICE_CLASSES",
    "DISPATCH_PLANS",
    "GROUPS",
    "JOBS",
    "KUEUE",
    "LIMIT_RANGES",
    "LOCAL_QUEUES",
    "MULTIKUEUE_CLUSTERS",
    "MULTIKUEUE_CONFIGS",
    "NAMESPACES",
    "NATIVE_GROUPS",
    "NODES",
    "OWNER_RESOURCES",
    "PLANS",
    "PODS",
    "PREEMPTED_EVENTS",
    "PRIORITY_CLASSES",
    "REPORTS",
    "RESOURCE_FLAVORS",
    "RUNTIME_CLASSES",
    "STATEFUL_SETS",
    "STORAGE_RESOURCES",
    "VOLCANO_GROUPS",
    "WHOLE_PLANS",
    "WORKLOADS",
    "WORKLOAD_PRIORITY_CLASSES",
]

KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
"""The URL path of Kueue's API."""
STORAGE: Final = "/apis/storage.k8s.io/v1"


def _has_failed(pod: Pod) -> bool:
    return pod.status.phase == "Failed"


NODES: Final = Resource("nodes", "/api/v1/nodes", Node)
PODS: Final = Resource("pods", "/api/v1/pods", Pod, "status.phase!=Failed", left=_has_failed)
"""Pods that have not Failed. The API server sends the failure of a pod as a deletion.

A pod that Succeeded uses nothing either, but its group counts it. See docs/decisions/0031.
"""
BUDGETS: Final = Resource("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget)
PRIORITY_CLASSES: Final = Resource(
    "priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses", PriorityClass
)
PLANS: Final = Resource(
    "preemptionplans", "/apis/reprieve.dev/v1alpha1/preemptionplans", PreemptionPlan, page=50
)
PREEMPTED_EVENTS: Final = Resource(
    "events", "/api/v1/events", PreemptedEvent, f"reason={PREEMPTED}", optional=True
)
"""What schedulers say of pods that they preempt. Optional, because a role of one's own may not allow to read them."""
WHOLE_PLANS: Final = Resource(
    "clusterpreemptionplans",
    "/apis/reprieve.dev/v1alpha1/clusterpreemptionplans",
    ClusterPreemptionPlan,
    page=50,
)
REPORTS: Final = Resource(
    "preemptionreports", "/apis/reprieve.dev/v1alpha1/preemptionreports", PreemptionReport
)
DISPATCH_PLANS: Final = Resource(
    "dispatchplans", "/apis/reprieve.dev/v1alpha1/dispatchplans", DispatchPlan, page=50
)
GROUPS: Final = Resource("podgroups", "/apis/reprieve.dev/v1alpha1/podgroups", PodGroup)
COSCHEDULING_GROUPS: Final = Resource(
    "podgroups.scheduling.x-k8s.io", f"/apis/{COSCHEDULING}/podgroups", CoschedulingPodGroup, optional=True
)
VOLCANO_GROUPS: Final = Resource(
    "podgroups.scheduling.volcano.sh", f"/apis/{VOLCANO}/podgroups", VolcanoPodGroup, optional=True
)
NATIVE_PATHS: Final = tuple(f"/apis/{each}/podgroups" for each in NATIVE_VERSIONS)
NATIVE_GROUPS: Final = Resource(
    "podgroups.scheduling.k8s.io", NATIVE_PATHS[0], NativePodGroup, optional=True, older=NATIVE_PATHS[1:]
)


def _of_owner(kind: Kind) -> Resource[Any]:
    group, _, version = kind.api_version.partition("/")
    name = f"{kind.plural}.{version}.{group}"
    return Resource(name, f"/apis/{kind.api_version}/{kind.plural}", kind.type, optional=True)


OWNER_RESOURCES: Final[tuple[Resource[Any], ...]] = tuple(map(_of_owner, OWNERS.values()))
"""Objects whose pods may be a group."""
STATEFUL_SETS: Final = Resource(
    "statefulsets", "/apis/apps/v1/statefulsets", OwningStatefulSet, optional=True
)
"""What is between pods and their LeaderWorkerSet. Optional, because a role of one's own may not allow to read them."""

CLUSTER_QUEUES: Final = Resource("clusterqueues", f"{KUEUE}/clusterqueues", ClusterQueue)
COHORTS: Final = Resource("cohorts", f"{KUEUE}/cohorts", Cohort)
RESOURCE_FLAVORS: Final = Resource("resourceflavors", f"{KUEUE}/resourceflavors", ResourceFlavor)
ADMISSION_CHECKS: Final = Resource("admissionchecks", f"{KUEUE}/admissionchecks", AdmissionCheck)
MULTIKUEUE_CLUSTERS: Final = Resource("multikueueclusters", f"{KUEUE}/multikueueclusters", MultiKueueCluster)
MULTIKUEUE_CONFIGS: Final = Resource("multikueueconfigs", f"{KUEUE}/multikueueconfigs", MultiKueueConfig)
LOCAL_QUEUES: Final = Resource("localqueues", f"{KUEUE}/localqueues", LocalQueue)
WORKLOADS: Final = Resource("workloads", f"{KUEUE}/workloads", Workload)
WORKLOAD_PRIORITY_CLASSES: Final = Resource(
    "workloadpriorityclasses", f"{KUEUE}/workloadpriorityclasses", WorkloadPriorityClass
)
JOBS: Final = Resource("jobs", "/apis/batch/v1/jobs", TemplatedJob)
NAMESPACES: Final = Resource("namespaces", "/api/v1/namespaces", Namespace)
LIMIT_RANGES: Final = Resource("limitranges", "/api/v1/limitranges", LimitRange)
DEVICE_CLASSES: Final = Resource("deviceclasses", "/apis/resource.k8s.io/v1/deviceclasses", DeviceClass)
STORAGE_RESOURCES: Final[tuple[Resource[Any], ...]] = (
    Resource("persistentvolumeclaims", "/api/v1/persistentvolumeclaims", PersistentVolumeClaim),
    Resource("persistentvolumes", "/api/v1/persistentvolumes", PersistentVolume),
    Resource("storageclasses", f"{STORAGE}/storageclasses", StorageClass),
    Resource("csinodes", f"{STORAGE}/csinodes", CSINode),
    Resource("csidrivers", f"{STORAGE}/csidrivers", CSIDriver),
    Resource("csistoragecapacities", f"{STORAGE}/csistoragecapacities", CSIStorageCapacity),
)
"""Claims, volumes and what describes storage."""
RUNTIME_CLASSES: Final = Resource("runtimeclasses", "/apis/node.k8s.io/v1/runtimeclasses", RuntimeClass)
