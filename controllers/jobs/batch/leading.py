"""All that acts in one term of the jobs controller: it looks at Jobs that something has happened to, and writes."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.jobs import TemplatedJob
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta
from api.multikueue import is_copy
from api.times import parse_rfc3339
from api.workloads import EVICTED, FINISHED, JOB_UID_LABEL, QUOTA_RESERVED, Workload
from controllers.jobs.batch.evicted_on_nodes import EvictedOnNodes
from controllers.jobs.batch.life import (
    Around,
    ChangeWorkload,
    CreateWorkload,
    DeleteWorkload,
    JobEvent,
    NeedsOriginal,
    PatchJob,
    ResetStartTime,
    Step,
    UnprotectWorkload,
    next_step,
)
from controllers.jobs.batch.mirrors import JobMirrors, controller_of
from controllers.jobs.batch.workload_of import wish_of
from controllers.jobs.job_state import TemplateParts, is_dispatched
from controllers.jobs.owned_workload import Classes, JobError, Wish
from controllers.jobs.writer import JobWriter
from kube.errors import ApiError
from kube.finalizers import has_finalizer
from kube.recorder import EventRecorder, Reference
from quota.state.workloads import is_evicting, is_true, key_of, true_condition
from runtime.exchange.reports import Reports
from runtime.exchange.workload_reports import Reported, Reporter
from runtime.mirror.changes import joined
from runtime.work.queue import KeyedQueue
from runtime.work.workers import serve

__all__ = ["Leading"]

log = structlog.get_logger(__name__)

Item = tuple[str, str]
"""(Job or Workload, key)"""

JOB: Final = "Job"
WORKLOAD: Final = "Workload"
AT_ONCE: Final = 8
"""Jobs that are looked at together. Each has at most one request under way."""
BACKOFF: Final = Backoff(0.2, 60.0)
ORPHAN_SECONDS: Final = 5.0
"""Between two looks at the pods of a Job that is gone."""


class Leading:
    """State that ends with the term."""

    def __init__(
        self,
        mirrors: JobMirrors,
        writer: JobWriter,
        recorder: EventRecorder,
        reports: Reports,
        evicted: EvictedOnNodes,
        overdue_seconds: float,
        clock: Clock,
    ) -> None:
        """`reports`: what is said here of Workloads, and what a manager of several clusters says of those elsewhere.
        `evicted`: Jobs that must stop for others on nodes. `overdue_seconds`: after this time an evicted Job
        whose pods are left is overdue."""
        self._evicted = evicted
        self._mirrors, self._writer, self._recorder = mirrors, writer, recorder
        self._dispatched, self._reporter = reports.dispatched, Reporter(reports.workloads)
        self._overdue, self._clock = overdue_seconds, clock
        self._queue: KeyedQueue[Item] = KeyedQueue(backoff=BACKOFF, clock=clock)
        self._warned: set[str] = set()
        """Keys of Jobs that cannot become Workloads. A new class or Workload may help them."""
        self._job_of: dict[str, str] = {}
        """By key of a Workload: that of the Job that owns it, or owned it last."""
        self._workloads_of: dict[str, set[str]] = {}
        """The same by the key of the Job."""

    async def run(self) -> None:
        """Act until cancelled. The views must be as new as the API server."""
        changes, evicted = self._mirrors.changes.told(self._changed), self._evicted.told(self._must_stop)
        try:
            with changes, evicted, self._dispatched.told(self._elsewhere_changed):
                for job in self._mirrors.jobs:
                    self._queue.add((JOB, _key(job.metadata)))
                for workload in self._mirrors.workloads:
                    self._workload_changed(key_of(workload))
                await serve(self._queue, self._look, self._failed, name="jobs", workers=AT_ONCE)
        finally:
            self._reporter.close()

    def _failed(self, item: Item, error: ApiError, wait: float) -> None:
        if error.status != HTTPStatus.CONFLICT:
            log.warning("a Job is looked at again", object=item, error=str(error), wait=round(wait, 2))

    def _changed(self, kind: str, key: str) -> None:
        self._evicted.changed(kind, key)
        if kind == TemplatedJob.__name__:
            self._queue.add((JOB, key))
        elif kind == Workload.__name__:
            self._workload_changed(key)
        else:
            self._look_at_warned()

    def _must_stop(self, key: str) -> None:
        self._queue.add((JOB, key))

    def _elsewhere_changed(self, key: str) -> None:
        """A Workload that is being deleted may have waited for the end of its pods in another cluster."""
        workload = self._mirrors.workload(key)
        if workload is not None and workload.metadata.deletion_timestamp is not None:
            self._queue.add((WORKLOAD, key))

    def _look_at_warned(self) -> None:
        for each in self._warned:
            self._queue.add((JOB, each))

    def _workload_changed(self, key: str) -> None:
        workload = self._mirrors.workload(key)
        self._queue.add((WORKLOAD, key))
        if workload is None:
            self._reporter.gone(key)
            job = self._job_of.pop(key, "")
            if job:
                self._queue.add((JOB, job))
                self._workloads_of[job].discard(key)
                if not self._workloads_of[job]:
                    del self._workloads_of[job]
        elif name := controller_of(workload.metadata):
            job = self._job_of[key] = joined((workload.metadata.namespace, name))
            self._workloads_of.setdefault(job, set()).add(key)
        else:
            self._look_at_warned()

    async def _look(self, item: Item) -> None:
        kind, key = item
        if kind == WORKLOAD:
            await self._look_at_workload(key)
            return
        self._warned.discard(key)
        job = self._mirrors.job(key)
        if job is not None and job.metadata.deletion_timestamp is None:
            await self._look_at_job(key, job)
        elif not self._mirrors.has_job(key):
            for workload in self._workloads_of.get(key, ()):
                self._queue.add((WORKLOAD, workload))

    # ---- Jobs

    async def _look_at_job(self, key: str, job: TemplatedJob) -> None:
        workload = self._mirrors.workload_of(job)
        step = await self._step(job, workload)
        if workload is not None:
            reported = await self._with_remaining(job, workload, step.reported)
            reported = replace(reported, eviction=self._evicted.why(job, workload))
            self._reporter.report(workload.metadata.uid, key_of(workload), reported)
        if step.warning:
            self._warned.add(key)
            self._tell(job, JobEvent("Warning", step.warning_reason, step.warning))
        await self._write(job, workload, step)
        if step.event is not None:
            self._tell(job, step.event)

    async def _step(self, job: TemplatedJob, workload: Workload | None) -> Step:
        supplies = self._mirrors.supplies
        elsewhere = workload is not None and self._may_run_elsewhere(workload)
        around = Around(_wish(job, supplies.classes), supplies.infos, may_run_elsewhere=elsewhere)
        step = next_step(job, workload, around)
        if isinstance(step.write, NeedsOriginal) and workload is not None:
            original = await self._writer.original(workload.metadata)
            step = next_step(job, workload, replace(around, original=original or TemplateParts()))
        return step

    def _may_run_elsewhere(self, workload: Workload) -> bool:
        """Whether a manager must still say that no pod of it is left in its cluster. Without a manager nobody would
        ever say so."""
        if workload.status.cluster_name is None or not self._dispatched.is_served:
            return False
        said = self._dispatched.of(workload.metadata.uid)
        return said is None or said.may_run

    async def _with_remaining(self, job: TemplatedJob, workload: Workload, reported: Reported) -> Reported:
        """The report with the pods that are left, if the Workload was evicted long ago. They are known before it is
        overdue: then the event names them."""
        since = _evicted_at(workload)
        if since is None or reported.nothing_runs or is_dispatched(job):
            return reported
        left = since + self._overdue / 2 - self._clock.wall()
        if left > 0:
            self._queue.add_after((JOB, _key(job.metadata)), left)
            return reported
        pods = await self._writer.pods_of(job.metadata.namespace, job.metadata.uid)
        return replace(reported, remaining=tuple(pods))

    async def _write(self, job: TemplatedJob, workload: Workload | None, step: Step) -> None:
        match step.write:
            case PatchJob(what, patch):
                await self._writer.patch_job(job.metadata, what, patch)
            case ResetStartTime():
                await self._writer.reset_start_time(job.metadata)
            case CreateWorkload(body):
                await self._writer.create_workload(body)
            case ChangeWorkload(patch) if workload is not None:
                await self._writer.patch_workload(workload.metadata, patch)
            case DeleteWorkload() if workload is not None:
                await self._writer.delete_workload(workload.metadata)
            case UnprotectWorkload() if workload is not None:
                await self._writer.unprotect_workload(workload.metadata)
            case _:
                pass

    def _tell(self, job: TemplatedJob, event: JobEvent) -> None:
        reference = Reference.of("batch/v1", JOB, job.metadata)
        self._recorder.event(reference, event.type, event.reason, "Queueing", event.note)

    # ---- Workloads

    async def _look_at_workload(self, key: str) -> None:
        """A Workload is its Job's business. One whose Job is deleted or gone stays until no pod of the Job is left."""
        workload = self._mirrors.workload(key)
        if workload is None:
            return
        meta = workload.metadata
        job = self._mirrors.owner_of(meta)
        if job is not None and job.metadata.deletion_timestamp is None:
            self._queue.add((JOB, _key(job.metadata)))
            return
        uid = (meta.labels or {}).get(JOB_UID_LABEL, "")
        if not uid and is_copy(meta):
            # Its manager makes the Job later, if at all. Without one nothing of it runs.
            nothing = is_evicting(workload) and not self._mirrors.has_user(meta)
            self._reporter.report(meta.uid, key, Reported(nothing_runs=nothing))
        if not uid or (job is None and await self._has_job(meta, uid)):
            return  # it is nobody's, or whoever has it looks at it
        pods = await self._writer.pods_of(meta.namespace, uid)
        self._reporter.report(meta.uid, key, Reported(runs=bool(pods), remaining=tuple(pods)))
        if not pods and meta.deletion_timestamp is not None:
            waits = self._may_run_elsewhere(workload) and not is_true(workload, FINISHED)
            if not waits and has_finalizer(meta, RESOURCE_IN_USE):
                await self._writer.unprotect_workload(meta)
        elif not pods and job is None:
            await self._writer.delete_workload(meta)
        else:
            self._queue.add_after((WORKLOAD, key), ORPHAN_SECONDS)

    async def _has_job(self, meta: ObjectMeta, uid: str) -> bool:
        """Whether the Job goes on: the mirror may not show it yet, or it may have lost this Workload."""
        for each in self._mirrors.jobs:
            if each.metadata.uid == uid:
                return each.metadata.deletion_timestamp is None
        name = controller_of(meta)
        return bool(name) and await self._writer.exists(meta.namespace, name, uid)


def _wish(job: TemplatedJob, classes: Classes) -> Wish | JobError:
    try:
        return wish_of(job, classes)
    except JobError as error:
        return error


def _key(meta: ObjectMeta) -> str:
    return joined((meta.namespace, meta.name))


def _evicted_at(workload: Workload) -> float | None:
    """When it was evicted, in seconds since 1970; None if it is not, or holds no quota."""
    evicted = true_condition(workload, EVICTED)
    if evicted is None or not is_true(workload, QUOTA_RESERVED):
        return None
    try:
        return parse_rfc3339(evicted.last_transition_time or "")
    except ValueError:
        return None
