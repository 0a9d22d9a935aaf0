"""Metrics of the views of a cluster for operators. The labels are bounded: cluster and kind."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

__all__ = ["MIRROR_OBJECTS", "MIRROR_REFUSED", "MIRROR_UNREADABLE"]

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
