"""All that acts in one term for PodGroups in queues: it looks at groups that something has happened to, and writes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.groups import PodGroup
from api.workloads import Workload
from controllers.jobs.owned_workload import JobError, Wish
from controllers.jobs.pod_groups.life import Admit, Around, GroupStep, Remark, Seen, next_step
from controllers.jobs.pod_groups.mirrors import GroupKey, GroupMirrors
from controllers.jobs.pod_groups.workload import (
    KIND,
    admission_patch,
    group_wish,
    group_workload_body,
    pod_sets_of,
)
from controllers.jobs.pod_groups.writer import GroupWriter
from controllers.jobs.writer import JobWriter
from kube.errors import ApiError
from kube.recorder import EventRecorder, Reference
from quota.state.workloads import is_evicting, key_of
from runtime.exchange.queued_groups import QueuedGroups, Stop
from runtime.exchange.workload_reports import Reporter
from runtime.work.queue import KeyedQueue
from runtime.work.workers import serve

__all__ = ["GroupLeading"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 4
"""Groups that are looked at together."""
PODS_AT_ONCE: Final = 16
"""Pods of one group that are written together."""
BURST_SECONDS: Final = 0.1
"""Pods of a group come in bursts. One look serves all changes within this time."""
GRACE_SECONDS: Final = 2.0
"""A group may be created just after its pods. Gated pods without a group keep their gate for this time."""
BACKOFF: Final = Backoff(0.2, 60.0)


class GroupLeading:
    """State that ends with the term."""

    def __init__(
        self,
        mirrors: GroupMirrors,
        writer: GroupWriter,
        workloads: JobWriter,
        recorder: EventRecorder,
        reporter: Reporter,
        queued: QueuedGroups,
        clock: Clock,
    ) -> None:
        """`workloads` writes Workloads."""
        self._mirrors, self._writer, self._workloads = mirrors, writer, workloads
        self._recorder, self._reporter, self._queued, self._clock = recorder, reporter, queued, clock
        self._queue: KeyedQueue[GroupKey] = KeyedQueue(backoff=BACKOFF, clock=clock)
        self._missing: dict[GroupKey, float] = {}
        """Groups that do not exist and have gated pods: since when, in monotonic seconds."""
        self._warned: dict[GroupKey, str] = {}
        """Groups that cannot become Workloads, and what was said."""

    async def run(self) -> None:
        """Act until cancelled. The views must be as new as the API server."""
        with self._mirrors.told(self._changed), self._mirrors.supplies.told(self._classes_changed):
            for key in self._mirrors.known():
                self._queue.add(key)
            await serve(self._queue, self._look, self._failed, name="groups in queues", workers=AT_ONCE)

    def _changed(self, group: GroupKey) -> None:
        """Something has happened to the group, its members or its Workload."""
        self._queue.add_after(group, BURST_SECONDS)

    def _classes_changed(self) -> None:
        """A class may help those that named none that exists."""
        for group in self._warned:
            self._queue.add(group)

    def _failed(self, key: GroupKey, error: ApiError, wait: float) -> None:
        if error.status != HTTPStatus.CONFLICT:
            log.warning("a group is looked at again", group=key, error=str(error), wait=round(wait, 2))
        if error.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            self._warn(key, f"the API server refuses a write: {error}")

    # ---- one group

    async def _look(self, key: GroupKey) -> None:
        group = self._mirrors.groups.get(*key)
        own = self._mirrors.workload_of(group) if group is not None else None
        for workload in self._mirrors.workloads.of(key):
            if own is None or workload.metadata.uid != own.metadata.uid:
                await self._do(key, None, Seen(None, self._mirrors.members.of(key), workload))
        if group is None:
            await self._without_group(key)
            return
        self._missing.pop(key, None)
        if own is not None and is_evicting(own):
            self._mirrors.members.forget_preempted(key)
        seen = Seen(group, self._mirrors.members.of(key), own, self._mirrors.members.preempted(key))
        await self._do(key, group, seen)

    async def _without_group(self, key: GroupKey) -> None:
        self._queued.go_on(key)
        self._warned.pop(key, None)
        gated = [each for each in self._mirrors.members.of(key) if each.is_gated and not each.leaving]
        if not gated:
            self._missing.pop(key, None)
            return
        now = self._clock.monotonic()
        left = self._missing.setdefault(key, now) + GRACE_SECONDS - now
        if left > 0:
            self._queue.add_after(key, left)
            return
        await self._each(self._writer.open_gate(key[0], member) for member in gated)

    async def _do(self, key: GroupKey, group: PodGroup | None, seen: Seen) -> None:
        wish = self._wish(group)
        step = next_step(seen, Around(wish, self._mirrors.supplies.infos))
        workload = seen.workload
        if workload is not None:
            self._reporter.report(workload.metadata.uid, key_of(workload), step.reported)
        if group is not None:
            self._stop(key, group, step)
            if step.warning:
                self._warn(key, step.warning)
            else:
                self._warned.pop(key, None)
        await self._write_workload(key, group, wish, seen, step)
        await self._write_pods(key[0], workload, step)

    def _stop(self, key: GroupKey, group: PodGroup, step: GroupStep) -> None:
        if step.stop:
            self._queued.stop(key, Stop(group.metadata.uid, step.stop))
        else:
            self._queued.go_on(key)

    def _wish(self, group: PodGroup | None) -> Wish | JobError:
        if group is None or not self._mirrors.is_queued(group):
            return Wish("", 0, None, None)
        try:
            return group_wish(group, self._mirrors.supplies.classes)
        except JobError as error:
            return error

    # ---- writes

    async def _write_workload(
        self, key: GroupKey, group: PodGroup | None, wish: Wish | JobError, seen: Seen, step: GroupStep
    ) -> None:
        workload = seen.workload
        if step.create and group is not None and isinstance(wish, Wish):
            pods = await self._writer.whole_pods(*key, "")
            gang = group.spec.scheduling_policy.gang
            if gang is None or len(pods) < gang.min_count:
                return
            body = group_workload_body(group, wish, pod_sets_of(pods))
            await self._workloads.create_workload(body)
            name = body["metadata"]["name"]
            self._tell(group, "Normal", "CreatedWorkload", f"Created Workload {name}")
        elif workload is None:
            return
        elif step.renew and isinstance(wish, Wish):
            spec = wish.changes(workload)
            if workload.status.admission is None:
                pods = await self._writer.whole_pods(*key, workload.metadata.uid)
                spec |= {"podSets": pod_sets_of(pods)} if pods else {}
            meta = {"resourceVersion": workload.metadata.resource_version}
            await self._workloads.patch_workload(workload.metadata, {"metadata": meta, "spec": spec})
        elif step.delete:
            await self._workloads.delete_workload(workload.metadata)
        elif step.unprotect:
            await self._workloads.unprotect_workload(workload.metadata)

    async def _write_pods(self, namespace: str, workload: Workload | None, step: GroupStep) -> None:
        await self._each(self._writer.open_gate(namespace, member) for member in step.open_gates)
        await self._each(self._writer.delete(namespace, member) for member in step.remove)
        if workload is not None:
            uid = workload.metadata.uid
            await self._each(self._admit(namespace, each, uid) for each in step.admit)
        await self._each(self._remark(namespace, each) for each in step.remarks if each.is_new)

    async def _admit(self, namespace: str, admit: Admit, uid: str) -> None:
        known: list[dict[str, Any]] | None = []
        if admit.info.tolerations:
            known = await self._writer.tolerations(namespace, admit.member.name)
        if known is None:
            return
        await self._writer.admit(namespace, admit.member, admission_patch(admit, uid, known))
        if admit.member.said is not None and admit.member.said.status != "True":
            member = replace(admit.member, version="")
            await self._writer.say(
                namespace, member, admitted=True, reason="Admitted", message="it has quota"
            )

    async def _remark(self, namespace: str, remark: Remark) -> None:
        member, reason, note = remark
        await self._writer.say(namespace, member, admitted=False, reason=reason, message=note)
        pod = Reference("v1", "Pod", namespace, member.name, member.uid)
        self._recorder.event(pod, "Warning", reason, "Queueing", note)

    async def _each(self, writes: Iterable[Coroutine[Any, Any, None]]) -> None:
        """All of them, even if one fails. Raises the first error."""
        slots = asyncio.Semaphore(PODS_AT_ONCE)

        async def one(write: Coroutine[Any, Any, None]) -> None:
            async with slots:
                await write

        results = await asyncio.gather(*(one(each) for each in writes), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    # ---- words

    def _warn(self, key: GroupKey, message: str) -> None:
        group = self._mirrors.groups.get(*key)
        if group is not None and self._warned.get(key) != message:
            self._warned[key] = message
            self._tell(group, "Warning", "ErrWorkloadCompose", message)

    def _tell(self, group: PodGroup, type_: Any, reason: str, note: str) -> None:
        reference = Reference.of(group.api_version, KIND, group.metadata)
        self._recorder.event(reference, type_, reason, "Queueing", note)
