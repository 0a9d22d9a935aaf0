"""Metrics of the quota controller, under the names that Kueue has for them. The labels are bounded."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

from controllers.quota.draft import Counted

__all__ = ["PLANS", "STANDS_ASIDE", "count"]

RESERVED = Counter("kueue_quota_reserved_workloads_total", "Workloads that got quota.", ["cluster_queue"])
ADMITTED = Counter("kueue_admitted_workloads_total", "Workloads that were admitted.", ["cluster_queue"])
EVICTED = Counter(
    "kueue_evicted_workloads_total",
    "Evictions of Workloads.",
    ["cluster_queue", "reason", "underlying_cause"],
)
PREEMPTED = Counter(
    "kueue_preempted_workloads_total",
    "Workloads that were preempted, by the ClusterQueue of the preemptor.",
    ["preempting_cluster_queue", "reason"],
)
PLANS = Counter("reprieve_quota_plans_total", "Plans of the quota plane that entered a phase.", ["phase"])
"""Kueue has no plans."""
STANDS_ASIDE = Gauge(
    "reprieve_quota_stands_aside",
    "1 while this process leads but leaves quota alone: Kueue manages, or may manage.",
)


def count(counted: Counted) -> None:
    """Count what was written."""
    match counted.what:
        case "QuotaReserved":
            RESERVED.labels(counted.queue).inc()
        case "Admitted":
            ADMITTED.labels(counted.queue).inc()
        case "Evicted":
            EVICTED.labels(counted.queue, counted.reason, counted.cause).inc()
        case "Preempted":
            PREEMPTED.labels(counted.queue, counted.reason).inc()
