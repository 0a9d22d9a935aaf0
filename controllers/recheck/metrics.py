"""Metrics of the checks. Labels are bounded: kinds, never the name of an object."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["INVALID_OBJECTS"]

INVALID_OBJECTS = Gauge(
    "reprieve_webhook_invalid_objects",
    "Stored objects that would be refused if they were created now, as of the last check of all objects.",
    ["kind"],
)
