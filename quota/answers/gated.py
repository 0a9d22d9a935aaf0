"""What a Workload with a closed preemption gate says: the gates, and what its preemption would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from api.plan_results import PlanCost
from api.plans import PreemptionPlan
from api.stored_plans import proposal_of
from api.waits import Wait
from api.words import counted, listed
from api.workloads import Workload
from quota.answers.told import EVERYTHING, Told
from quota.cycle.costs import cost_of
from quota.search.decision import Decision

__all__ = ["closed_gates", "with_cost"]


def closed_gates(workload: Workload) -> list[str]:
    """The preemption gates that are not reported as open."""
    states = {state.name: state.position for state in workload.status.preemption_gates or ()}
    return [gate.name for gate in workload.spec.preemption_gates or () if states.get(gate.name) != "Open"]


def with_cost(
    workload: Workload,
    known: Wait,
    decision: Decision,
    plans: Sequence[PreemptionPlan],
    now: int,
    told: Told = EVERYTHING,
) -> Wait:
    """The answer with gates, cost, and the stored plan that says the same. `now`: in microseconds since 1970."""
    gates = closed_gates(workload)
    plan = proposal_of(plans, workload.metadata.uid)
    cost, name = cost_of(decision.targets, now), ""
    full = all(
        told.may_name("Workload", each.holder.workload.metadata.namespace) for each in decision.targets
    )
    if plan is not None:
        name = f"{plan.metadata.namespace}/{plan.metadata.name}"
        targets = {each.holder.workload.metadata.uid for each in decision.targets}
        if plan.spec.cost and {each.uid for each in plan.spec.victims} == targets:
            cost = plan.spec.cost  # it counts pods that would be evicted on nodes, too
    says = (
        f"It waits for preemption {'gate' if len(gates) == 1 else 'gates'} {listed(gates)}: "
        f"{counted(len(decision.targets), 'Workload')} would have to be preempted, and a preemption gate is closed. "
        f"That would cost {_words(cost, full)}."
    )
    return replace(known, sentence=says, numbers={**known.numbers, **_numbers(cost, full)}, plan=name)


def _words(cost: PlanCost, full: bool) -> str:
    """Without `full`: only how many Workloads and pods."""
    if not full:
        return f"{counted(cost.workloads, 'Workload')} with {counted(cost.pods, 'pod')}"
    return (
        f"{counted(cost.workloads, 'Workload')} with {counted(cost.pods, 'pod')} and "
        f"{counted(cost.pod_seconds, 'pod-second')} of work. The highest priority of a victim is "
        f"{cost.highest_victim_priority}, and the sum of their priorities is {cost.priority_sum}"
    )


def _numbers(cost: PlanCost, full: bool) -> Mapping[str, int | str]:
    counts = {"victimWorkloads": cost.workloads, "victimPods": cost.pods}
    if not full:
        return counts
    return {
        "highestVictimPriority": cost.highest_victim_priority,
        "victimPrioritySum": cost.priority_sum,
        **counts,
        "lostPodSeconds": cost.pod_seconds,
    }
