"""Admission checks of one Workload: which it has, and what follows from Retry and Rejected (KEP-3258).

See docs/decisions/0043.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from api.times import rfc3339
from api.workloads import (
    ADMISSION_CHECK,
    DEACTIVATION_TARGET,
    REQUEUED,
    AdmissionCheckState,
    RequeueState,
)
from controllers.quota.life.draft import Draft

__all__ = [
    "all_ready",
    "end_wait",
    "forget_retries",
    "judge_checks",
    "reset_checks",
    "show_wait",
    "sync_checks",
    "why_retry",
]

SECOND: Final = 1_000_000


def sync_checks(draft: Draft, required: Collection[str]) -> None:
    """The Workload has exactly the checks that its ClusterQueue requires. A new one is Pending.

    One that runs in another cluster keeps those that it has: by its check, the cluster gives it back.
    """
    before = {each.name: each for each in draft.status.admission_checks or ()}
    names = {*required, *before} if draft.status.cluster_name is not None else {*required}
    if before.keys() == names:
        return
    draft.status.admission_checks = [
        before.get(name) or AdmissionCheckState(name, "Pending", draft.time, "") for name in sorted(names)
    ] or None


def all_ready(draft: Draft, required: Collection[str]) -> bool:
    """Whether all required checks are Ready."""
    ready = {each.name for each in draft.status.admission_checks or () if each.state == "Ready"}
    return ready.issuperset(required)


def judge_checks(draft: Draft) -> None:
    """A check that rejects the Workload deactivates it."""
    rejected = _in_state(draft, "Rejected")
    if not rejected or draft.is_true(DEACTIVATION_TARGET):
        return
    message = _listed(rejected, "Rejected")
    draft.set(DEACTIVATION_TARGET, True, ADMISSION_CHECK, message)
    draft.event("Warning", "AdmissionCheckRejected", f"Deactivated due to {message}")


def why_retry(draft: Draft) -> str:
    """The message of the eviction, if a check wants another try; otherwise empty."""
    retries = _in_state(draft, "Retry")
    return f"Evicted due to {_listed(retries, 'Retry')}" if retries else ""


def _requeue_time(draft: Draft) -> int | None:
    """The end of the longest delay of the checks in Retry; None if none of them has a delay."""
    ends = [
        draft.at(each.last_transition_time) + each.requeue_after_seconds * SECOND
        for each in _in_state(draft, "Retry")
        if each.requeue_after_seconds
    ]
    return max(ends, default=None)


def show_wait(draft: Draft) -> None:
    """requeueAt says until when checks in Retry delay the Workload. The count stays."""
    until = _requeue_time(draft)
    if until is None or until <= draft.now:
        return
    state = draft.status.requeue_state or RequeueState()
    time = rfc3339(-(-until // SECOND))
    if state.requeue_at != time:
        draft.status.requeue_state = msgspec.structs.replace(state, requeue_at=time)


def end_wait(draft: Draft) -> None:
    """A Workload without quota waits while checks are in Retry, until the longest delay ends.

    Then one write makes all checks Pending, and the Workload is queued again. A delay that is written meanwhile makes
    the wait longer. It makes no difference when the controller of a check wrote Retry.
    """
    if not _in_state(draft, "Retry"):
        return
    until = _requeue_time(draft)
    if until is not None and draft.now < until:
        show_wait(draft)
        draft.look_again(until)
        if not draft.is_false(REQUEUED):
            message = why_retry(draft).replace("Evicted due to", "Waits because of", 1)
            draft.set(REQUEUED, False, ADMISSION_CHECK, message)
        return
    reset_checks(draft, also_retry=True)
    if draft.status.requeue_state is not None:
        count = draft.status.requeue_state.count
        draft.status.requeue_state = RequeueState(count) if count is not None else None
    draft.set(REQUEUED, True, "BackoffFinished", "The workload backoff was finished")


def reset_checks(draft: Draft, *, also_retry: bool) -> None:
    """An eviction makes checks Pending. Those in Retry keep their delay, and wait for its end."""
    reset = [
        _pending(draft, each) if each.state != "Pending" and (also_retry or each.state != "Retry") else each
        for each in draft.status.admission_checks or ()
    ]
    if reset != list(draft.status.admission_checks or ()):
        draft.status.admission_checks = reset


def forget_retries(draft: Draft) -> None:
    """Counts and delays of all checks begin anew (KEP-3258: the Workload was admitted, or deactivated)."""
    checks = draft.status.admission_checks or []
    if any(each.retry_count is not None or each.requeue_after_seconds is not None for each in checks):
        draft.status.admission_checks = [
            msgspec.structs.replace(each, retry_count=None, requeue_after_seconds=None) for each in checks
        ]


def _pending(draft: Draft, check: AdmissionCheckState) -> AdmissionCheckState:
    retries = check.retry_count
    if check.state == "Retry":
        retries = (retries or 0) + 1
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return AdmissionCheckState(check.name, "Pending", draft.time, message, None, retries)


def _in_state(draft: Draft, state: str) -> list[AdmissionCheckState]:
    found = [each for each in draft.status.admission_checks or () if each.state == state]
    return sorted(found, key=lambda each: each.name)


def _listed(checks: Sequence[AdmissionCheckState], state: str) -> str:
    """The checks in this state, in Kueue's words."""
    said = "; ".join(f'"{each.name}"' + (f" ({each.message})" if each.message else "") for each in checks)
    return f"AdmissionCheck{'s' if len(checks) > 1 else ''} in {state} state: {said}"
