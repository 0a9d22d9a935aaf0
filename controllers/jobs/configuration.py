"""The part of the Configuration file about Jobs and PodGroups in queues. The names are from Kueue's Configuration."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from api.core import NAMESPACE_NAME_LABEL
from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import check_selector
from api.validation import FieldError
from serving.sections import Section

__all__ = ["Framework", "JobsConfiguration", "check_jobs"]

Framework = Literal["batch/job", "reprieve.dev/podgroup"]
NOT_MANAGED: Final = ["kube-system", "reprieve-system"]


class NamespaceSelector(Section):
    """meta/v1 LabelSelector."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[NamespaceRequirement] = field(default_factory=list)

    @property
    def selector(self) -> LabelSelector:
        """The same as the API has it."""
        return LabelSelector(
            dict(self.match_labels),
            [
                LabelSelectorRequirement(each.key, each.operator, list(each.values))
                for each in self.match_expressions
            ],
        )


class NamespaceRequirement(Section):
    """meta/v1 LabelSelectorRequirement."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] = field(default_factory=list)


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
    path = "managedJobsNamespaceSelector"
    try:
        check_selector(settings.managed_jobs_namespace_selector.selector, path)
    except ValueError as error:
        raise FieldError("jobs", str(error)) from None
