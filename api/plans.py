"""PreemptionPlan (`reprieve.dev/v1alpha1`): one decision, whole: who goes, who is placed where, and why.

The spec is the decision and never changes; the status is how far it has been carried out.
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from api.groups import API_VERSION
from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "Domain",
    "DomainResult",
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
Phase = Literal["Planned", "Evicting", "Ready", "Bound", "Blocked", "Unschedulable", "Aborted", "Expired"]


class PlanStruct(Struct, omit_defaults=False):
    """A part of a plan: every field is written out, so that a reader need not know the defaults."""


class Preemptor(PlanStruct):
    """Who asks for room; `kind` is PodGroup or Pod."""

    kind: Literal["PodGroup", "Pod"]
    api_version: str
    namespace: str
    name: str
    uid: str
    priority: int


class Domain(PlanStruct):
    """Where the preemptor goes; a null key is the whole cluster, `kubernetes.io/hostname` a single node."""

    topology_key: str | None
    value: str | None


class Placement(PlanStruct):
    """A pod of the preemptor (same namespace) and its node."""

    pod: str
    node: str


class VictimPod(PlanStruct):
    """One pod to evict."""

    namespace: str
    name: str
    uid: str
    node: str


class Victim(PlanStruct):
    """One unit to evict: a group in `all` mode with all its pods, or a single pod."""

    kind: Literal["PodGroup", "Pod"]
    namespace: str
    name: str
    uid: str
    priority: int
    violates_pod_disruption_budget: bool
    pods: list[VictimPod]


class Score(PlanStruct):
    """What a domain costs, in the order in which domains are compared: smaller is better, later is better.

    `prioritySum` adds 2**31 per unit to its priority. `earliestStart` (RFC 3339) is the earliest start among
    the victims of the highest priority. It and `highestVictimPriority` are null where nobody goes.
    """

    pod_disruption_budget_violations: int
    highest_victim_priority: int | None
    priority_sum: int
    units: int
    pods: int
    earliest_start: str | None


class DomainResult(PlanStruct):
    """How one domain fared; `score` is null where the preemptor cannot be placed."""

    value: str | None
    outcome: Outcome
    reason: str
    score: Score | None


class OtherDomains(PlanStruct):
    """Losing domains that are not listed one by one."""

    outcome: Outcome
    reason: str
    count: int


class PreemptionPlanSpec(PlanStruct):
    """The decision. `domain` is null where nothing is placed, `priorityCutoff` where nobody goes."""

    preemptor: Preemptor
    outcome: Outcome
    reason: str
    domain: Domain | None = None
    priority_cutoff: int | None = None
    placements: list[Placement] = field(default_factory=list)
    victims: list[Victim] = field(default_factory=list)
    pod_disruption_budget_violations: int = 0
    domains: list[DomainResult] = field(default_factory=list)
    other_domains: list[OtherDomains] = field(default_factory=list)
    not_modelled: list[str] = field(default_factory=list)


class PreemptionPlanStatus(Struct):
    """How far the decision has been carried out."""

    phase: Phase | None = None
    conditions: list[Condition] | None = None


class PreemptionPlan(Struct):
    """The object that is written before the first eviction, and read by whoever asks why."""

    metadata: ObjectMeta
    spec: PreemptionPlanSpec
    status: PreemptionPlanStatus | None = None
    api_version: str = API_VERSION
    kind: Literal["PreemptionPlan"] = "PreemptionPlan"
