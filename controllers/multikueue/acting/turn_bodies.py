"""DispatchPlans as they are written."""

from __future__ import annotations

import hashlib
from typing import Final

from api.dispatch import (
    DispatchedWorkload,
    DispatchPlan,
    DispatchPlanSpec,
    DispatchPlanStatus,
    WorkerCluster,
)
from api.meta import ObjectMeta
from api.plan_results import PlanCost
from api.times import rfc3339_micro
from api.workloads import Workload
from controllers.multikueue.life.decision import EndTurn, GiveTurn
from controllers.multikueue.life.seen import Cost, Seen

__all__ = ["plan_name", "plan_of", "status_of"]

DIGEST: Final = 8
MOST: Final = 253


def plan_name(workload: Workload, attempt: str, number: int) -> str:
    """The name of the DispatchPlan of this turn. Two leaders that give the same turn write the same object: only the
    first of them succeeds."""
    text = f"{workload.metadata.uid}/{attempt}/{number}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST]
    return f"{workload.metadata.name[: MOST - DIGEST - 1].rstrip('.-')}-{digest}"


def plan_of(seen: Seen, workload: Workload, give: GiveTurn, *, by_cost: bool) -> DispatchPlan:
    """The DispatchPlan of a turn."""
    meta = workload.metadata
    said = {each.name: each for each in give.clusters}
    spec = DispatchPlanSpec(
        DispatchedWorkload(meta.name, meta.uid, seen.attempt, workload.spec.priority or 0),
        give.number,
        give.cluster,
        "LeastDisruption" if by_cost else "FirstComeFirstServed",
        give.reason,
        rfc3339_micro(give.began / 1_000_000),
        rfc3339_micro(give.until / 1_000_000),
        [
            WorkerCluster(
                each.name,
                said[each.name].said,
                said[each.name].turns,
                each.open_gates,
                _cost(each.cost) if each.cost is not None else None,
            )
            for each in seen.clusters
        ],
    )
    name = plan_name(workload, seen.attempt, give.number)
    return DispatchPlan(metadata=ObjectMeta(name=name, namespace=meta.namespace), spec=spec)


def status_of(end: EndTurn, now: float) -> DispatchPlanStatus:
    """What a DispatchPlan says of a turn that is over. `now`: in seconds since 1970."""
    return DispatchPlanStatus(end.phase, end.reason, rfc3339_micro(now))


def _cost(cost: Cost) -> PlanCost:
    return PlanCost(cost.highest_priority, cost.priority_sum, cost.workloads, cost.pods, cost.pod_seconds)
