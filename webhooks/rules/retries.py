"""Retries of a Workload's admission checks (KEP-3258)."""

from __future__ import annotations

from collections.abc import Iterator

from schema.verdict import INVALID, Cause
from webhooks.rules.fields import child, integer, items, text
from webhooks.rules.request import Object

__all__ = ["retry_causes", "retry_warnings"]


def retry_causes(workload: Object, old: Object) -> Iterator[Cause]:
    """The faults in retryCount. It may only grow, or start again at zero."""
    stored = _checks(old)
    for index, check in enumerate(items(child(workload, "status"), "admissionChecks")):
        count = integer(check, "retryCount") or 0
        before = integer(stored.get(text(check, "name"), {}), "retryCount") or 0
        if 0 < count < before:
            message = f"{count} is neither 0 nor at least {before}, which it was"
            yield Cause(f"status.admissionChecks[{index}].retryCount", INVALID, message)


def retry_warnings(workload: Object, old: Object) -> Iterator[str]:
    """A warning about a delay that has no effect. A stored delay gets no second warning."""
    stored = _checks(old)
    for index, check in enumerate(items(child(workload, "status"), "admissionChecks")):
        delay, state = integer(check, "requeueAfterSeconds"), text(check, "state")
        before = stored.get(text(check, "name"), {})
        unchanged = (delay, state) == (integer(before, "requeueAfterSeconds"), text(before, "state"))
        if delay is not None and state != "Retry" and not unchanged:
            path = f"status.admissionChecks[{index}].requeueAfterSeconds"
            yield f"{path} has no effect: the check's state is {state}, not Retry"


def _checks(workload: Object) -> dict[str, Object]:
    return {text(check, "name"): check for check in items(child(workload, "status"), "admissionChecks")}
