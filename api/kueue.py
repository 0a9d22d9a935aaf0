"""Kueue's quota objects (`kueue.x-k8s.io/v1beta2`): ClusterQueue, Cohort, ResourceFlavor, LocalQueue and priorities.

Fields, defaults, enums and bounds are the same as in Kueue's CRDs. Rules across fields (CEL, webhook) are not here.
Quantities are not parsed here. As in an API server, an explicit null becomes the default. The status of the queues is
in `api.usage`, Workload in `api.workloads`, admission checks and MultiKueue in `api.checks`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.core import Int32, TimedTaint, TimedToleration
from api.meta import CheckName, Defaulting, LabelSelector, Name, ObjectMeta, OrDefault, Quantity, Struct
from api.usage import ClusterQueueStatus, CohortStatus, LocalQueueStatus

__all__ = [
    "API_VERSION",
    "MIN_ADMIT_DURATION_ANNOTATION",
    "RESOURCE_IN_USE",
    "AdmissionCheckStrategyRule",
    "AdmissionChecksStrategy",
    "AdmissionScope",
    "BorrowWithinCohort",
    "ClusterQueue",
    "ClusterQueuePreemption",
    "ClusterQueueSpec",
    "Cohort",
    "CohortSpec",
    "ConcurrentAdmissionConstraints",
    "ConcurrentAdmissionMigration",
    "ConcurrentAdmissionPolicy",
    "FairSharing",
    "FlavorFungibility",
    "FlavorQuotas",
    "LocalQueue",
    "LocalQueueSpec",
    "ResourceFlavor",
    "ResourceFlavorSpec",
    "ResourceGroup",
    "ResourceQuota",
    "WithinClusterQueueConfig",
    "WorkloadPriorityClass",
]

API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
MIN_ADMIT_DURATION_ANNOTATION: Final = "reprieve.dev/min-admit-duration"
"""An annotation on a ClusterQueue in place of `withinClusterQueueConfig.minAdmitDuration`.

Kueue's own CRD prunes that field.
"""
RESOURCE_IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
"""The finalizer of objects that are in use."""

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
FungibilityPolicy = Literal["MayStopSearch", "TryNextFlavor"]


class ResourceQuota(Struct):
    """The quota of one resource in one flavor."""

    name: str
    """The resource."""
    nominal_quota: Quantity
    """How much workloads may use without borrowing. Not negative."""
    borrowing_limit: Quantity | None = None
    """How much workloads may borrow from the cohort beyond nominalQuota. Not negative. By default there is no limit."""
    lending_limit: Quantity | None = None
    """How much of nominalQuota others in the cohort may borrow. Not negative. By default there is no limit."""


class FlavorQuotas(Struct):
    """The quotas of one flavor."""

    name: Name
    """The ResourceFlavor. Without it the ClusterQueue is not active."""
    resources: Annotated[list[ResourceQuota], Meta(min_length=1, max_length=64)]
    """The quotas of the resources that the group covers, in the same order."""


class ResourceGroup(Struct):
    """Resources that come from one flavor together, and the flavors to try, in this order."""

    covered_resources: Annotated[list[str], Meta(min_length=1, max_length=64)]
    """The resources. Each is in one group only."""
    flavors: Annotated[list[FlavorQuotas], Meta(min_length=1, max_length=64)]
    """The flavors. Each is in one group only."""


class FlavorFungibility(Defaulting):
    """Whether to try the next flavor before borrowing or preempting in this one."""

    when_can_borrow: OrDefault[FungibilityPolicy] = "MayStopSearch"
    """TryNextFlavor: try the next flavor before borrowing in this one. MayStopSearch: stay with this one."""
    when_can_preempt: OrDefault[FungibilityPolicy] = "TryNextFlavor"
    """TryNextFlavor: try the next flavor before preempting in this one. MayStopSearch: stay with this one."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """What to prefer if every flavor needs borrowing or preemption. The default is BorrowingOverPreemption. Only if
    both policies are TryNextFlavor."""


class BorrowWithinCohort(Defaulting):
    """Whether a workload may preempt in the cohort in order to borrow (KEP-1337). Not used with fair sharing."""

    policy: OrDefault[Literal["Never", "LowerPriority"]] = "Never"
    """LowerPriority: workloads of lower priority in other ClusterQueues may be preempted so that this one borrows.
    Needs reclaimWithinCohort LowerPriority or Any."""
    max_priority_threshold: Int32 | None = None
    """Only workloads of this priority or below may be preempted. By default there is no limit beside the policy. Has no
    effect with policy Never."""


class WithinClusterQueueConfig(Struct):
    """Settings for preemption within the ClusterQueue (KEP-8522)."""

    min_admit_duration: str | None = None
    """How long a workload holds its quota before a workload of equal priority may take it: a minute or more, such as
    30m or 1h30m. By default nothing is preempted because of time."""


class ClusterQueuePreemption(Defaulting):
    """Which workloads may be preempted for a workload of this ClusterQueue."""

    reclaim_within_cohort: OrDefault[Literal["Never", "LowerPriority", "Any"]] = "Never"
    """Which workloads may be preempted in ClusterQueues that use more than their nominal quota. Never: no workload.
    LowerPriority: workloads of lower priority. Any: all workloads."""
    borrow_within_cohort: OrDefault[BorrowWithinCohort] = field(default_factory=BorrowWithinCohort)
    """Whether workloads of other ClusterQueues may also be preempted so that this one borrows."""
    within_cluster_queue: OrDefault[Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]] = "Never"
    """Which workloads may be preempted in this ClusterQueue. Never: no workload. LowerPriority: workloads of lower
    priority. LowerOrNewerEqualPriority: also newer workloads of equal priority."""
    within_cluster_queue_config: WithinClusterQueueConfig | None = None
    """Settings for withinClusterQueue. Only with LowerOrNewerEqualPriority."""


class AdmissionCheckStrategyRule(Struct):
    """One admission check, and its flavors."""

    name: CheckName
    """The AdmissionCheck."""
    on_flavors: Annotated[list[Name], Meta(max_length=64)] | None = None
    """The ResourceFlavors that need the check. By default every workload needs it."""


class AdmissionChecksStrategy(Struct):
    """The checks that workloads pass before they are admitted."""

    admission_checks: Annotated[list[AdmissionCheckStrategyRule], Meta(min_length=1, max_length=64)]
    """The checks."""


class FairSharing(Defaulting):
    """The weight of a ClusterQueue, Cohort or LocalQueue in fair sharing."""

    weight: OrDefault[Quantity] = 1
    """The borrowed share is divided by the weight. Zero: always after all others. Any other weight must be above 1n."""


class AdmissionScope(Struct):
    """Whether past usage counts in the order of admission."""

    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]
    """UsageBasedAdmissionFairSharing: LocalQueues that used less go first."""


class ConcurrentAdmissionConstraints(Struct):
    """The flavors that a workload may move to."""

    last_acceptable_flavor_name: Name | None = None
    """The last flavor in the ClusterQueue's order that the workload may move to. Only with TryPreferredFlavors."""


class ConcurrentAdmissionMigration(Struct):
    """Whether an admitted workload moves to a better flavor."""

    mode: Literal["TryPreferredFlavors", "RetainFirstAdmission"]
    """TryPreferredFlavors: the workload moves when there is room. RetainFirstAdmission: it stays."""
    constraints: ConcurrentAdmissionConstraints | None = None
    """The flavors that the workload may move to."""


class ConcurrentAdmissionPolicy(Struct):
    """Workloads try several flavors at once."""

    migration: ConcurrentAdmissionMigration
    """What happens after the first flavor has admitted the workload."""


class ClusterQueueSpec(Defaulting):
    """Quotas, and the rules for using them."""

    resource_groups: Annotated[list[ResourceGroup], Meta(max_length=16)] | None = None
    """Resources, flavors and quotas. At most 256 flavors and 256 resources in all groups together."""
    cohort_name: OrDefault[Name] = ""
    """The cohort that this ClusterQueue lends quota to and borrows quota from. Without a cohort it does neither. The
    Cohort object need not exist."""
    queueing_strategy: OrDefault[Literal["StrictFIFO", "BestEffortFIFO"]] = "BestEffortFIFO"
    """StrictFIFO: a workload that cannot be admitted blocks the workloads behind it. BestEffortFIFO: it does not."""
    namespace_selector: LabelSelector | None = None
    """The namespaces that may submit workloads. Without a selector no namespace may, with {} all may."""
    flavor_fungibility: OrDefault[FlavorFungibility] = field(default_factory=FlavorFungibility)
    """Whether to try the next flavor before borrowing or preempting in this one."""
    preemption: OrDefault[ClusterQueuePreemption] = field(default_factory=ClusterQueuePreemption)
    """Which workloads may be preempted for a workload of this ClusterQueue."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """The checks that workloads pass before they are admitted."""
    stop_policy: OrDefault[StopPolicy] = "None"
    """Hold: no further workload is admitted. HoldAndDrain: admitted workloads are also evicted."""
    fair_sharing: FairSharing | None = None
    """The weight, if fair sharing is on."""
    admission_scope: AdmissionScope | None = None
    """Whether past usage counts in the order of admission."""
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None
    """Whether workloads try several flavors at once. Cannot be changed."""


class ClusterQueue(Defaulting, kw_only=True):
    """Quotas for the workloads of some namespaces, and the rules for using them."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["ClusterQueue"] = field(default_factory=lambda: "ClusterQueue")
    metadata: ObjectMeta
    spec: OrDefault[ClusterQueueSpec] = field(default_factory=ClusterQueueSpec)
    status: ClusterQueueStatus | None = None


class CohortSpec(Defaulting):
    """The cohort's place in its tree, and quota of its own."""

    parent_name: OrDefault[Name] = ""
    """The parent cohort. Its Cohort object need not exist. Without a parent, this cohort is a root. A cycle stops all
    its members."""
    resource_groups: Annotated[list[ResourceGroup], Meta(max_length=16)] | None = None
    """Quota for all members, in addition to their own quota. The limits apply to what all members together borrow from
    the parent, and lend to it."""
    fair_sharing: FairSharing | None = None
    """The weight, if fair sharing is on."""


class Cohort(Defaulting, kw_only=True):
    """ClusterQueues and Cohorts that lend quota to one another, and the quota that they share."""

    # Factories: see ClusterQueue.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["Cohort"] = field(default_factory=lambda: "Cohort")
    metadata: ObjectMeta
    spec: OrDefault[CohortSpec] = field(default_factory=CohortSpec)
    status: CohortStatus | None = None


class ResourceFlavorSpec(Struct):
    """The nodes of this flavor."""

    node_labels: Annotated[dict[str, str], Meta(max_length=8)] | None = None
    """Labels of the nodes. Pods whose node selector or required affinity contradicts them do not get this flavor."""
    node_taints: Annotated[list[TimedTaint], Meta(max_length=8)] | None = None
    """Taints of the nodes. Pods that do not tolerate a NoSchedule or NoExecute taint do not get this flavor."""
    tolerations: Annotated[list[TimedToleration], Meta(max_length=8)] | None = None
    """Tolerations that the pods of this flavor get."""
    topology_name: Name | None = None
    """The Topology of the nodes. Needs an entry in nodeLabels. Cannot be changed once it is set."""


class ResourceFlavor(Defaulting, kw_only=True):
    """A kind of nodes. Quotas name it."""

    # Factories: see ClusterQueue.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["ResourceFlavor"] = field(default_factory=lambda: "ResourceFlavor")
    metadata: ObjectMeta
    spec: OrDefault[ResourceFlavorSpec] = field(default_factory=ResourceFlavorSpec)


class LocalQueueSpec(Defaulting):
    """The ClusterQueue of the queue."""

    cluster_queue: OrDefault[Name] = ""
    """The ClusterQueue. Cannot be changed."""
    stop_policy: OrDefault[StopPolicy] = "None"
    """Hold: no further workload is admitted. HoldAndDrain: admitted workloads are also evicted."""
    fair_sharing: FairSharing | None = None
    """The weight, if past usage counts in the order of admission."""


class LocalQueue(Defaulting, kw_only=True):
    """A queue in which the workloads of a namespace wait for a ClusterQueue."""

    # Factories: see ClusterQueue.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["LocalQueue"] = field(default_factory=lambda: "LocalQueue")
    metadata: ObjectMeta
    spec: OrDefault[LocalQueueSpec] = field(default_factory=LocalQueueSpec)
    status: LocalQueueStatus | None = None


class WorkloadPriorityClass(Defaulting, kw_only=True):
    """A priority of workloads that does not affect the scheduling of their pods."""

    # Factories: see ClusterQueue.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["WorkloadPriorityClass"] = field(default_factory=lambda: "WorkloadPriorityClass")
    metadata: ObjectMeta
    value: Int32
    """The priority. A change does not affect existing workloads."""
    description: OrDefault[Annotated[str, Meta(max_length=2048)]] = ""
    """When to use the class."""
