"""Metrics of reads and writes for operators. The labels are bounded: clusters, kinds, verbs, codes."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

__all__ = [
    "API_REQUESTS",
    "EVENTS_DROPPED",
    "MIRROR_EVENTS",
    "REFLECTOR_LISTS",
    "REFLECTOR_STREAM_ENDS",
    "WRITE_RETRIES",
    "WRITE_SECONDS",
    "forget_cluster",
]

API_REQUESTS = Counter(
    "reprieve_api_requests_total",
    "Requests to the API server, by method and status code (0: no answer).",
    ["cluster", "method", "code"],
)
MIRROR_EVENTS = Counter("reprieve_mirror_events_total", "Watch events received.", ["cluster", "kind"])
REFLECTOR_LISTS = Counter(
    "reprieve_reflector_lists_total", "Lists begun, including the first one.", ["cluster", "kind"]
)
REFLECTOR_STREAM_ENDS = Counter(
    "reprieve_reflector_stream_ends_total",
    "Lists and watches that ended, by cause: in time, expired (the resource version was too old), invalid (an invalid "
    "line), refused (the resource is not served, or forbidden), silent (no data came for 90 s), fault (another "
    "failure).",
    ["cluster", "kind", "cause"],
)
WRITE_SECONDS = Histogram(
    "reprieve_write_seconds",
    "Time of a write to the API server, retries included.",
    ["cluster", "what"],
    buckets=(0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0),
)
WRITE_RETRIES = Counter("reprieve_write_retries_total", "Writes that were tried again.", ["cluster", "what"])
EVENTS_DROPPED = Counter(
    "reprieve_events_dropped_total",
    "Events for users that were not written, because there were too many or the API server refused them.",
    ["cluster", "why"],
)


def forget_cluster(cluster: str) -> None:
    """Take away what was counted for a cluster that is no longer there."""
    for metric in (
        API_REQUESTS,
        MIRROR_EVENTS,
        REFLECTOR_LISTS,
        REFLECTOR_STREAM_ENDS,
        WRITE_SECONDS,
        WRITE_RETRIES,
        EVENTS_DROPPED,
    ):
        metric.remove_by_labels({"cluster": cluster})
