"""The parts of Jobs (batch/v1) that reprieve reads."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "INDEX_FAILURES",
    "JOB_CONTROLLER",
    "OF_THE_JOB",
    "Job",
    "JobSpec",
    "JobStatus",
    "PodFailurePolicy",
    "PodFailurePolicyRule",
    "TemplatedJob",
    "TemplatedJobSpec",
    "end_of",
    "pods_at_once",
]

INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
"""Annotation of a pod of a Job with `backoffLimitPerIndex`: how often its index has failed."""


JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
"""`managedBy` of a Job that Kubernetes itself runs."""


OF_THE_JOB: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
"""Labels that the API server adds to a Job's template. They are not the user's."""
ENDS: Final = (("Complete", "Succeeded", "Job finished successfully"), ("Failed", "Failed", "Job failed"))
"""Conditions of a Job that has ended for good; reason and message of Finished of its Workload."""
MOST_FAILURES: Final = 6
NO_LIMIT: Final = 2**31 - 1


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
    """batch/v1 JobSpec. Without parallelism there is one pod at a time. Without completions any success is the end."""

    suspend: bool | None = None
    managed_by: str | None = None
    """Whose controller runs the Job. The default is that of Kubernetes."""
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    """NonIndexed or Indexed."""
    backoff_limit: int | None = None
    """See `most_failures`."""
    backoff_limit_per_index: int | None = None
    """An index fails when more of its pods than this have failed."""
    pod_failure_policy: PodFailurePolicy | None = None

    @property
    def most_failures(self) -> int:
        """The Job fails when more pods than this have failed. An API server writes the default into `backoffLimit`."""
        if self.backoff_limit is not None:
            return self.backoff_limit
        return MOST_FAILURES if self.backoff_limit_per_index is None else NO_LIMIT


class JobStatus(Struct):
    """batch/v1 JobStatus. A null count is zero."""

    active: int | None = None
    """Pods that are pending or running, and do not terminate."""
    terminating: int | None = None
    start_time: str | None = None
    """When the Job was started or resumed last. It is missing in a suspended Job that may get another template."""
    conditions: list[Condition] | None = None
    completed_indexes: str = ""
    """Indexes of an Indexed Job that have succeeded, such as 1,3-5."""
    failed_indexes: str | None = None
    """Indexes that have failed for good, with backoffLimitPerIndex."""
    failed: int | None = None
    succeeded: int | None = None


class Job(Struct):
    """batch/v1 Job."""

    metadata: ObjectMeta
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)


class TemplatedJobSpec(JobSpec):
    """A JobSpec with its template, which is not read: what becomes of it must be complete."""

    template: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))


class TemplatedJob(Job):
    """A Job with its template."""

    spec: TemplatedJobSpec = msgspec.field(default_factory=TemplatedJobSpec)


def pods_at_once(parallelism: int | None, completions: int | None) -> int:
    """The most pods of a Job that run at once. None: the field is not set."""
    most = 1 if parallelism is None else parallelism
    return most if completions is None else min(most, completions)


def nothing_runs(suspended: bool, status: JobStatus) -> bool:
    """Whether no pod of a suspended Job is left.

    The Job controller says Suspended once it has seen that. A Job that it never started has no pod.
    """
    if not suspended or status.active or status.terminating:
        return False
    said = {each.type: each.status for each in status.conditions or ()}
    return status.start_time is None or said.get("Suspended") == "True"


def end_of(status: JobStatus) -> tuple[str, str] | None:
    """Reason and message of Finished, if the Job has ended for good. The words are Kueue's."""
    said = {each.type: each for each in status.conditions or ()}
    for kind, reason, message in ENDS:
        if kind in said and said[kind].status == "True":
            return reason, said[kind].message or message
    return None
