"""DispatchPlan (`reprieve.dev/v1alpha1`): the turn of one cluster to preempt for a Workload, and why it is this one.

It is written before the cluster's preemption gate opens (KEP-8303). The spec never changes. The sentences below the
fields become the CRD's descriptions (`api.crds`).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from api.groups import API_VERSION
from api.meta import ObjectMeta
from api.plan_results import PlanCost, PlanStruct

__all__ = [
    "DispatchPlan",
    "DispatchPlanSpec",
    "DispatchPlanStatus",
    "DispatchedWorkload",
    "WorkerCluster",
]

Order = Literal["LeastDisruption", "FirstComeFirstServed"]
TurnPhase = Literal["Open", "Admitted", "TimedOut", "Ended"]


class DispatchedWorkload(PlanStruct):
    """The Workload that waits in several clusters."""

    name: str
    """Its name. Its namespace is that of the DispatchPlan."""
    uid: str
    """Its UID."""
    attempt: str
    """When its quota was reserved. Another quota is another attempt, with turns of its own."""
    priority: int
    """Its priority."""


class WorkerCluster(PlanStruct):
    """One of the clusters that were asked."""

    name: str
    """The name of the MultiKueueCluster."""
    said: str
    """What it said about the Workload when the turn was given."""
    turns: int
    """How many turns it had in this attempt before."""
    open_gates: int
    """How many gates were open in it, for all Workloads."""
    cost: PlanCost | None = None
    """What the preemption there would cost. Null: it did not say."""


class DispatchPlanSpec(PlanStruct):
    """The turn. It never changes."""

    workload: DispatchedWorkload
    number: int
    """1 for the first turn of the attempt."""
    cluster: str
    """The MultiKueueCluster that may preempt."""
    order: Order
    """By what clusters were compared."""
    reason: str
    """One sentence that says why it is this cluster."""
    began: str
    """When the turn began, by the manager's clock. The gate opens after that."""
    until: str
    """When the turn ends if the Workload is not admitted before."""
    clusters: list[WorkerCluster] = field(default_factory=list)
    """All clusters of the MultiKueueConfig, in its order."""


class DispatchPlanStatus(PlanStruct):
    """What became of the turn."""

    phase: TurnPhase
    """Open: it lasts. Admitted: a cluster admitted the Workload. TimedOut: it ended without that. Ended: the attempt
    ended before."""
    reason: str
    """One sentence about the end; empty while it lasts."""
    ended: str | UnsetType = UNSET
    """When it ended, by the manager's clock. Absent while it lasts."""


class DispatchPlan(PlanStruct, kw_only=True):
    """One cluster's turn to preempt for a Workload that waits in several clusters."""

    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["DispatchPlan"] = field(default_factory=lambda: "DispatchPlan")
    metadata: ObjectMeta
    spec: DispatchPlanSpec
    status: DispatchPlanStatus | None = None
