"""Why a Workload waits, where its status says it: it has ended, it is held, or it waits for admission checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from api.waits import Wait
from api.words import listed
from api.workloads import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    AdmissionCheckState,
    Workload,
)
from quota.answers.pod_counts import counts_held, in_part
from quota.state.workloads import holds_quota, true_condition

__all__ = ["NEXT", "check_text", "said_by_status"]

NEXT: Final = "In the next cycle of the process that manages the quota."


def said_by_status(workload: Workload, known: Wait) -> Wait | None:
    """The answer, if no decision about quota can change it. `known`: what is said of every Workload."""
    return _over(workload, known) or _held(workload, known)


def _over(workload: Workload, known: Wait) -> Wait | None:
    """For one that has ended, or that nobody may admit."""
    if (end := true_condition(workload, FINISHED)) is not None:
        says = f"It does not wait: it has finished ({end.reason}). {end.message}"
        return replace(
            known, waits=False, state="Finished", sentence=says, since=end.last_transition_time or ""
        )
    if workload.metadata.deletion_timestamp is not None:
        return replace(
            known, waits=False, state="Terminating", sentence="It does not wait: it is being deleted."
        )
    if workload.spec.active:
        return None
    why = true_condition(workload, DEACTIVATION_TARGET) or true_condition(workload, EVICTED)
    said = f" Its status says: {why.message}" if why is not None and why.message else ""
    return replace(
        known,
        state="Deactivated",
        sentence=f"It waits because spec.active is false: it is not admitted.{said}",
        would_help=("spec.active: true.",),
        tried_again="When spec.active becomes true.",
    )


def _held(workload: Workload, known: Wait) -> Wait | None:
    """For one that has quota: it runs, is evicted, or waits for admission checks."""
    reserved = true_condition(workload, QUOTA_RESERVED)
    if reserved is None or not holds_quota(workload):
        return None
    queue = workload.status.admission.cluster_queue if workload.status.admission is not None else ""
    known = replace(known, numbers={**known.numbers, "clusterQueue": queue}, pod_sets=counts_held(workload))
    if (evicted := true_condition(workload, EVICTED)) is not None:
        says = f"It is being evicted ({evicted.reason}): {evicted.message}"
        again = "When nothing of it runs any longer. Then it queues again."
        return replace(
            known,
            state="Evicting",
            sentence=says,
            since=evicted.last_transition_time or "",
            tried_again=again,
        )
    if (admitted := true_condition(workload, ADMITTED)) is not None:
        part = in_part(known.pod_sets)
        where = f"{queue} with {part} (partial admission, minCount)" if part else queue
        says = f"It does not wait for quota: it is admitted in ClusterQueue {where}."
        since = admitted.last_transition_time or ""
        return replace(known, waits=False, state="Admitted", sentence=says, since=since)
    return _checked(workload, replace(known, since=reserved.last_transition_time or ""))


def _checked(workload: Workload, known: Wait) -> Wait:
    """For one that has quota and is not admitted."""
    open_ = [each for each in workload.status.admission_checks or () if each.state != "Ready"]
    says = "It has quota, and waits for admission checks: "
    says += listed([each.name for each in open_]) if open_ else "none is left, so it is about to be admitted"
    return replace(
        known,
        state="AdmissionChecks",
        sentence=f"{says}.",
        waits_for=tuple(map(check_text, open_)),
        would_help=tuple(f"AdmissionCheck {each.name} would have to be Ready." for each in open_),
        tried_again="When the controllers of these checks write their state." if open_ else NEXT,
    )


def check_text(check: AdmissionCheckState) -> str:
    tries = f", {check.retry_count} retries so far" if check.retry_count else ""
    after = f", again after {check.requeue_after_seconds} s" if check.requeue_after_seconds else ""
    said = f": {check.message}" if check.message else ""
    return (
        f"AdmissionCheck {check.name} is {check.state} since {check.last_transition_time}{tries}{after}{said}"
    )
