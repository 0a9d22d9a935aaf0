"""Metrics of the process and of its views of a cluster. The labels are bounded: cluster and kind."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

__all__ = ["LEADING", "MIRROR_OBJECTS", "MIRROR_REFUSED", "MIRROR_UNREADABLE"]

LEADING = Gauge("reprieve_leading", "1 while this process acts, 0 while it follows.")
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
