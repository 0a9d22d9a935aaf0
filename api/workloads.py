"""Workload (`kueue.x-k8s.io/v1beta2`): pods that are admitted together or wait together, and their status.

Fields, defaults, enums and bounds are the same as in Kueue's CRD. Rules across fields (CEL, webhook) are not here.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.core import Int32
from api.kueue import API_VERSION
from api.meta import CheckName, Conditions, Count, Defaulting, Name, ObjectMeta, OrDefault, Struct, Time
from api.podsets import PodSet, PodSetAssignment, PodSetName, PodSetRequest, PodSetUpdate

__all__ = [
    "ADMISSION_CHECK",
    "ADMITTED",
    "BLOCKED_ON_PREEMPTION_GATES",
    "DEACTIVATION_TARGET",
    "EVICTED",
    "FINISHED",
    "IN_CLUSTER_QUEUE_TIME_BASED",
    "JOB_UID_LABEL",
    "PODS_READY_TIMEOUT",
    "PREEMPTED",
    "PreemptionReason",
    "QUOTA_RESERVED",
    "REQUEUED",
    "Admission",
    "AdmissionCheckState",
    "PreemptionGate",
    "PreemptionGateState",
    "PriorityClassRef",
    "ReclaimablePod",
    "RequeueState",
    "SchedulingStats",
    "SchedulingStatsEviction",
    "UnhealthyNode",
    "Workload",
    "WorkloadSpec",
    "WorkloadStatus",
]

JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
"""The UID of the Job that the Workload stands for."""

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
"""A condition, and the reason of Evicted that goes with it."""
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
"""True: spec.active becomes false, for the condition's reason."""
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"

PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
ADMISSION_CHECK: Final = "AdmissionCheck"

IN_CLUSTER_QUEUE_TIME_BASED: Final = "InClusterQueueTimeBased"
"""The reason of KEP-8522. The other reasons come from Kueue."""
PreemptionReason = Literal[
    "InClusterQueue",
    "InClusterQueueTimeBased",
    "InCohortReclamation",
    "InCohortReclaimWhileBorrowing",
    "InCohortFairSharing",
]

MAX_POD_SETS: Final = 18
ClusterName = Annotated[str, Meta(max_length=256)]
GateName = Annotated[str, Meta(min_length=1, max_length=63)]
EvictionReason = Annotated[str, Meta(max_length=316)]


class PriorityClassRef(Struct):
    """The class that the priority comes from."""

    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"]
    """kueue.x-k8s.io for a WorkloadPriorityClass, scheduling.k8s.io for a PriorityClass."""
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    """WorkloadPriorityClass or PriorityClass."""
    name: Annotated[Name, Meta(min_length=1)]
    """The class."""


class PreemptionGate(Struct):
    """Nothing is preempted for the Workload while the gate is closed (KEP-8303)."""

    name: GateName
    """A qualified name, such as example.com/gate. Unique in the Workload."""


class WorkloadSpec(Defaulting):
    """The pods of the Workload, its queue and its priority."""

    pod_sets: OrDefault[Annotated[list[PodSet], Meta(min_length=1, max_length=MAX_POD_SETS)]] = field(
        default_factory=list
    )
    """Pods by kind, at most 18 kinds. Cannot be changed while quota is reserved."""
    queue_name: OrDefault[Name] = ""
    """The LocalQueue. Cannot be changed while quota is reserved."""
    priority_class_ref: PriorityClassRef | None = None
    """The class that the priority comes from."""
    priority: Int32 | None = None
    """Workloads of higher priority are admitted earlier. The default is 0. Must be set if priorityClassRef is set."""
    active: OrDefault[bool] = True
    """false: the Workload is not admitted, and it is evicted if it was admitted."""
    maximum_execution_time_seconds: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    """How long the Workload may be admitted before it is deactivated, in seconds. By default there is no limit."""
    preemption_gates: Annotated[list[PreemptionGate], Meta(max_length=8)] | None = None
    """Nothing is preempted for the Workload unless all of these are Open in the status. At most 8."""


class Admission(Defaulting):
    """The quota that is reserved."""

    cluster_queue: OrDefault[Name] = ""
    """The ClusterQueue of the quota."""
    pod_set_assignments: Annotated[list[PodSetAssignment], Meta(max_length=MAX_POD_SETS)] | None = None
    """The quota that is reserved for each pod set."""


class RequeueState(Struct):
    """When to try again."""

    count: Count | None = None
    """How often the Workload was queued again."""
    requeue_at: Time | None = None
    """Not before this time."""


class ReclaimablePod(Struct):
    """Pods that no longer need their quota."""

    name: PodSetName
    """The pod set."""
    count: Count
    """How many."""


class AdmissionCheckState(Struct):
    """The state of an admission check."""

    name: CheckName
    """The AdmissionCheck."""
    state: Literal["Pending", "Ready", "Retry", "Rejected"]
    """Pending: not decided. Ready: passed. Retry: the quota is given back and requested again. Rejected: the Workload
    is deactivated."""
    last_transition_time: Time
    """When the state changed."""
    message: Annotated[str, Meta(max_length=32768)]
    """Details for people."""
    requeue_after_seconds: Count | None = None
    """With state Retry: how long to wait, in seconds. Has no effect in other states."""
    retry_count: Count | None = None
    """How often the state was Retry. Does not decrease, except to 0."""
    pod_set_updates: Annotated[list[PodSetUpdate], Meta(max_length=MAX_POD_SETS)] | None = None
    """What the check adds to pod sets."""


class SchedulingStatsEviction(Struct):
    """How often the Workload was evicted for one reason."""

    reason: EvictionReason
    """The reason."""
    underlying_cause: EvictionReason
    """The cause behind the reason. May be empty."""
    count: Count
    """How often."""


class SchedulingStats(Struct):
    """What happened to the Workload."""

    evictions: Annotated[list[SchedulingStatsEviction], Meta(max_length=256)] | None = None
    """How often it was evicted, by reason."""


class UnhealthyNode(Struct):
    """A node that failed."""

    name: Annotated[str, Meta(max_length=63)]
    """The node."""


class PreemptionGateState(Struct):
    """The state of a preemption gate."""

    name: GateName
    """The gate."""
    position: Literal["Closed", "Open"]
    """Closed: nothing is preempted for the Workload."""
    last_transition_time: Time
    """When the position changed. Cannot become earlier."""


class WorkloadStatus(Struct):
    """The current state of the Workload."""

    conditions: Conditions | None = None
    """QuotaReserved, Admitted, Evicted, Preempted, Requeued, Finished, PodsReady and others."""
    admission: Admission | None = None
    """The quota that is reserved. It can be removed, but not changed."""
    requeue_state: RequeueState | None = None
    """When to try again after an eviction."""
    reclaimable_pods: Annotated[list[ReclaimablePod], Meta(max_length=MAX_POD_SETS)] | None = None
    """Pods that no longer need their quota."""
    admission_checks: Annotated[list[AdmissionCheckState], Meta(max_length=8)] | None = None
    """The checks that the ClusterQueue asks for."""
    resource_requests: Annotated[list[PodSetRequest], Meta(max_length=MAX_POD_SETS)] | None = None
    """The requests at the time when the Workload was last considered. Empty while quota is reserved."""
    accumulated_past_execution_time_seconds: Int32 | None = None
    """How long the Workload was admitted before it was last evicted, in seconds."""
    scheduling_stats: SchedulingStats | None = None
    """What happened to the Workload."""
    nominated_cluster_names: Annotated[list[ClusterName], Meta(max_length=20)] | None = None
    """Clusters that may get the Workload, at most 20. Not together with clusterName."""
    cluster_name: ClusterName | None = None
    """The cluster that has the Workload. Once it is set, only an eviction can change it."""
    unhealthy_nodes: Annotated[list[UnhealthyNode], Meta(max_length=8)] | None = None
    """Failed nodes with pods of the Workload. Kueue looks for replacements."""
    preemption_gates: Annotated[list[PreemptionGateState], Meta(max_length=8)] | None = None
    """The state of the gates. A gate that is missing here is closed."""


class Workload(Defaulting, kw_only=True):
    """Pods that are admitted together, or wait together."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["Workload"] = field(default_factory=lambda: "Workload")
    metadata: ObjectMeta
    spec: OrDefault[WorkloadSpec] = field(default_factory=WorkloadSpec)
    status: OrDefault[WorkloadStatus] = field(default_factory=WorkloadStatus)
