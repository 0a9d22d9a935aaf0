"""Metrics of the quota controller, under the names that Kueue has for them. The labels are bounded."""

from __future__ import annotations

from functools import cache
from typing import get_args

from prometheus_client import REGISTRY, Counter, Gauge

from controllers.quota.life.draft import Counted
from runtime.exchange.agreements import Agrees

__all__ = ["OBSERVED", "PLANS", "STANDS_ASIDE", "count", "export_kueues", "export_observed"]

RESERVED = Counter(
    "kueue_quota_reserved_workloads_total", "Workloads that got quota.", ["cluster_queue"], registry=None
)
ADMITTED = Counter(
    "kueue_admitted_workloads_total", "Workloads that were admitted.", ["cluster_queue"], registry=None
)
EVICTED = Counter(
    "kueue_evicted_workloads_total",
    "Evictions of Workloads.",
    ["cluster_queue", "reason", "underlying_cause"],
    registry=None,
)
EVICTED_ONCE = Counter(
    "kueue_evicted_workloads_once_total",
    "Workloads that were evicted for this reason and cause for the first time.",
    ["cluster_queue", "reason", "underlying_cause"],
    registry=None,
)
PREEMPTED = Counter(
    "kueue_preempted_workloads_total",
    "Workloads that were preempted, by the ClusterQueue of the preemptor.",
    ["preempting_cluster_queue", "reason"],
    registry=None,
)
PLANS = Counter("reprieve_quota_plans_total", "Plans of the quota plane that entered a phase.", ["phase"])
"""Kueue has no plans."""
STANDS_ASIDE = Gauge(
    "reprieve_quota_stands_aside",
    "1 while this process leads but does not manage quota, because Kueue manages it, or may manage it.",
)
OBSERVED = Counter(
    "reprieve_observer_decisions_total",
    "Decisions that Kueue wrote, and whether reprieve decides the same on the state before.",
    ["agrees"],
)


@cache
def export_kueues() -> None:
    """Export the metrics with Kueue's names. Only a process that manages quota has them."""
    for each in (RESERVED, ADMITTED, EVICTED, EVICTED_ONCE, PREEMPTED):
        REGISTRY.register(each)


def export_observed() -> None:
    """Export the decisions that were compared, from 0 on."""
    for agrees in get_args(Agrees):
        OBSERVED.labels(agrees)


def count(counted: Counted) -> None:
    """Count what was written."""
    match counted.what:
        case "QuotaReserved":
            RESERVED.labels(counted.queue).inc()
        case "Admitted":
            ADMITTED.labels(counted.queue).inc()
        case "Evicted":
            EVICTED.labels(counted.queue, counted.reason, counted.cause).inc()
            if counted.is_first:
                EVICTED_ONCE.labels(counted.queue, counted.reason, counted.cause).inc()
        case "Preempted":
            PREEMPTED.labels(counted.queue, counted.reason).inc()
