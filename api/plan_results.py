"""What the search found, as PreemptionPlans say it: outcomes, scores, domains, and how far it went.

The sentences below the fields become the CRD's descriptions (`api.crds`).
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from api.disruption import ScoreTerm
from api.meta import Struct

__all__ = [
    "DomainResult",
    "Excluded",
    "OtherDomains",
    "Outcome",
    "PlanCost",
    "PlanStruct",
    "Score",
    "SearchReport",
    "StoppingBudget",
    "TermValue",
]

Outcome = Literal[
    "Fits", "Preempts", "Proposes", "Unschedulable", "SearchBudgetExhausted", "Releases", "Withdraws"
]


class PlanStruct(Struct, omit_defaults=False):
    """A part of a plan. Every field is written out, so that a reader need not know the defaults."""


class TermValue(PlanStruct):
    """An optional term of a score, which the configuration asks for."""

    name: ScoreTerm
    """Its name."""
    value: int
    """What the domain costs by it. Less is better."""


class Score(PlanStruct):
    """The cost of a domain. Domains are compared field by field, in this order."""

    pod_disruption_budget_violations: int
    """Evictions beyond what the budgets allow, summed over all budgets. Fewer is better."""
    highest_victim_priority: int | None
    """The highest priority of a victim. Lower is better. Null without victims."""
    priority_sum: int
    """The sum over all victims of priority plus 2**31. Less is better."""
    units: int
    """The number of victims. Fewer is better."""
    pods: int
    """The number of pods to evict. Fewer is better."""
    earliest_start: str | None
    """The earliest start of the victims with the highest priority. Later is better. If gangs would run with fewer than
    minCount pods without some of these victims, only those count, and they cost more than any start. Null without
    victims."""
    terms: list[TermValue] = field(default_factory=list)
    """What the configuration adds to the score, in the order in which it is compared."""


class StoppingBudget(PlanStruct):
    """A PodDisruptionBudget that is respected, and that the preemptor would need to be exceeded."""

    namespace: str
    """Its namespace. Empty in a PreemptionPlan of another namespace."""
    name: str
    """Its name. Empty in a PreemptionPlan of another namespace."""
    allowed: int
    """How many disruptions it allowed."""


class DomainResult(PlanStruct):
    """The result for one domain."""

    value: str | None
    """The topology label's value. Null for the whole cluster."""
    outcome: Outcome
    """The outcome if the preemptor were placed in this domain."""
    reason: str
    """Why this domain won or lost."""
    score: Score | None
    """The cost of this domain. Null if the preemptor cannot be placed here, or if `reason` gives only a bound."""


class OtherDomains(PlanStruct):
    """Domains that lost and are not listed one by one."""

    outcome: Outcome
    """The outcome if the preemptor were placed in one of these domains."""
    reason: str
    """Why these domains lost."""
    count: int
    """The number of these domains."""


class Excluded(PlanStruct):
    """A node that was left out for a pod of the preemptor and for pods like it: a scheduler did not take one there."""

    pod: str
    """NAMESPACE/NAME of the pod that the scheduler did not take there. Empty if it is of another namespace than the
    PreemptionPlan."""
    node: str
    """The node's name."""
    seen: str
    """What was seen of the scheduler."""


class SearchReport(PlanStruct):
    """How far the search for the victims went."""

    work_microseconds: int
    """The work that went into better victims, in microseconds of a reference machine. It is counted and not measured,
    so it is the same on every machine."""
    ended: bool
    """True if everything was tried: no plan costs less. False if the work that the configuration allows was not enough
    for that: there may be a better plan."""
    lowest_cutoff: bool
    """True if it is proven that no plan in this domain has a lower priorityCutoff, unless it violates more budgets."""


class PlanCost(PlanStruct):
    """What a preemption for a Workload would cost. Costs are compared field by field."""

    highest_victim_priority: int
    """The highest priority of a victim. Lower is better."""
    priority_sum: int
    """The sum of the victims' priorities. Less is better."""
    workloads: int
    """The number of Workloads that lose their quota. Fewer is better."""
    pods: int
    """The number of pods that are evicted, also those of others that are evicted on nodes. Fewer is better."""
    pod_seconds: int
    """The work that is lost: seconds since the admission of each victim, times its pods. Less is better."""
