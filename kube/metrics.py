"""What operators can watch of the mirror and the writes; labels are bounded: kinds, verbs, codes."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "API_REQUESTS",
    "EVENTS_DROPPED",
    "MIRROR_EVENTS",
    "MIRROR_OBJECTS",
    "MIRROR_REFUSED",
    "REFLECTOR_LISTS",
    "REFLECTOR_STREAM_ENDS",
    "WRITE_RETRIES",
    "WRITE_SECONDS",
]

API_REQUESTS = Counter(
    "reprieve_api_requests_total",
    "Requests to the API server, by method and status code (0: no answer).",
    ["method", "code"],
)
MIRROR_EVENTS = Counter("reprieve_mirror_events_total", "Watch events applied to the mirror.", ["kind"])
MIRROR_OBJECTS = Gauge("reprieve_mirror_objects", "Objects in the mirror.", ["kind"])
MIRROR_REFUSED = Counter(
    "reprieve_mirror_refused_total",
    "Objects that could not be read and are missing from the mirror.",
    ["kind"],
)
REFLECTOR_LISTS = Counter("reprieve_reflector_lists_total", "Lists begun, the first one included.", ["kind"])
REFLECTOR_STREAM_ENDS = Counter(
    "reprieve_reflector_stream_ends_total",
    "Watch streams that ended: in time, by expiry of the resource version, by an invalid line, by a fault.",
    ["kind", "cause"],
)
WRITE_SECONDS = Histogram(
    "reprieve_write_seconds",
    "Time of a write to the API server, retries included.",
    ["what"],
    buckets=(0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0),
)
WRITE_RETRIES = Counter("reprieve_write_retries_total", "Writes that were tried again.", ["what"])
EVENTS_DROPPED = Counter(
    "reprieve_events_dropped_total", "Events for users that were not written: too many, or refused.", ["why"]
)
