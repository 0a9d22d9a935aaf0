"""Metrics of the views of a cluster for operators. The labels are bounded: cluster and kind."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

__all__ = ["MIRROR_OBJECTS", "MIRROR_REFUSED", "MIRROR_UNREADABLE"]

MIRROR_OBJECTS = Gauge("reprieve_mirror_objects", "Objects that are followed.", ["cluster", "kind"])
MIRROR_REFUSED = Counter(
    "reprieve_mirror_refused_total",
    "States of objects that could not be read. The last state that could be read stays.",
    ["cluster", "kind"],
)
MIRROR_UNREADABLE = Gauge(
    "reprieve_mirror_unreadable_objects",
    "Objects whose newest state cannot be read: what is known of them is old, or nothing.",
    ["cluster", "kind"],
)
