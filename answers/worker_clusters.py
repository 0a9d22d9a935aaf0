"""What the objects of a manager say of its worker clusters. Nothing is asked in a worker cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.checks import AdmissionCheck, MultiKueueCluster
from api.dispatch import DispatchPlan
from api.meta import Condition
from api.multikueue import CONTROLLER_NAME, GATES_CONDITION
from api.workloads import AdmissionCheckState, Workload
from quota.state.workloads import attempt_of

__all__ = ["WorkerClusters", "check_of", "condition_of", "is_over", "turns_of"]

ACTIVE = "Active"


@dataclass(frozen=True, slots=True)
class WorkerClusters:
    """The clusters, and whose turn it is."""

    clusters: Mapping[str, MultiKueueCluster] = field(default_factory=dict)
    """By name."""
    plans: Sequence[DispatchPlan] = ()
    unread: str = ""
    """Which rights are missing to read them; empty if none is."""

    def active(self, name: str) -> Condition | None:
        """Whether the cluster is reached; None if nothing says so."""
        return self._condition(name, ACTIVE)

    def gates(self, name: str) -> Condition | None:
        """Whether the cluster honours preemption gates; None if nothing says so."""
        return self._condition(name, GATES_CONDITION)

    def _condition(self, name: str, kind: str) -> Condition | None:
        cluster = self.clusters.get(name)
        return condition_of(cluster, kind) if cluster is not None else None


def condition_of(cluster: MultiKueueCluster, kind: str) -> Condition | None:
    """The condition of the cluster; None if it does not have it."""
    conditions = (cluster.status.conditions if cluster.status is not None else None) or ()
    return next((each for each in conditions if each.type == kind), None)


def check_of(workload: Workload, checks: Mapping[str, AdmissionCheck]) -> AdmissionCheckState | None:
    """The state of the check that sends the Workload to a cluster; None if it has no such check."""
    for state in workload.status.admission_checks or ():
        check = checks.get(state.name)
        if check is not None and check.spec is not None and check.spec.controller_name == CONTROLLER_NAME:
            return state
    return None


def turns_of(plans: Sequence[DispatchPlan], workload: Workload) -> list[DispatchPlan]:
    """The turns of the quota that the Workload holds, in their order."""
    attempt = attempt_of(workload)
    its = (
        each
        for each in plans
        if attempt
        and each.metadata.namespace == workload.metadata.namespace
        and (each.spec.workload.uid, each.spec.workload.attempt) == (workload.metadata.uid, attempt)
    )
    return sorted(its, key=lambda each: each.spec.number)


def is_over(plan: DispatchPlan) -> bool:
    """Whether the turn has ended, and its status says how."""
    return plan.status is not None and plan.status.phase != "Open"
