"""Whether a Job bears the eviction of some of its pods. A pure function.

A Job counts a deleted pod as failed, unless its podFailurePolicy ignores pods with the condition DisruptionTarget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from api.jobs import Job, PodFailurePolicyRule
from api.words import counted

__all__ = ["why_job_stays"]


def why_job_stays(job: Job, index_failures: Sequence[int]) -> str:
    """Why pods of the Job may not be evicted; empty if they may.

    `index_failures`: for each of these pods, how often its index has failed. See `api.jobs.INDEX_FAILURES`.
    """
    name = f"Job {job.metadata.name}"
    if job.status.succeeded:
        return f"a pod of {name} has succeeded"
    verdict = _of_policy(job)
    if verdict == "ignored":
        return ""
    if verdict == "fails":
        return f"the podFailurePolicy of {name} may fail the Job"
    failed, limit = job.status.failed or 0, job.spec.most_failures
    if failed + len(index_failures) > limit:
        return f"{name} bears {counted(limit, 'failed pod')}, and has {failed} already"
    per_index = job.spec.backoff_limit_per_index
    if per_index is not None and max(index_failures, default=0) + 1 > per_index:
        return f"an index of {name} bears no further failure (backoffLimitPerIndex {per_index})"
    return ""


def _of_policy(job: Job) -> Literal["ignored", "counted", "fails"]:
    """What the policy makes of an evicted pod. A rule about exit codes may match it: nobody knows its exit code."""
    policy = job.spec.pod_failure_policy
    for rule in (policy.rules if policy is not None else None) or ():
        if rule.on_pod_conditions is not None and not _is_about_evictions(rule):
            continue
        if rule.action in ("FailJob", "FailIndex"):
            return "fails"
        if rule.action == "Count":
            return "counted"
        if rule.on_pod_conditions is not None:
            return "ignored"
    return "counted"


def _is_about_evictions(rule: PodFailurePolicyRule) -> bool:
    return any(
        each.type == "DisruptionTarget" and each.status == "True" for each in rule.on_pod_conditions or ()
    )
