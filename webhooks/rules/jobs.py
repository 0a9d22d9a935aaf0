"""Jobs (batch/v1) in queues. A new one gets the namespace's default queue, and is suspended until it has quota.

The rules are those of Kueue's webhook for Jobs (pkg/controller/jobs/job, pkg/controller/jobframework), with the
differences that docs/kueue-differences.md names. What is stored already stays: the Job's controller must be able to
suspend a Job that came while the webhook was down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.integration import (
    DEFAULT_LOCAL_QUEUE,
    JOB_FRAMEWORK,
    MAX_EXEC_TIME_LABEL,
    MIN_PARALLELISM_ANNOTATION,
    PREBUILT_WORKLOAD_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME_LABEL,
)
from api.jobs import JOB_CONTROLLER, pods_at_once
from api.selectors import selects
from api.syntax import subdomain_faults, whole_number
from api.words import shown
from schema.labels import invalid
from schema.verdict import INVALID, Cause, Verdict
from webhooks.facts import UNKNOWN
from webhooks.rules.fields import child, entries, integer, text
from webhooks.rules.ratchet import new_causes
from webhooks.rules.request import Object, Request

__all__ = ["default", "queue_causes", "validate"]

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server puts it on each namespace."""
MOST_SECONDS: Final = 2**31 - 1
IMMUTABLE: Final = "cannot change"


def default(request: Request) -> Object:
    """The Job with the label of the default queue, and suspended. Other Jobs stay as they are.

    A fact that is not known counts as absent: no Job waits for us.
    """
    job, queues = request.new, request.settings.queues
    spec = job.get("spec")
    if request.operation != "CREATE" or request.subresource or not isinstance(spec, dict):
        return job
    if queues is None or JOB_FRAMEWORK not in queues.frameworks:
        return job
    if text(spec, "managedBy") not in ("", JOB_CONTROLLER):
        return job
    labels = entries(child(job, "metadata"), "labels")
    if not labels.get(QUEUE_NAME_LABEL) and _is_selected(request):
        if _has_default_queue(request):
            metadata = child(job, "metadata")
            labels = {**labels, QUEUE_NAME_LABEL: DEFAULT_LOCAL_QUEUE}
            job = {**job, "metadata": {**metadata, "labels": {**child(metadata, "labels"), **labels}}}
        elif not queues.without_queue_name:
            return job
    elif not labels.get(QUEUE_NAME_LABEL):
        return job
    return job if spec.get("suspend") is True else {**job, "spec": {**spec, "suspend": True}}


def _namespace(request: Request) -> str:
    return text(child(request.new, "metadata"), "namespace") or "default"


def _has_default_queue(request: Request) -> bool:
    queue = request.facts.local_queue(_namespace(request), DEFAULT_LOCAL_QUEUE)
    return queue is not None and queue is not UNKNOWN


def _is_selected(request: Request) -> bool:
    """Whether Jobs of this namespace are managed that name no queue."""
    name, queues = _namespace(request), request.settings.queues
    known = request.facts.namespace_labels(name)
    labels = {NAMESPACE_LABEL: name} if known is None or known is UNKNOWN else known
    return queues is not None and selects(queues.namespaces, labels)


def validate(request: Request) -> Verdict:
    """The faults of a Job in a queue that an update brings, or that a new one has."""
    if request.subresource or request.settings.queues is None:
        return Verdict()
    causes = new_causes(_causes, request)
    if request.old is not None:
        causes += _changes(request.new, request.old)
    return Verdict.of(causes)


def _causes(job: Object) -> Iterator[Cause]:
    metadata, spec = child(job, "metadata"), child(job, "spec")
    yield from queue_causes(metadata)
    least = entries(metadata, "annotations").get(MIN_PARALLELISM_ANNOTATION)
    if least is not None:
        pods = pods_at_once(integer(spec, "parallelism"), integer(spec, "completions"))
        if whole_number(least, 1, pods - 1) is None:
            message = f"{shown(least)} is no number between 0 and {pods}, the number of pods"
            yield Cause(f"metadata.annotations[{MIN_PARALLELISM_ANNOTATION}]", INVALID, message)


def queue_causes(metadata: Object) -> Iterator[Cause]:
    """The faults of the labels by which an object asks for quota."""
    labels = entries(metadata, "labels")
    for label in (QUEUE_NAME_LABEL, PREBUILT_WORKLOAD_LABEL, PRIORITY_CLASS_LABEL):
        if labels.get(label):
            yield from invalid(f"metadata.labels[{label}]", subdomain_faults(labels[label]))
    seconds = labels.get(MAX_EXEC_TIME_LABEL)
    if seconds is not None and whole_number(seconds, 1, MOST_SECONDS) is None:
        message = f"{shown(seconds)} is no number of seconds above 0"
        yield Cause(f"metadata.labels[{MAX_EXEC_TIME_LABEL}]", INVALID, message)


def _changes(new: Object, old: Object) -> Iterator[Cause]:
    """What must not change while the pods run. A Job that is being suspended may change."""
    if not _is_suspended(new):
        yield from _changed(new, old, QUEUE_NAME_LABEL, "while the Job is not suspended")
    yield from _changed(new, old, PREBUILT_WORKLOAD_LABEL, "")
    if not _is_suspended(new) or not _is_suspended(old):
        yield from _changed(new, old, MAX_EXEC_TIME_LABEL, "while the Job is not suspended")
    if not _is_suspended(old) and MIN_PARALLELISM_ANNOTATION in entries(
        child(old, "metadata"), "annotations"
    ):
        before, after = (integer(child(each, "spec"), "parallelism") for each in (old, new))
        if before != after:
            message = f"{IMMUTABLE} while the Job is not suspended and has {MIN_PARALLELISM_ANNOTATION}"
            yield Cause("spec.parallelism", INVALID, message)


def _changed(new: Object, old: Object, label: str, when: str) -> Iterator[Cause]:
    before, after = (entries(child(each, "metadata"), "labels").get(label, "") for each in (old, new))
    if before != after:
        message = f"{IMMUTABLE} {when}".rstrip()
        yield Cause(f"metadata.labels[{label}]", INVALID, f"{message}: it was {shown(before)}")


def _is_suspended(job: Object) -> bool:
    return child(job, "spec").get("suspend") is True
