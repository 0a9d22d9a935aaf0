"""What a Job is and does, as far as its Workload depends on it. Pure functions of the Job (pkg/controller/jobs/job of
Kueue).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from api import jobs
from api.core import TimedToleration
from api.integration import WORKLOAD_ANNOTATION
from api.jobs import TemplatedJob
from api.meta import Condition, ObjectMeta, Struct
from api.multikueue import CONTROLLER_NAME

__all__ = [
    "TemplateParts",
    "finished",
    "has_additions",
    "is_dispatched",
    "is_mutable",
    "is_suspended",
    "nothing_runs",
    "pods_at_once",
    "pods_needed",
    "template_parts",
]

INDEXES: Final = re.compile(r"(\d+)(?:-(\d+))?")


class TemplateSpecParts(Struct):
    """The fields of a template's spec that an admission changes."""

    node_selector: dict[str, str] | None = None
    tolerations: list[TimedToleration] | None = None


class TemplateParts(Struct):
    """The fields of a template that an admission changes."""

    metadata: ObjectMeta | None = None
    spec: TemplateSpecParts = msgspec.field(default_factory=TemplateSpecParts)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pods."""
        return (self.metadata.labels if self.metadata is not None else None) or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the pods."""
        return (self.metadata.annotations if self.metadata is not None else None) or {}


def template_parts(template: msgspec.Raw | bytes) -> TemplateParts:
    """Those of a template as JSON."""
    return msgspec.json.decode(template, type=TemplateParts)


def is_dispatched(job: TemplatedJob) -> bool:
    """Whether its pods run in another cluster, which a manager chooses. Its status is that of the Job there."""
    return job.spec.managed_by == CONTROLLER_NAME


def is_suspended(job: TemplatedJob) -> bool:
    """Whether its pods must not run."""
    return job.spec.suspend is True


def pods_at_once(job: TemplatedJob) -> int:
    """How many pods run at once at most."""
    return jobs.pods_at_once(job.spec.parallelism, job.spec.completions)


def pods_needed(job: TemplatedJob) -> int:
    """How many pods still need quota: no more run at once until the end.

    As in Kueue, a Job without completions needs all. An index of an Indexed Job that has failed for good is over, too.
    """
    completions = job.spec.completions
    if completions is None:
        return pods_at_once(job)
    if job.spec.completion_mode == "Indexed":
        over = _count(job.status.completed_indexes) + _count(job.status.failed_indexes or "")
    else:
        over = job.status.succeeded or 0
    return min(pods_at_once(job), max(0, completions - over))


def nothing_runs(job: TemplatedJob) -> bool:
    """Whether no pod of a suspended Job is left."""
    return jobs.nothing_runs(is_suspended(job), job.status)


def is_mutable(job: TemplatedJob) -> bool:
    """Whether every API server takes another template now.

    Up to 1.35 the start time must be missing (KEP-2926). Since 1.36 the Job controller must have said Suspended, and no
    pod may be active (KEP-5440).
    """
    return nothing_runs(job) and job.status.start_time is None and _is_true(job, "Suspended")


def has_additions(job: TemplatedJob) -> bool:
    """Whether the template has what an admission added."""
    return WORKLOAD_ANNOTATION in template_parts(job.spec.template).annotations


def finished(job: TemplatedJob) -> tuple[str, str] | None:
    """Reason and message of Finished, if the Job has ended for good."""
    return jobs.end_of(job.status)


def _count(indexes: str) -> int:
    """How many indexes a text such as 1,3-5 has."""
    return sum(last - first + 1 for first, last in _ranges(indexes))


def _ranges(indexes: str) -> Iterator[tuple[int, int]]:
    for first, last in INDEXES.findall(indexes):
        yield int(first), int(last or first)


def _condition(job: TemplatedJob, kind: str) -> Condition | None:
    return next((each for each in job.status.conditions or () if each.type == kind), None)


def _is_true(job: TemplatedJob, kind: str) -> bool:
    condition = _condition(job, kind)
    return condition is not None and condition.status == "True"
