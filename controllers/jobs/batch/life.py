"""The life of a Job in a queue: from the Job and its Workload to what is written next.

All functions are pure. Whoever sees a change calls `next_step`, as often as it likes. A step has at most one write.
What follows after it is found in the objects again, so a process that dies between two writes changes nothing. The
rules are those of Kueue's job reconciler (pkg/controller/jobframework), with the differences that
docs/kueue-differences.md names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from api.jobs import TemplatedJob
from api.kueue import RESOURCE_IN_USE
from api.multikueue import is_copy, prebuilt_workload
from api.podsets import DEFAULT_POD_SET
from api.words import counted
from api.workloads import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, Workload
from controllers.jobs.batch.partial import as_it_was
from controllers.jobs.batch.starting import restore, resume, start, stop, strip
from controllers.jobs.batch.workload_of import (
    is_for,
    labels_of,
    matches,
    owner_of,
    pod_sets,
    queue_of,
    workload_body,
)
from controllers.jobs.job_state import (
    TemplateParts,
    finished,
    has_additions,
    is_dispatched,
    is_mutable,
    is_suspended,
    nothing_runs,
    pods_at_once,
    pods_needed,
)
from controllers.jobs.owned_workload import JobError, Wish
from quota.cycle.pod_set_infos import PodSetConflict, PodSetInfo
from quota.state.workloads import is_evicting, is_true, true_condition
from runtime.exchange.workload_reports import NOTHING, Reported

__all__ = [
    "Around",
    "ChangeWorkload",
    "CreateWorkload",
    "DeleteWorkload",
    "JobEvent",
    "NeedsOriginal",
    "PatchJob",
    "ResetStartTime",
    "Step",
    "UnprotectWorkload",
    "next_step",
]

FAILED_TO_START: Final = "FailedToStart"
NOT_COMPOSED: Final = "ErrWorkloadCompose"
NOT_FOUND: Final = "PrebuiltWorkloadNotFound"
OUT_OF_SYNC: Final = "OutOfSync", "The prebuilt workload is out of sync with its user job"
"""In Kueue's words. A manager of several clusters reads the reason."""
Patch = dict[str, Any]


# ---- what is written


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    """The Job gets its Workload."""

    body: Patch


@dataclass(frozen=True, slots=True)
class ChangeWorkload:
    """A merge patch of the Workload."""

    patch: Patch


@dataclass(frozen=True, slots=True)
class DeleteWorkload:
    """The Workload is no longer what the Job asks for."""


@dataclass(frozen=True, slots=True)
class UnprotectWorkload:
    """The Workload is being deleted, and nothing of it runs: it loses its finalizer."""


@dataclass(frozen=True, slots=True)
class PatchJob:
    """A merge patch of the Job."""

    what: Literal["start", "stop", "restore"]
    patch: Patch


@dataclass(frozen=True, slots=True)
class ResetStartTime:
    """The start time of a suspended Job is removed, so that its template may change. See `job_state.is_mutable`."""


@dataclass(frozen=True, slots=True)
class NeedsOriginal:
    """The template of the Workload must be read, and then the step be asked for again."""


Write = (
    CreateWorkload
    | ChangeWorkload
    | DeleteWorkload
    | UnprotectWorkload
    | PatchJob
    | ResetStartTime
    | NeedsOriginal
)


class JobEvent(NamedTuple):
    """An event about the Job, for when the write has succeeded."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Step:
    """What follows for a Job."""

    write: Write | None = None
    reported: Reported = NOTHING
    """What holds of its Workload from now on, also before the write."""
    event: JobEvent | None = None
    warning: str = ""
    """Why nothing can be done; empty if that is not so."""
    warning_reason: str = NOT_COMPOSED


@dataclass(frozen=True, slots=True)
class Around:
    """What the rules need to know besides the Job and its Workload."""

    wish: Wish | JobError
    infos: Callable[[Workload], Sequence[PodSetInfo]] = field(default=lambda _: ())
    """What the admission adds. It may raise PodSetConflict."""
    original: TemplateParts | None = None
    """The template in the Workload, if it has been read."""
    may_run_elsewhere: bool = False
    """Pods of it may be active or terminating in another cluster, as its manager says."""


def next_step(job: TemplatedJob, workload: Workload | None, around: Around) -> Step:
    """What follows for a Job that is managed and is not being deleted."""
    if workload is None:
        return _without_workload(job, around)
    if not is_for(workload, job):
        return _of_another(job, workload)
    step = _with_workload(job, workload, around)
    if is_dispatched(job) or nothing_runs(job) or finished(job) is not None:
        return step
    return replace(step, reported=replace(step.reported, runs=True))


def _with_workload(job: TemplatedJob, workload: Workload, around: Around) -> Step:
    if workload.metadata.deletion_timestamp is not None:
        return _workload_deleted(job, workload, around)
    if (end := finished(job)) is not None:
        return Step(reported=Reported(nothing_runs=not _is_elsewhere(job, workload), finished=end))
    if not is_suspended(job):
        return _running(job, workload)
    if not is_dispatched(job) and not nothing_runs(job):
        return Step()  # the Job controller ends the pods
    return _suspended(job, workload, around)


# ---- no Workload


def _without_workload(job: TemplatedJob, around: Around) -> Step:
    if finished(job) is not None:
        return Step()
    if not is_suspended(job):
        return _stop(job, "it has no Workload, and so no quota")
    if has_additions(job):
        return _prepared(job) or Step(PatchJob("restore", strip(job)))
    if name := prebuilt_workload(job.metadata):
        return Step(warning=f"Workload {name} does not exist", warning_reason=NOT_FOUND)
    if isinstance(around.wish, JobError):
        return Step(warning=str(around.wish))
    body = workload_body(job, around.wish)
    return Step(
        CreateWorkload(body),
        event=JobEvent("Normal", "CreatedWorkload", f"Created Workload {body['metadata']['name']}"),
    )


def _of_another(job: TemplatedJob, workload: Workload) -> Step:
    if not is_suspended(job):
        return _stop(job, f"Workload {workload.metadata.name} belongs to another object")
    if workload.metadata.owner_references:
        return Step(warning=f"Workload {workload.metadata.name} belongs to another object")
    if is_copy(workload.metadata) and not is_copy(job.metadata):
        return Step(warning=f"Workload {workload.metadata.name} waits for the Job of its manager")
    if workload.metadata.deletion_timestamp is not None:
        return Step()  # it gets no finalizer any longer
    adopted = {
        "resourceVersion": workload.metadata.resource_version,
        "ownerReferences": [owner_of(job)],
        "labels": labels_of(job),
        "finalizers": list(dict.fromkeys([*(workload.metadata.finalizers or ()), RESOURCE_IN_USE])),
    }
    return Step(ChangeWorkload({"metadata": adopted}))


# ---- the Workload is being deleted


def _workload_deleted(job: TemplatedJob, workload: Workload, around: Around) -> Step:
    """Its finalizer is removed when nothing of the Job runs any longer, and the Job has its template back."""
    if finished(job) is None:
        if not is_suspended(job):
            return _stop(job, f"Workload {workload.metadata.name} was deleted")
        if around.may_run_elsewhere or (not is_dispatched(job) and not nothing_runs(job)):
            return Step()
        if has_additions(job):
            return _restored(job, workload, around)
    if RESOURCE_IN_USE not in (workload.metadata.finalizers or ()):
        return Step()
    return Step(UnprotectWorkload(), Reported(nothing_runs=not _is_elsewhere(job, workload)))


# ---- the pods may run


def _running(job: TemplatedJob, workload: Workload) -> Step:
    if is_true(workload, FINISHED):
        return _stop(job, f"Workload {workload.metadata.name} has finished")
    if (why := _why_not(job, workload)) is not None:
        return _stop(job, why)
    return Step(reported=Reported(reclaimable=_reclaimable(job, workload)))


def _is_elsewhere(job: TemplatedJob, workload: Workload) -> bool:
    """Whether another cluster has it. Its manager says whether something runs there."""
    return is_dispatched(job) and workload.status.cluster_name is not None


def _why_not(job: TemplatedJob, workload: Workload) -> str | None:
    """Why the Job must not run; None if it may."""
    evicted = true_condition(workload, EVICTED)
    if evicted is not None:
        return evicted.message or "its Workload is evicted"
    if not is_true(workload, ADMITTED):
        return "it was resumed without being admitted"
    if not has_additions(job) and not is_dispatched(job):
        return "it was resumed by somebody else"
    if not matches(job, workload):
        return f"it needs more pods ({pods_needed(job)}) than have quota"
    if is_copy(workload.metadata):
        return None  # its manager chose the queue
    name = queue_of(job)  # also if its priority class does not exist
    if name != workload.spec.queue_name:
        now = f"its queue is {name} now, and" if name else "it names no queue now, and its queue"
        return f"{now} was {workload.spec.queue_name}"
    return None


# ---- no pod runs


def _suspended(job: TemplatedJob, workload: Workload, around: Around) -> Step:
    evicted = is_evicting(workload)
    is_free = evicted and not _is_elsewhere(job, workload)
    reported = Reported(nothing_runs=is_free, reclaimable=_reclaimable(job, workload))
    if has_additions(job):
        return replace(_restored(job, workload, around), reported=reported)
    if is_true(workload, FINISHED):
        return Step(reported=reported)
    if is_copy(workload.metadata):
        if not matches(job, workload):
            return Step(reported=replace(reported, finished=OUT_OF_SYNC))
    elif isinstance(around.wish, JobError):
        return Step(reported=reported, warning=str(around.wish))
    elif (change := _changed(job, workload, around.wish)) is not None:
        return replace(change, reported=reported)
    if evicted or not is_true(workload, ADMITTED):
        return Step(reported=reported)
    return _resume(job, workload) if is_dispatched(job) else _start(job, workload, around)


def _changed(job: TemplatedJob, workload: Workload, wish: Wish) -> Step | None:
    """What the Workload needs in order to be what the Job asks for; None if it is that."""
    name = workload.metadata.name
    spec, is_same = wish.changes(workload), matches(job, workload)
    if not is_same and prebuilt_workload(job.metadata):
        return Step(warning=f"the pods of the Job are not those of Workload {name}")
    if is_true(workload, QUOTA_RESERVED):
        if not is_same or "queueName" in spec:
            what = "another queue" if is_same else "other pods"
            event = JobEvent("Normal", "DeletedWorkload", f"Deleted Workload {name}: the Job has {what} now")
            return Step(DeleteWorkload(), event=event)
        spec.pop("maximumExecutionTimeSeconds", None)  # cannot change while there is quota
    if not is_same:
        spec["podSets"] = pod_sets(job)
    if not spec:
        return None
    meta = {"resourceVersion": workload.metadata.resource_version}
    event = JobEvent("Normal", "UpdatedWorkload", f"Updated {', '.join(sorted(spec))} of Workload {name}")
    return Step(ChangeWorkload({"metadata": meta, "spec": spec}), event=event)


def _start(job: TemplatedJob, workload: Workload, around: Around) -> Step:
    if not is_mutable(job):
        return _prepared(job) or Step()
    try:
        infos = {each.name: each for each in around.infos(workload)}
        patch = start(job, workload, infos[DEFAULT_POD_SET])
    except PodSetConflict as error:
        return Step(reported=Reported(nothing_runs=True, finished=(FAILED_TO_START, str(error))))
    except KeyError:
        return Step(
            warning=f"the admission of Workload {workload.metadata.name} has no pod set {DEFAULT_POD_SET}"
        )
    queue = workload.status.admission.cluster_queue if workload.status.admission is not None else ""
    note = f"Admitted by ClusterQueue {queue}"
    if "parallelism" in patch["spec"]:
        note += f", with {patch['spec']['parallelism']} of {counted(pods_at_once(job), 'pod')}"
    return Step(PatchJob("start", patch), event=JobEvent("Normal", "Started", note))


def _resume(job: TemplatedJob, workload: Workload) -> Step:
    """Its pods run in another cluster."""
    admission, cluster = workload.status.admission, workload.status.cluster_name
    queue = admission.cluster_queue if admission is not None else ""
    if cluster is None:
        return Step(
            warning=f"it is managed by {job.spec.managed_by}, and ClusterQueue {queue} chose no cluster"
        )
    if job.status.start_time is not None:
        return Step(ResetStartTime())  # of an earlier attempt
    note = f"Admitted by ClusterQueue {queue}, and runs in cluster {cluster}"
    return Step(PatchJob("start", resume(job)), event=JobEvent("Normal", "Started", note))


# ---- parts


def _stop(job: TemplatedJob, why: str) -> Step:
    return Step(PatchJob("stop", stop(job)), event=JobEvent("Normal", "Stopped", f"Suspended: {why}"))


def _restored(job: TemplatedJob, workload: Workload, around: Around) -> Step:
    """The Job gets its template and all its pods back as soon as the API server takes it."""
    waits = _prepared(job)
    if waits is not None:
        return waits
    if around.original is None:
        return Step(NeedsOriginal())
    return Step(PatchJob("restore", restore(job, workload, around.original)))


def _prepared(job: TemplatedJob) -> Step | None:
    """What comes before a change of the template; None if it may change now. Nobody says that a Job is suspended whose
    pods run elsewhere."""
    if is_mutable(job) or (is_dispatched(job) and job.status.start_time is None):
        return None
    return Step(ResetStartTime()) if job.status.start_time is not None else Step()


def _reclaimable(job: TemplatedJob, workload: Workload) -> dict[str, int]:
    """Pods of the Workload that the Job does not need any longer. A Job that runs in part needs the others later.

    In another cluster a Job begins anew each time. The counters here are those of all its attempts. The indexes are
    those of the attempt that runs.
    """
    if is_dispatched(job) and (
        is_suspended(job) or job.status.start_time is None or job.spec.completion_mode != "Indexed"
    ):
        return {}
    needed = pods_needed(as_it_was(job, workload)) if has_additions(job) else pods_needed(job)
    over = {each.name: each.count - needed for each in workload.spec.pod_sets}
    return {name: count for name, count in over.items() if count > 0}
