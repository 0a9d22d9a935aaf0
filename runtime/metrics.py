"""Metrics of the process and of its views of a cluster. The labels are bounded: lease, cluster and kind."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "CATCH_UP_SECONDS",
    "LEADING",
    "MIRROR_OBJECTS",
    "MIRROR_REFUSED",
    "MIRROR_UNREADABLE",
    "PAUSES",
    "PLAN_OVERDUE_SECONDS",
    "WATCH_AGE",
    "forget_views",
]

LEADING = Gauge(
    "reprieve_leading",
    "1 while this process acts, 0 while it follows. The label names the Lease; it is empty without an election.",
    ["lease"],
)
MIRROR_OBJECTS = Gauge("reprieve_mirror_objects", "Objects that the process follows.", ["cluster", "kind"])
MIRROR_REFUSED = Counter(
    "reprieve_mirror_refused_total",
    "States of objects that could not be read. The last readable state stays.",
    ["cluster", "kind"],
)
MIRROR_UNREADABLE = Gauge(
    "reprieve_mirror_unreadable_objects",
    "Objects whose newest state cannot be read. Their known state is old, or there is none.",
    ["cluster", "kind"],
)
WATCH_AGE = Gauge(
    "reprieve_watch_age_seconds",
    "Seconds since the API server last sent something about a kind. It sends a bookmark about every minute. NaN while "
    "an optional kind is not served, or may not be read.",
    ["cluster", "kind"],
)
PLAN_OVERDUE_SECONDS = Gauge(
    "reprieve_oldest_plan_overdue_seconds",
    "By how much the oldest stored plan that has not ended is beyond its deadline, by plane: nodes, quota. 0 if none "
    "is. A process that does not lead has it, too.",
    ["plane"],
)
PAUSES = Gauge(
    "reprieve_pauses",
    "Pauses that hold. scope all: 1 while the namespace of reprieve is paused, and nobody is evicted. scope namespace: "
    "the number of other namespaces that are paused.",
    ["scope"],
)
CATCH_UP_SECONDS = Histogram(
    "reprieve_catch_up_seconds",
    "Seconds until the views of a new leader were as new as the API server.",
    ["cluster"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0),
)


def forget_views(cluster: str) -> None:
    """Take away what is known of the views of a cluster that is no longer there."""
    for metric in (CATCH_UP_SECONDS, MIRROR_OBJECTS, MIRROR_REFUSED, MIRROR_UNREADABLE, WATCH_AGE):
        metric.remove_by_labels({"cluster": cluster})
