"""What a preemption would cost: the victims, their pods, and the work that is lost. Data, not text."""

from __future__ import annotations

from collections.abc import Collection

from api.plan_results import PlanCost
from api.workloads import ADMITTED, Workload
from quota.search.decision import Target
from quota.state.amounts import QuotaError
from quota.state.snapshot import Holder
from quota.state.workloads import time_us, true_condition

__all__ = ["cost_of", "pods_held"]

SECOND = 1_000_000


def cost_of(targets: Collection[Target], now: int, others: int = 0) -> PlanCost:
    """The cost of a decision that preempts these. `now`: in microseconds since 1970.

    `others`: how many further pods are evicted on nodes. Raises ValueError if there are no targets.
    """
    holders = [each.holder for each in targets]
    pods = [pods_held(each.workload) for each in holders]
    return PlanCost(
        highest_victim_priority=max(each.priority for each in holders),
        priority_sum=sum(each.priority for each in holders),
        workloads=len(holders),
        pods=sum(pods) + others,
        pod_seconds=sum(
            count * (max(0, now - _since(holder)) // SECOND)
            for count, holder in zip(pods, holders, strict=True)
        ),
    )


def pods_held(workload: Workload) -> int:
    """For how many pods it holds quota, without those that have ended."""
    admission, asked = workload.status.admission, {each.name: each.count for each in workload.spec.pod_sets}
    for each in (admission.pod_set_assignments if admission is not None else None) or ():
        if each.count is not None:
            asked[each.name] = each.count
    for gone in workload.status.reclaimable_pods or ():
        asked[gone.name] = max(0, asked.get(gone.name, 0) - (gone.count or 0))
    return sum(asked.values())


def _since(holder: Holder) -> int:
    """Since when its pods may run. One that waits for its checks, or whose time cannot be read, counts from its quota
    on."""
    admitted = true_condition(holder.workload, ADMITTED)
    try:
        return time_us((admitted.last_transition_time if admitted is not None else None) or "", "")
    except QuotaError:
        return holder.reserved
