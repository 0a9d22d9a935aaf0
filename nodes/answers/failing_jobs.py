"""Jobs that fail for good when their pods are evicted: the Job controller counts each of them as failed."""

from __future__ import annotations

from api.disruption import DISRUPTION_TARGET
from api.integration import QUEUE_NAME_LABEL
from api.jobs import Job, PodFailurePolicyRule
from api.words import counted

__all__ = ["why_it_fails"]


def why_it_fails(job: Job, pods: int) -> str:
    """Why the Job fails for good when this number of its running pods is evicted; empty if it does not.

    A Job in a queue is not looked at: it is suspended before its pods go, and then none of them counts.
    """
    if (job.metadata.labels or {}).get(QUEUE_NAME_LABEL):
        return ""
    action = _action(job)
    if action in ("Ignore", "FailJob"):
        return "" if action == "Ignore" else f"its podFailurePolicy has FailJob for {DISRUPTION_TARGET}"
    per_index, limit, failed = (
        job.spec.backoff_limit_per_index,
        job.spec.most_failures,
        job.status.failed or 0,
    )
    if per_index is not None:
        fails = action == "FailIndex" or per_index == 0
        return "the index of each evicted pod fails at once" if fails else ""
    if failed + pods <= limit:
        return ""
    before = f", {failed} failed before" if failed else ""
    return f"it loses {counted(pods, 'pod')}{before}, and its backoffLimit is {limit}"


def _action(job: Job) -> str:
    """What its podFailurePolicy says of an evicted pod: the first rule that matches decides. Count if none does."""
    policy = job.spec.pod_failure_policy
    rules = (policy.rules if policy is not None else None) or ()
    return next((rule.action for rule in rules if _matches(rule)), "Count")


def _matches(rule: PodFailurePolicyRule) -> bool:
    patterns = rule.on_pod_conditions or ()
    return any(each.type == DISRUPTION_TARGET and each.status == "True" for each in patterns)
