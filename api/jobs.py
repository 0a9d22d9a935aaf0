"""The parts of Jobs (batch/v1) that reprieve reads: how many failures a Job takes, and which of them count."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import ObjectMeta, Struct

__all__ = ["INDEX_FAILURES", "Job", "JobSpec", "JobStatus", "PodFailurePolicy", "PodFailurePolicyRule"]

INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
"""Annotation of a pod of a Job with `backoffLimitPerIndex`: how often its index has failed."""


class PodConditionPattern(Struct):
    """batch/v1 PodFailurePolicyOnPodConditionsPattern."""

    type: str
    status: str = "True"


class PodFailurePolicyRule(Struct):
    """batch/v1 PodFailurePolicyRule; `action` is Ignore, Count, FailIndex or FailJob. `onExitCodes` is not read."""

    action: str
    on_pod_conditions: list[PodConditionPattern] | None = None


class PodFailurePolicy(Struct):
    """batch/v1 PodFailurePolicy: the first rule that matches a failed pod decides."""

    rules: list[PodFailurePolicyRule] | None = None


class JobSpec(Struct):
    """batch/v1 JobSpec."""

    backoff_limit: int = 6
    """The Job fails when more pods than this have failed."""
    backoff_limit_per_index: int | None = None
    """An index fails when more of its pods than this have failed."""
    pod_failure_policy: PodFailurePolicy | None = None


class JobStatus(Struct):
    """batch/v1 JobStatus. A null count is zero."""

    failed: int | None = None
    succeeded: int | None = None


class Job(Struct):
    """batch/v1 Job."""

    metadata: ObjectMeta
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)
