"""Decisions about nodes and quota, and the turns of worker clusters, as far as a reader may know them.

Their fields are those of the spec of a PreemptionPlan and of a DispatchPlan: `api.plans` and `api.dispatch` say what
they mean.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from api.dispatch import DispatchPlanSpec, DispatchPlanStatus
from api.disruption import BudgetPolicy
from api.plan_results import (
    DomainResult,
    Excluded,
    OtherDomains,
    Outcome,
    PlanCost,
    SearchReport,
    StoppingBudget,
)
from api.plans import (
    Domain,
    Evictor,
    EvictorReason,
    MismatchReason,
    Placement,
    Preemptor,
    PreemptorKind,
    VictimQuota,
)
from web.wire.base import Wire

__all__ = ["Decision", "Turn"]


class DecidedPod(Wire):
    """A pod to evict. It has no fields if the reader may not know it."""

    namespace: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    uid: str | UnsetType = UNSET
    node: str | UnsetType = UNSET


class DecidedVictim(Wire):
    """A unit to evict. Without a UID it is of a namespace that the reader may not see."""

    kind: PreemptorKind
    namespace: str
    name: str
    pods: list[DecidedPod]
    uid: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    violates_pod_disruption_budget: bool | UnsetType = UNSET
    quota: VictimQuota | UnsetType = UNSET


class Turn(Wire):
    """The turn of a worker cluster: a DispatchPlan."""

    plan: str
    """Its name."""
    spec: DispatchPlanSpec
    status: DispatchPlanStatus | None


class Decision(Wire):
    """Fields of the spec of a PreemptionPlan, or the turns of the clusters that a Workload is offered to."""

    preemptor: Preemptor | UnsetType = UNSET
    outcome: Outcome | Literal["Unknown"] | UnsetType = UNSET
    """Unknown: what is not modelled could make it another one."""
    reason: str | UnsetType = UNSET
    mismatch: MismatchReason | UnsetType = UNSET
    mode: Literal["Observe"] | UnsetType = UNSET
    evicted_by: Evictor | UnsetType = UNSET
    evictor_reason: EvictorReason | UnsetType = UNSET
    domain: Domain | UnsetType | None = UNSET
    priority_cutoff: int | UnsetType | None = UNSET
    search: SearchReport | UnsetType = UNSET
    placements: list[Placement] | UnsetType = UNSET
    victims: list[DecidedVictim] | UnsetType = UNSET
    cost: PlanCost | UnsetType = UNSET
    pod_disruption_budget_violations: int | UnsetType = UNSET
    pod_disruption_budget_policy: BudgetPolicy | UnsetType = UNSET
    stopped_by_pod_disruption_budgets: list[StoppingBudget] | UnsetType = UNSET
    domains: list[DomainResult] | UnsetType = UNSET
    other_domains: list[OtherDomains] | UnsetType = UNSET
    not_modelled: list[str] | UnsetType = UNSET
    excluded: list[Excluded] | UnsetType = UNSET
    other_excluded: int | UnsetType = UNSET
    victim_units: int | UnsetType = UNSET
    victim_pods: int | UnsetType = UNSET
    turns: list[Turn] | UnsetType = UNSET
