"""Jobs (batch/v1) in queues. A new one gets the namespace's default queue, and is suspended until it has quota. Where a
manager sends the Workloads of its queue to other clusters, Kubernetes does not run it here.

The rules are those of Kueue's webhook for Jobs (pkg/controller/jobs/job, pkg/controller/jobframework), with the
differences that docs/kueue-differences.md names. What is stored already stays: the Job's controller must be able to
suspend a Job that came while the webhook was down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from api.core import NAMESPACE_NAME_LABEL
from api.integration import (
    COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION,
    DEFAULT_LOCAL_QUEUE,
    JOB_FRAMEWORK,
    MAX_EXEC_TIME_LABEL,
    MIN_PARALLELISM_ANNOTATION,
    PREBUILT_WORKLOAD_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_NAME_LABEL,
)
from api.jobs import JOB_CONTROLLER, pods_at_once
from api.multikueue import CONTROLLER_NAME, PREBUILT_WORKLOAD_ANNOTATION
from api.partial_jobs import boolean, completions_follow
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

MOST_SECONDS: Final = 2**31 - 1
LEAST: Final = MIN_PARALLELISM_ANNOTATION
FOLLOWS: Final = COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION
IMMUTABLE: Final = "cannot change"


def default(request: Request) -> Object:
    """The Job with the label of the default queue, suspended, and managed by whoever runs it. Other Jobs stay as they
    are.

    A fact that is not known counts as absent: no Job waits for us.
    """
    job, queues = request.new, request.settings.queues
    spec = job.get("spec")
    if request.operation != "CREATE" or request.subresource or not isinstance(spec, dict):
        return job
    if queues is None or JOB_FRAMEWORK not in queues.frameworks:
        return job
    manager = text(spec, "managedBy")
    if manager not in ("", JOB_CONTROLLER, CONTROLLER_NAME):
        return job
    labels = entries(child(job, "metadata"), "labels")
    if not labels.get(QUEUE_NAME_LABEL) and manager != CONTROLLER_NAME and _is_selected(request):
        if _has_default_queue(request):
            metadata = child(job, "metadata")
            labels = {**labels, QUEUE_NAME_LABEL: DEFAULT_LOCAL_QUEUE}
            job = {**job, "metadata": {**metadata, "labels": {**child(metadata, "labels"), **labels}}}
        elif not queues.without_queue_name:
            return job
    elif not labels.get(QUEUE_NAME_LABEL):
        return job
    added: dict[str, Any] = {} if spec.get("suspend") is True else {"suspend": True}
    if request.facts.dispatches(_namespace(request), labels.get(QUEUE_NAME_LABEL, "")) is True:
        added |= {} if manager == CONTROLLER_NAME else {"managedBy": CONTROLLER_NAME}
    elif manager == CONTROLLER_NAME:
        return job
    return {**job, "spec": {**spec, **added}} if added else job


def _namespace(request: Request) -> str:
    return text(child(request.new, "metadata"), "namespace") or "default"


def _has_default_queue(request: Request) -> bool:
    queue = request.facts.local_queue(_namespace(request), DEFAULT_LOCAL_QUEUE)
    return queue is not None and queue is not UNKNOWN


def _is_selected(request: Request) -> bool:
    """Whether Jobs of this namespace are managed that name no queue."""
    name, queues = _namespace(request), request.settings.queues
    known = request.facts.namespace_labels(name)
    labels = {NAMESPACE_NAME_LABEL: name} if known is None or known is UNKNOWN else known
    return queues is not None and selects(queues.namespaces, labels)


def validate(request: Request) -> Verdict:
    """The faults of a Job in a queue that an update brings, or that a new one has."""
    if request.subresource or request.settings.queues is None:
        return Verdict()
    causes = new_causes(_causes, request)
    if request.old is None or _annotation(request.new, LEAST) != _annotation(request.old, LEAST):
        causes += _least_causes(request.new)  # a partial admission lowers parallelism, and that is no fault
    if request.old is not None:
        causes += _changes(request.new, request.old)
    return Verdict.of(causes)


def _causes(job: Object) -> Iterator[Cause]:
    yield from queue_causes(child(job, "metadata"))
    if named := _annotation(job, PREBUILT_WORKLOAD_ANNOTATION):
        path = f"metadata.annotations[{PREBUILT_WORKLOAD_ANNOTATION}]"
        yield from invalid(path, subdomain_faults(named))
    follows, spec, path = _annotation(job, FOLLOWS), child(job, "spec"), f"metadata.annotations[{FOLLOWS}]"
    if follows is not None and boolean(follows) is None:
        yield Cause(path, INVALID, f"{shown(follows)} is neither true nor false")
    if follows is None or not boolean(follows):
        return
    if text(spec, "completionMode") != "Indexed":
        yield Cause(path, INVALID, "is for Indexed Jobs only")
    parallelism, completions = (integer(spec, name) for name in ("parallelism", "completions"))
    if (1 if parallelism is None else parallelism) != (1 if completions is None else completions):
        message = f"{shown(completions)} is not parallelism, {shown(parallelism)}, as {FOLLOWS} says"
        yield Cause("spec.completions", INVALID, message)


def _annotation(job: Object, name: str) -> str | None:
    return entries(child(job, "metadata"), "annotations").get(name)


def _least_causes(job: Object) -> Iterator[Cause]:
    least, spec = _annotation(job, LEAST), child(job, "spec")
    pods = pods_at_once(integer(spec, "parallelism"), integer(spec, "completions"))
    if least is not None and whole_number(least, 1, pods - 1) is None:
        message = f"{shown(least)} is no number between 0 and {pods}, the number of pods"
        yield Cause(f"metadata.annotations[{LEAST}]", INVALID, message)


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
    yield from _other_workload(new, old)
    if not _is_suspended(new) or not _is_suspended(old):
        yield from _changed(new, old, MAX_EXEC_TIME_LABEL, "while the Job is not suspended")
    if not _is_suspended(old) and not _is_suspended(new):
        was, is_ = (
            completions_follow(entries(child(each, "metadata"), "annotations")) for each in (old, new)
        )
        if was != is_:
            message = f"{IMMUTABLE} while the Job is not suspended: it was {shown(was)}"
            yield Cause(f"metadata.annotations[{FOLLOWS}]", INVALID, message)
    if not _is_suspended(old) and _annotation(old, LEAST) is not None:
        before, after = (integer(child(each, "spec"), "parallelism") for each in (old, new))
        if before != after:
            message = f"{IMMUTABLE} while the Job is not suspended and has {LEAST}"
            yield Cause("spec.parallelism", INVALID, message)


def _other_workload(new: Object, old: Object) -> Iterator[Cause]:
    """The Workload that the Job uses cannot change. The annotation is read first, as the controller of Jobs does."""
    named = [
        _annotation(each, PREBUILT_WORKLOAD_ANNOTATION)
        or entries(child(each, "metadata"), "labels").get(PREBUILT_WORKLOAD_LABEL, "")
        for each in (old, new)
    ]
    if named[0] != named[1]:
        has = any(_annotation(each, PREBUILT_WORKLOAD_ANNOTATION) for each in (old, new))
        place = "annotations" if has else "labels"
        path = f"metadata.{place}[{PREBUILT_WORKLOAD_LABEL}]"
        yield Cause(path, INVALID, f"{IMMUTABLE}: it was {shown(named[0])}")


def _changed(new: Object, old: Object, label: str, when: str) -> Iterator[Cause]:
    before, after = (entries(child(each, "metadata"), "labels").get(label, "") for each in (old, new))
    if before != after:
        message = f"{IMMUTABLE} {when}".rstrip()
        yield Cause(f"metadata.labels[{label}]", INVALID, f"{message}: it was {shown(before)}")


def _is_suspended(job: Object) -> bool:
    return child(job, "spec").get("suspend") is True
