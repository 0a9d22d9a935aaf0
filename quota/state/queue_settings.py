"""Settings of a ClusterQueue that the schema does not check: the namespaceSelector, and KEP-8522's minAdmitDuration."""

from __future__ import annotations

from typing import Final

from api.durations import DurationError, parse_duration
from api.kueue import MIN_ADMIT_DURATION_ANNOTATION, ClusterQueue
from api.selectors import check_selector
from quota.state.amounts import QuotaError

__all__ = ["check_namespace_selector", "min_admit_of"]

LEAST_MIN_ADMIT: Final = 60_000_000
"""One minute, in microseconds (KEP-8522, Webhook Validation)."""


def check_namespace_selector(queue: ClusterQueue) -> None:
    """Raises QuotaError for a selector that no API server would take."""
    if queue.spec.namespace_selector is None:
        return
    try:
        check_selector(queue.spec.namespace_selector, "")
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        path = f"spec.namespaceSelector{field}"
        raise QuotaError(f"ClusterQueue {queue.metadata.name}", path, problem) from None


def min_admit_of(queue: ClusterQueue) -> int | None:
    """KEP-8522's minAdmitDuration in microseconds; None if it is not set.

    It is also read from an annotation, because Kueue's own CRD drops the field. Raises QuotaError.
    """
    config = queue.spec.preemption.within_cluster_queue_config
    if config is not None and config.min_admit_duration is not None:
        text, path = config.min_admit_duration, "spec.preemption.withinClusterQueueConfig.minAdmitDuration"
    elif MIN_ADMIT_DURATION_ANNOTATION in (queue.metadata.annotations or {}):
        text = (queue.metadata.annotations or {})[MIN_ADMIT_DURATION_ANNOTATION]
        path = f"metadata.annotations[{MIN_ADMIT_DURATION_ANNOTATION}]"
    else:
        return None
    subject = f"ClusterQueue {queue.metadata.name}"
    try:
        duration = parse_duration(text)
    except DurationError as error:
        raise QuotaError(subject, path, str(error)) from None
    if duration < LEAST_MIN_ADMIT:
        raise QuotaError(subject, path, f"must be at least 1m, not {text}")
    return duration
