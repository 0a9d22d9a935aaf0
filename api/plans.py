"""PreemptionPlan (`reprieve.dev/v1alpha1`): one complete decision with its victims, placements and reasons.

The spec is the decision and never changes. The status says how far the decision has been carried out. The sentences
below the fields become the CRD's descriptions (`api.crds`).
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import UNSET, UnsetType, field

from api.disruption import BudgetPolicy
from api.groups import API_VERSION
from api.instead import Instead
from api.meta import Condition, ObjectMeta, Struct
from api.plan_results import (
    DomainResult,
    Excluded,
    OtherDomains,
    Outcome,
    PlanCost,
    PlanStruct,
    SearchReport,
    StoppingBudget,
)
from api.workloads import PreemptionReason

__all__ = [
    "PREEMPTOR_KIND",
    "PROPOSAL",
    "ClusterPreemptionPlan",
    "Domain",
    "Evictor",
    "EvictorReason",
    "MismatchReason",
    "Phase",
    "Placement",
    "PreemptionPlan",
    "PreemptionPlanSpec",
    "PreemptionPlanStatus",
    "Preemptor",
    "PreemptorKind",
    "PreemptorQuota",
    "QuotaAmount",
    "Victim",
    "VictimPod",
    "VictimQuota",
]

PREEMPTOR_KIND: Final = "reprieve.dev/preemptor-kind"
"""The label of the objects that the quota plane writes: `Workload`. Those of the nodes plane do not have it."""
PROPOSAL: Final = "reprieve.dev/proposal"
"""The label of plans whose outcome is Proposes: `true`."""

Phase = Literal[
    "Proposed",
    "Planned",
    "Confirmed",
    "Evicting",
    "Ready",
    "Bound",
    "Blocked",
    "Unschedulable",
    "Aborted",
    "Expired",
    "Released",
    "QuotaReserved",
    "Observed",
]
PreemptorKind = Literal["PodGroup", "Pod", "Workload"]
MismatchReason = Literal["PriorityMismatch", "SchedulerMismatch", "EvictedInVain"]
Evictor = Literal["Scheduler", "Reprieve"]
EvictorReason = Literal[
    "SameVictims",
    "NoDearer",
    "DriveMode",
    "TopologyConstraint",
    "BudgetsRespected",
    "UnknownUnit",
    "PodStays",
    "PromisedRoom",
    "OtherVictims",
    "NotFeasible",
    "NotProven",
]


class QuotaAmount(PlanStruct):
    """One resource in one flavor."""

    flavor: str
    """The ResourceFlavor that the Workload gets."""
    resource: str
    """The resource, such as cpu."""
    asked: str
    """The quantity that the Workload asks for, all of its pods together."""
    available: str
    """The quantity that was available before any victim went. What is promised to others is not in it."""
    borrowed: str
    """The part of `asked` that is beyond the nominal quota of the ClusterQueue, once the victims are gone."""


class PreemptorQuota(PlanStruct):
    """The quota that a Workload asks for."""

    cluster_queue: str
    """The ClusterQueue that the Workload waits for."""
    path: str
    """The path from the root Cohort to this ClusterQueue, such as /root/team/queue."""
    generation: int
    """The Workload's metadata.generation that this was decided for. With another one, the plan ends."""
    borrowing: int
    """How many levels of Cohorts the Workload borrows from. 0 if the quota of the ClusterQueue itself suffices."""
    amounts: list[QuotaAmount]
    """What it asks for, by flavor and resource. It is promised to the Workload until the plan ends."""


class Preemptor(PlanStruct):
    """The group, pod or Workload that asks for room."""

    kind: PreemptorKind
    api_version: str
    namespace: str
    name: str
    uid: str
    priority: int
    """The priority of the pod, group or Workload. A group's priority replaces the priority of its pods."""
    quota: PreemptorQuota | UnsetType = UNSET
    """Which quota it asks for. Only of a Workload."""


class Domain(PlanStruct):
    """The part of the cluster where the preemptor is placed."""

    topology_key: str | None
    """The node label that tells domains apart. Null means the whole cluster, kubernetes.io/hostname a single node."""
    value: str | None
    """The label's value. Null for the whole cluster."""


class Placement(PlanStruct):
    """A pod in the preemptor's namespace, and the node that the plan gives it."""

    pod: str
    """The pod's name."""
    node: str
    """The node's name."""
    uid: str = ""
    """The pod's UID. Empty in a plan for a Workload, whose pods may not exist yet."""
    beyond_min_count: bool = False
    """True if the pod only takes free room. No pod is evicted for it, and the group can run without it."""
    any_node: bool = False
    """True if the scheduler chooses the node, because the pod, or one that has to be in the same domain, uses devices
    and the plan does not know where they are. `node` has room for the rest of the pod. No room is promised there."""
    wave: int | UnsetType = UNSET
    """The number of the pod's wave, from 0. The pod comes when all pods of earlier waves are on their nodes: else a
    filter could refuse it, or one of them. Pods of one wave may come in any order. Absent if all pods may."""


class VictimPod(PlanStruct):
    """One pod to evict."""

    namespace: str
    """Its namespace. Empty in a PreemptionPlan of another namespace."""
    name: str
    """Its name. Empty in a PreemptionPlan of another namespace."""
    uid: str
    """Its UID."""
    node: str
    """The node that it runs on."""


class VictimQuota(PlanStruct):
    """The quota that a Workload gives back, and why it has to."""

    reason: PreemptionReason
    """The rule by which it goes, as in its condition Preempted."""
    cluster_queue: str
    """The ClusterQueue whose quota it holds."""
    path: str
    """The path from the root Cohort to this ClusterQueue, such as /root/team/queue."""
    since: str
    """Since when it has held its quota."""


class Victim(PlanStruct):
    """One unit to evict."""

    kind: PreemptorKind
    """PodGroup for a group in `all` mode, which is evicted as a whole. Other pods are evicted one by one. Workload for
    one that gives its quota back."""
    namespace: str
    """Its namespace. Empty in a PreemptionPlan of another namespace: the ClusterPreemptionPlan has it."""
    name: str
    """Its name. Empty in a PreemptionPlan of another namespace: the ClusterPreemptionPlan has it."""
    uid: str
    """Its UID."""
    priority: int
    """The priority of the unit. For a pod in a group, it is the group's priority. For a group that goes
    whole, it is the lowest of its own priority and its pods'."""
    violates_pod_disruption_budget: bool
    """True if fewer budgets would be violated without this unit. Always false of a Workload: whoever made it ends its
    pods."""
    pods: list[VictimPod]
    """The pods to evict. Empty of a Workload."""
    quota: VictimQuota | UnsetType = UNSET
    """Which quota it gives back, and why. Only of a Workload."""


class PreemptionPlanSpec(PlanStruct):
    """The decision. It never changes."""

    preemptor: Preemptor
    outcome: Outcome
    """Fits: no eviction is needed. Preempts: the victims make room. Releases: the victims are the preemptor's own
    bound members. It never ran whole, and they go so that it waits as a whole. Withdraws: the same, and they go because
    the preemptor has lost its quota. Proposes: the victims would make room, and stay, because a preemption gate of the
    preemptor is closed. Any other outcome evicts no pod."""
    reason: str
    """One sentence that says why the decision has this outcome."""
    mismatch: MismatchReason | UnsetType = UNSET
    """Why the plan may evict no pod: members differ from their group or from one another, or plans before this one
    have evicted pods in vain. Absent if it may."""
    mode: Literal["Observe"] | UnsetType = UNSET
    """Observe: nothing is done for this decision. It says what would be done with planning.mode Enforce. Absent in all
    other plans."""
    evicted_by: Evictor | UnsetType = UNSET
    """Who evicts for a gang of kube-scheduler's own kind. Scheduler: each member is offered its planned node only, and
    the scheduler's own preemption evicts. Reprieve: the victims are deleted before the members are offered their nodes.
    Absent in plans for other preemptors."""
    evictor_reason: EvictorReason | UnsetType = UNSET
    """Why. SameVictims: with these placements, the scheduler's rule evicts the victims of the plan, or equal ones.
    NoDearer: the victims are those of the scheduler's rule; the search had found others, which do not cost less.
    DriveMode: the configuration says so. TopologyConstraint: the group has one. BudgetsRespected: no
    PodDisruptionBudget may be exceeded. UnknownUnit: the scheduler does not know a group that would be evicted.
    PodStays: the scheduler would evict a pod that must not be evicted. PromisedRoom: it would use room that is promised
    to others. OtherVictims: it would evict pods that cost more. NotFeasible: in its view, a member does not fit on its
    node yet. NotProven: it is not known what it would do. Absent if evictedBy is."""
    domain: Domain | None = None
    """The domain of the placements. Null if the plan places no pod."""
    priority_cutoff: int | None = None
    """The lowest priority limit for victims that was found to be enough. `search` says whether it is proven to be the
    lowest. The plan evicts no unit of higher priority. Null without victims."""
    search: SearchReport | UnsetType = UNSET
    """How far the search for the victims went. Absent unless the outcome is Preempts."""
    placements: list[Placement] = field(default_factory=list)
    """The nodes of the preemptor's pods. Empty unless the outcome is Fits or Preempts."""
    victims: list[Victim] = field(default_factory=list)
    """The units to evict. Empty unless the outcome is Preempts, Proposes, Releases or Withdraws."""
    cost: PlanCost | UnsetType = UNSET
    """What the preemption would cost. Absent unless the outcome is Proposes."""
    pod_disruption_budget_violations: int = 0
    """Evictions beyond what the budgets allow, summed over all budgets. With the policy Ignore none is counted."""
    pod_disruption_budget_policy: BudgetPolicy | UnsetType = UNSET
    """How far budgets counted. Ignore: not at all. Respect: no pod is evicted if a budget would be
    exceeded. Absent: a plan that exceeds them less is better."""
    stopped_by_pod_disruption_budgets: list[StoppingBudget] | UnsetType = UNSET
    """The budgets that are respected and stop the preemptor. Absent if it is not they that stop it."""
    domains: list[DomainResult] = field(default_factory=list)
    """The domain that won, and the best domains that lost."""
    other_domains: list[OtherDomains] = field(default_factory=list)
    """Further domains that lost, counted by reason."""
    not_modelled: list[str] = field(default_factory=list)
    """Constraints that the search does not model. If there are any, the plan evicts no pod."""
    excluded: list[Excluded] | UnsetType = UNSET
    """Nodes that the search left out for some of the preemptor's pods, sorted. Absent if it left out no node."""
    other_excluded: int | UnsetType = UNSET
    """The number of such nodes that are not listed. Absent if all are listed."""
    victim_units: int | UnsetType = UNSET
    """The number of victims. Set when the plan is stored."""
    victim_pods: int | UnsetType = UNSET
    """The number of pods to evict. Set when the plan is stored. Absent if the victims are Workloads."""
    compressed_victims: str | UnsetType = UNSET
    """The base64 of the xz-compressed JSON list of victims, if `victims` would be too long."""
    compressed_placements: str | UnsetType = UNSET
    """The base64 of the xz-compressed JSON list of placements, if `placements` would be too long."""


class PreemptionPlanStatus(Struct):
    """How far the decision has been carried out."""

    phase: Phase | None = None
    """Planned, Confirmed, Evicting, Ready and Bound follow one another. If the preemptor is a Workload, Evicting and
    QuotaReserved do. Proposed: nobody is evicted, because a preemption gate is closed, and the plan goes when the
    Workload no longer waits for its gates. Observed: nobody is evicted, because the planning.mode is Observe. The other
    phases are ends: nobody else is evicted."""
    conditions: list[Condition] | None = None
    last_decision_time: str | None = None
    """When the search last came to this decision. It is written at most once a minute."""
    begun: list[str] | None = None
    """UIDs of victims of several pods that have begun to go. Each is finished, whatever becomes of the plan."""
    victim_owners: list[str] | None = None
    """UIDs of those who would create the victims again: their PodGroups, else their controllers. Set when the plan
    begins to evict."""
    skipped_dry_runs: int | None = None
    """The number of pods whose eviction was not tried by a dry run. No webhook and no policy that the API shows may
    refuse it, and that of another pod of the same namespace, kind of owner and service account was tried. Set when the
    plan begins to evict."""
    taken_nodes: list[str] | None = None
    """Nodes where pods that never came to the extender took the room that the plan had made."""
    unplanned: list[str] | None = None
    """UIDs of pods on the plan's nodes that kube-scheduler has evicted while it evicted by the plan, and that the plan
    does not name."""
    next_attempt: str | None = None
    """When kube-scheduler tries the preemptor again at the latest (RFC 3339). Of a plan by which the scheduler evicts,
    and written only if that is not soon. Attempts on others may put it off."""
    next_attempt_known: bool | None = None
    """Every attempt was seen, so that is the time. Otherwise it is an upper bound, and it may come much sooner."""
    handed_over: str | None = None
    """Since when kube-scheduler may evict by the plan (RFC 3339): a pass was offered enough of its nodes. Empty if it
    may not. As of the time when nextAttempt was written."""
    instead: Instead | None = None
    """What the scheduler did instead. Only of a plan in phase Observed, and only of the one that is compared."""


class PreemptionPlan(Struct, kw_only=True):
    """One preemption decision, written before the first eviction."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["PreemptionPlan"] = field(default_factory=lambda: "PreemptionPlan")
    metadata: ObjectMeta
    spec: PreemptionPlanSpec
    status: PreemptionPlanStatus | None = None


class ClusterPreemptionPlan(Struct, kw_only=True):
    """The whole decision of a PreemptionPlan whose victims are of other namespaces, for those who may read all.

    Its name is NAMESPACE.NAME of the PreemptionPlan, which has the status.
    """

    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["ClusterPreemptionPlan"] = field(default_factory=lambda: "ClusterPreemptionPlan")
    metadata: ObjectMeta
    spec: PreemptionPlanSpec
