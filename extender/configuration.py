"""The extender's part of the Configuration file."""

from __future__ import annotations

import ipaddress

from msgspec import field

from api.validation import FieldError
from extender.decision import BUDGET
from serving.sections import Count, FilePath, GuardedListener, Port, Seconds, Section

__all__ = [
    "ExtenderConfiguration",
    "PlanningConfiguration",
    "TLSConfiguration",
    "check_extender",
    "check_planning",
]


class TLSConfiguration(Section):
    """Mutual TLS: our certificate, and the CA of those who may call. Paths of PEM files."""

    cert_file: FilePath
    key_file: FilePath
    client_ca_file: FilePath = field(name="clientCAFile")


class ExtenderConfiguration(GuardedListener, kw_only=True):
    """The listener that kube-scheduler calls. Without `tls` it needs `plainHTTP` and a loopback address."""

    port: Port = 9443
    tls: TLSConfiguration | None = None
    plain_http: bool = field(name="plainHTTP", default=False)


class PlanningConfiguration(Section):
    """What bounds planning.

    searchBudget: steps that one exact packing may take before its domain is given up (SearchBudgetExhausted).
    planDeadlineSeconds: a plan and its reservation end so long after it was committed.
    backoff*Seconds: between two plans for a gang that does not fit.
    maxWatchAgeSeconds: not ready when the API server has been silent for longer.
    """

    search_budget: Count = BUDGET
    plan_deadline_seconds: Seconds = 300
    backoff_initial_seconds: Seconds = 1
    backoff_max_seconds: Seconds = 60
    kept_plans_per_preemptor: Count = 3
    max_watch_age_seconds: Seconds = 150


def check_extender(extender: ExtenderConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if extender.tls is not None:
        if extender.plain_http:
            raise FieldError("extender.plainHTTP", "cannot be true beside extender.tls")
    elif not extender.plain_http:
        raise FieldError(
            "extender.tls", "is missing (plainHTTP: true does without it, on a loopback address only)"
        )
    elif not _is_loopback(extender.bind_address):
        raise FieldError(
            "extender.bindAddress", f"must be a loopback address with plainHTTP, not {extender.bind_address}"
        )


def check_planning(planning: PlanningConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if planning.backoff_max_seconds < planning.backoff_initial_seconds:
        raise FieldError("planning.backoffMaxSeconds", "is less than planning.backoffInitialSeconds")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
