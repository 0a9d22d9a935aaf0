"""Metrics of the probes. The label is bounded: the checks of a process."""

from __future__ import annotations

from prometheus_client import Gauge

__all__ = ["HEALTHCHECK"]

HEALTHCHECK = Gauge(
    "reprieve_healthcheck", "1 while a check passes that /readyz?verbose lists, 0 while it fails.", ["name"]
)
