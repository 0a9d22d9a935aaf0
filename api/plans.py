"""PreemptionPlan (`reprieve.dev/v1alpha1`): one decision, whole: who goes, who is placed where, and why.

The spec is the decision and never changes; the status is how far it has been carried out. The sentences below the
fields become the CRD's descriptions (`api.crds`).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from api.groups import API_VERSION
from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "Domain",
    "DomainResult",
    "MismatchReason",
    "OtherDomains",
    "Outcome",
    "Phase",
    "Placement",
    "PreemptionPlan",
    "PreemptionPlanSpec",
    "PreemptionPlanStatus",
    "Preemptor",
    "Score",
    "Victim",
    "VictimPod",
]

Outcome = Literal["Fits", "Preempts", "Unschedulable", "SearchBudgetExhausted"]
MismatchReason = Literal["PriorityMismatch", "SchedulerMismatch"]
Phase = Literal["Planned", "Evicting", "Ready", "Bound", "Blocked", "Unschedulable", "Aborted", "Expired"]


class PlanStruct(Struct, omit_defaults=False):
    """A part of a plan: every field is written out, so that a reader need not know the defaults."""


class Preemptor(PlanStruct):
    """Who asks for room."""

    kind: Literal["PodGroup", "Pod"]
    api_version: str
    namespace: str
    name: str
    uid: str
    priority: int
    """The group's priority where it is a group, which replaces its pods' own."""


class Domain(PlanStruct):
    """Where the preemptor goes."""

    topology_key: str | None
    """The node label that tells domains apart; null is the whole cluster, kubernetes.io/hostname a single node."""
    value: str | None
    """The label's value; null for the whole cluster."""


class Placement(PlanStruct):
    """A pod of the preemptor, in its namespace, and the node it is to run on."""

    pod: str
    """The pod's name."""
    node: str
    """The node's name."""
    uid: str = ""
    """The pod's UID; empty in plans that were stored before there was this field."""
    beyond_min_count: bool = False
    """The pod takes room that is left: nobody is evicted for it, and the group runs without it."""


class VictimPod(PlanStruct):
    """One pod to evict."""

    namespace: str
    name: str
    uid: str
    node: str
    """The node that it runs on."""


class Victim(PlanStruct):
    """One unit to evict."""

    kind: Literal["PodGroup", "Pod"]
    """PodGroup is a group in `all` mode, which goes whole; anything else goes pod by pod."""
    namespace: str
    name: str
    uid: str
    priority: int
    """Its group's, for a pod that has a group; of a group that goes whole, the lowest of its own and its pods'."""
    violates_pod_disruption_budget: bool
    """Without this unit fewer budgets would be violated."""
    pods: list[VictimPod]
    """The pods that go."""


class Score(PlanStruct):
    """What a domain costs; domains are compared field by field, in this order."""

    pod_disruption_budget_violations: int
    """Over all budgets, evictions beyond what they allow; fewer is better."""
    highest_victim_priority: int | None
    """Lower is better; null where nobody goes."""
    priority_sum: int
    """Of each victim its priority plus 2**31; less is better."""
    units: int
    """Victims; fewer is better."""
    pods: int
    """Pods to evict; fewer is better."""
    earliest_start: str | None
    """Earliest start among the victims of the highest priority; later is better, null where nobody goes."""


class DomainResult(PlanStruct):
    """How one domain fared."""

    value: str | None
    """The topology label's value; null for the whole cluster."""
    outcome: Outcome
    """What placing the preemptor here would come to."""
    reason: str
    """Why it did not win, or why it did."""
    score: Score | None
    """Null where the preemptor cannot be placed."""


class OtherDomains(PlanStruct):
    """Losing domains that are not listed one by one."""

    outcome: Outcome
    """What all of them would come to."""
    reason: str
    """Why none of them won."""
    count: int
    """How many there are."""


class PreemptionPlanSpec(PlanStruct):
    """The decision; it never changes."""

    preemptor: Preemptor
    outcome: Outcome
    """Fits: nobody needs to go. Preempts: the victims make room. Otherwise nobody goes."""
    reason: str
    """One sentence on why it came out so."""
    mismatch: MismatchReason | UnsetType = UNSET
    """Why nobody may go for it: its members differ from their group, or from one another. Left out where they may."""
    domain: Domain | None = None
    """Null where nothing is placed."""
    priority_cutoff: int | None = None
    """Units of higher priority were never considered: the lowest cut-off that suffices; null where nobody goes."""
    placements: list[Placement] = field(default_factory=list)
    """Empty unless the outcome is Fits or Preempts."""
    victims: list[Victim] = field(default_factory=list)
    """What is evicted. Empty unless the outcome is Preempts."""
    pod_disruption_budget_violations: int = 0
    """Over all budgets, evictions beyond what they allow."""
    domains: list[DomainResult] = field(default_factory=list)
    """The winner and the best of the losers."""
    other_domains: list[OtherDomains] = field(default_factory=list)
    """Losers beyond those, counted by reason."""
    not_modelled: list[str] = field(default_factory=list)
    """Constraints that the search does not know; a plan with any evicts nobody."""
    victim_units: int | UnsetType = UNSET
    """Number of victims; written when the plan is stored."""
    victim_pods: int | UnsetType = UNSET
    """Number of pods to evict; written when the plan is stored."""
    compressed_victims: str | UnsetType = UNSET
    """Stands for `victims` where they are too many to list: base64 of the xz-compressed JSON list."""
    compressed_placements: str | UnsetType = UNSET
    """Stands for `placements` where they are too many to list: base64 of the xz-compressed JSON list."""


class PreemptionPlanStatus(Struct):
    """How far the decision has been carried out."""

    phase: Phase | None = None
    """Planned, Evicting, Ready and Bound in turn; the others are ends at which nobody else is evicted."""
    conditions: list[Condition] | None = None


class PreemptionPlan(Struct, kw_only=True):
    """One preemption decision, written before the first eviction."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["PreemptionPlan"] = field(default_factory=lambda: "PreemptionPlan")
    metadata: ObjectMeta
    spec: PreemptionPlanSpec
    status: PreemptionPlanStatus | None = None
