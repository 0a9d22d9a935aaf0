"""Why a Job waits, from its spec and status, its pods, and what was said of pods that it could not create."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from api.core import Pod
from api.disruption import DISRUPTION_TARGET
from api.foreign_owners import OwningJob
from api.integration import QUEUE_NAME_LABEL
from api.waits import Wait
from api.words import counted
from nodes.answers.creators import Event, creator_of_job, why_short
from nodes.answers.failing_jobs import why_it_fails
from nodes.answers.pod_waits import why_pod_waits

__all__ = ["why_job_waits"]

ADVICE: Final = f"A podFailurePolicy that ignores the pod condition {DISRUPTION_TARGET} prevents it."


def why_job_waits(job: OwningJob, pods: Sequence[Pod], events: Sequence[Event]) -> Wait:
    """The answer for the Job. `pods`: those that it controls. A Job in a queue depends on its Workload besides."""
    creator, name = creator_of_job(job), f"{job.metadata.namespace}/{job.metadata.name}"
    waiting = [pod for pod in pods if why_pod_waits(pod).waits]
    there = [pod for pod in pods if pod.status.phase not in ("Succeeded", "Failed") and not _leaves(pod)]
    queue = (job.metadata.labels or {}).get(QUEUE_NAME_LABEL, "")
    numbers: dict[str, int | str] = {
        "podsAtOnce": creator.pods,
        "pods": len(there),
        "podsWithoutNode": len(waiting),
        "terminatingPods": sum(map(_leaves, pods)),
        "succeeded": job.status.succeeded or 0,
        "failed": job.status.failed or 0,
    }
    if queue:
        numbers["localQueue"] = queue
    known = Wait("Job", name, False, "", "", numbers=numbers)
    if (over := _over(job, known)) is not None:
        return over
    if fails := why_it_fails(job, creator.pods):
        note = f"If all of its pods are evicted at once, it fails for good: {fails}. {ADVICE}"
        known = replace(known, notes=(note,))
    return _stopped(job, known, queue) or _running(job, known, pods, there, waiting, events)


def _leaves(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def _over(job: OwningJob, known: Wait) -> Wait | None:
    ends = (each for each in job.status.conditions or () if each.status == "True")
    end = next((each for each in ends if each.type in ("Complete", "Failed")), None)
    if end is not None:
        why = f": {end.message}" if end.message else ""
        says = f"It does not wait: it has ended ({end.type}){why}."
        return replace(known, state=end.type, sentence=says, since=end.last_transition_time or "")
    if job.metadata.deletion_timestamp is not None:
        return replace(known, state="Terminating", sentence="It does not wait: it is being deleted.")
    return None


def _stopped(job: OwningJob, known: Wait, queue: str) -> Wait | None:
    if not job.spec.suspend:
        return None
    says = "It waits: it is suspended"
    if queue:
        says += f", because it waits in LocalQueue {queue}. Its Workload has to be admitted."
        return replace(
            known, waits=True, state="Suspended", sentence=says,
            would_help=("The admission of its Workload.",), tried_again="When its Workload is admitted.",
        )  # fmt: skip
    return replace(
        known, waits=True, state="Suspended", sentence=f"{says}, and is in no queue.",
        would_help=("spec.suspend: false.",), tried_again="When somebody resumes it.",
    )  # fmt: skip


def _running(
    job: OwningJob,
    known: Wait,
    pods: Sequence[Pod],
    there: Sequence[Pod],
    waiting: Sequence[Pod],
    events: Sequence[Event],
) -> Wait:
    """For one that may run: pods of it do not exist, or have no node."""
    creator = creator_of_job(job)
    wanted = creator.pods
    if job.spec.completions is not None:
        wanted = min(wanted, max(0, job.spec.completions - (job.status.succeeded or 0)))
    missing = why_short(creator, pods, events) if len(there) < wanted else ""
    known = replace(known, since=job.status.start_time or "", missing=(missing,) if missing else ())
    if waiting:
        says = f"It waits: {len(waiting)} of {counted(len(there), 'pod')} have no node."
        return replace(known, waits=True, state="PodsWait", sentence=says)
    if missing:
        says = f"It waits for pods: {len(there)} of {wanted} exist."
        return replace(
            known, waits=True, state="PodsMissing", sentence=says, tried_again="By the Job controller."
        )
    says = f"It does not wait: every pod of it has a node ({len(there)} of {wanted} exist)."
    return replace(known, state="Running", sentence=says)
