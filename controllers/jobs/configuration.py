"""The part of the Configuration file about Jobs and PodGroups in queues. The names are from Kueue's Configuration."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from api.core import NAMESPACE_NAME_LABEL
from api.validation import FieldError
from serving.namespaces import NamespaceRequirement, NamespaceSelector
from serving.sections import Section

__all__ = ["Framework", "JobsConfiguration", "check_jobs"]

Framework = Literal["batch/job", "reprieve.dev/podgroup"]
NOT_MANAGED: Final = ["kube-system", "reprieve-system"]


def _managed() -> NamespaceSelector:
    return NamespaceSelector(
        match_expressions=[NamespaceRequirement(NAMESPACE_NAME_LABEL, "NotIn", list(NOT_MANAGED))]
    )


class JobsConfiguration(Section):
    """Whose pods get quota through queues. It has an effect only with quota.mode Enforce.

    frameworks: the kinds that are managed. A Job or PodGroup of another kind is left alone, also if it names a queue.
    manageJobsWithoutQueueName: a Job that names no queue is suspended, too, and waits until it names one.
    managedJobsNamespaceSelector: objects without the label of a queue are managed only in these namespaces.
    """

    frameworks: list[Framework] = field(default_factory=lambda: ["batch/job", "reprieve.dev/podgroup"])
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: NamespaceSelector = field(default_factory=_managed)


def check_jobs(settings: JobsConfiguration) -> None:
    """Raises FieldError for settings that are invalid."""
    if len(set(settings.frameworks)) < len(settings.frameworks):
        raise FieldError("jobs.frameworks", "names a framework twice")
    settings.managed_jobs_namespace_selector.check("jobs.managedJobsNamespaceSelector")
