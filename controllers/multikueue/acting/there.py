"""Carries out acts in worker clusters. Each write is one attempt, on condition of what was seen: what fails is decided
anew."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import orjson

from api.clock import Clock
from api.meta import ObjectMeta
from api.multikueue import DISPATCHED_BY, EVICTED_ON_MANAGER, FENCED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL
from api.times import rfc3339
from api.workloads import DEACTIVATION_TARGET, Workload
from controllers.multikueue.acting.groups import Groups
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.keeping import lost_mark, lost_spec, lost_write
from controllers.multikueue.acting.originals import JOB_PATH, WORKLOAD_PATH, Originals
from controllers.multikueue.acting.refusing import Refusing, Remember
from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.clusters.client import NO_DRY_RUN
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.clusters.objects import metadata_in
from controllers.multikueue.kinds.bodies import copy_body
from controllers.multikueue.kinds.registry import kind_of
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    CreateJob,
    Deactivate,
    DeleteCopy,
    DeleteJob,
    FenceCopy,
    OpenGate,
    ReadJob,
    SetPriority,
    SuspendJob,
    There,
    TryJob,
)
from controllers.multikueue.life.seen import Copy, Mark, Seen
from kube.client import APPLY_PATCH, MERGE_PATCH, get_or_none
from kube.errors import ApiError
from runtime.failpoints import failpoint

__all__ = ["ActsThere"]

Json = dict[str, Any]
FIELD_MANAGER: Final = "reprieve-multikueue"
MESSAGE: Final = 32_000
GONE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""Answers to a deletion: 409, if another object has the name by now."""


class ActsThere:
    """In one term."""

    def __init__(
        self, originals: Originals, identity: Identity, telling: Telling, remember: Remember, clock: Clock
    ) -> None:
        self._originals, self._identity, self._telling = originals, identity, telling
        self._remember, self._clock = remember, clock
        self._groups = Groups(originals, identity.origin)
        self._refusing = Refusing(remember, clock)

    async def carry_out(self, act: There, seen: Seen, cluster: Connection) -> None:
        """Raises ApiError if the act must be tried again."""
        try:
            await self._carry_out(act, seen, cluster)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                cluster.watch_anew()
            raise
        self._refusing.succeeded(seen, cluster.name)
        self._telling.acted(act, seen, cluster.name)

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        self._refusing.gone(key)

    async def _carry_out(self, act: There, seen: Seen, cluster: Connection) -> None:
        match act:
            case CreateCopy():
                await self._create_copy(act, seen, cluster)
            case TryJob():
                await self._try_job(seen, cluster)
            case CreateJob():
                await self._create_job(seen, cluster)
            case DeleteCopy() | DeleteJob():
                await self._delete(act, seen, cluster)
            case ReadJob():
                await self._read_job(act, seen, cluster)
            case SuspendJob():
                await self._suspend(act, seen, cluster)
            case Deactivate():
                await self._deactivate(act, seen, cluster)
            case _:
                await self._patch_copy(act, seen, cluster)

    # ---- copies

    async def _create_copy(self, act: CreateCopy, seen: Seen, cluster: Connection) -> None:
        original = await self._original(seen)
        if original is None:
            return
        body = copy_body(original, self._mark(seen), self._identity.origin, has_gate=act.has_gate)
        body["metadata"].setdefault("annotations", {})[FENCED_BY] = self._identity.term
        await failpoint("multikueue.before_copy")
        try:
            answer = await cluster.sender.send(
                "copy", "POST", _collection(WORKLOAD_PATH, seen.key), body=orjson.dumps(body)
            )
        except ApiError as error:
            found, error = await self._found(error, WORKLOAD_PATH, seen.key, cluster)
            if found is None:
                self._refusing.out(error, seen, cluster.name, "Workload")
                return
            answer = found
        else:
            if lost := lost_mark(body, answer):
                await self._take_back(WORKLOAD_PATH, answer, cluster)
                self._refusing.changed(lost, seen, cluster.name, "Workload")
                return
            if lost := lost_spec(body, answer, has_gate=act.has_gate and cluster.honours_gates):
                self._refusing.changed(lost, seen, cluster.name, "Workload")
        cluster.apply_copy(answer)
        await failpoint("multikueue.after_copy")
        self._telling.dispatched(seen, cluster.name)
        self._check_copy(seen, cluster)

    def _check_copy(self, seen: Seen, cluster: Connection) -> None:
        """A copy that another schema there has changed would be made anew again and again."""
        copy = cluster.copy(seen.key)
        if copy is not None and seen.digest is not None and copy.digest != seen.digest:
            self._refusing.changed("spec", seen, cluster.name, "Workload")

    async def _patch_copy(self, act: There, seen: Seen, cluster: Connection) -> None:
        copy = cluster.copy(seen.key)
        if (
            copy is None
            or not isinstance(act, SetPriority | OpenGate | CloseGate | FenceCopy)
            or (copy.uid, copy.version) != (act.uid, act.version)
        ):
            return  # it has changed: what follows is decided anew
        what, subresource, change = self._change(act, seen, copy)
        body = {"metadata": {"uid": act.uid, "resourceVersion": act.version}}
        body["metadata"] |= change.pop("metadata", {})
        await failpoint(f"multikueue.before_{what}")
        answer = await cluster.sender.send(
            what,
            "PATCH",
            _path(WORKLOAD_PATH, seen.key) + subresource,
            body=orjson.dumps({**body, **change}),
            content_type=MERGE_PATCH,
        )
        cluster.apply_copy(answer)
        if lost := lost_write(act, seen, answer, self._identity.term):
            self._refusing.changed(lost, seen, cluster.name, "Workload")
        await failpoint(f"multikueue.after_{what}")

    def _change(self, act: There, seen: Seen, copy: Copy) -> tuple[str, str, Json]:
        """The kind of the write, the subresource, and the merge patch."""
        match act:
            case SetPriority():
                return "priority", "", {"spec": _priority(seen.workload)}
            case OpenGate():
                return "gate", "/status", {"status": {"preemptionGates": self._gate("Open", copy)}}
            case CloseGate():
                return "closing", "/status", {"status": {"preemptionGates": self._gate("Closed", copy)}}
            case _:
                return "fence", "", {"metadata": {"annotations": {FENCED_BY: self._identity.term}}}

    def _gate(self, position: str, copy: Copy) -> list[Json]:
        """The API server takes no earlier time than there is, and the clock there may be ahead."""
        time = rfc3339(max(self._clock.wall(), copy.gate_since / 1_000_000))
        return [{"name": MULTIKUEUE_GATE, "position": position, "lastTransitionTime": time}]

    async def _deactivate(self, act: Deactivate, seen: Seen, cluster: Connection) -> None:
        """An apply with one condition: what is kept of a copy does not have all of them."""
        copy = cluster.copy(seen.key)
        if copy is None or (copy.uid, copy.version) != (act.uid, act.version):
            return
        condition = {
            "type": DEACTIVATION_TARGET,
            "status": "True",
            "reason": EVICTED_ON_MANAGER,
            "message": act.message[:MESSAGE],
            "lastTransitionTime": rfc3339(self._clock.wall()),
        }
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {
                "name": copy.name,
                "namespace": copy.namespace,
                "uid": act.uid,
                "resourceVersion": act.version,
            },
            "status": {"conditions": [condition]},
        }
        await failpoint("multikueue.before_deactivation")
        answer = await cluster.sender.send(
            "deactivation",
            "PATCH",
            _path(WORKLOAD_PATH, seen.key) + "/status",
            query={"fieldManager": FIELD_MANAGER, "force": "true"},
            body=orjson.dumps(body),
            content_type=APPLY_PATCH,
        )
        cluster.apply_copy(answer)
        if lost_write(act, seen, answer, self._identity.term):
            raise ApiError(0, "Changed", "the cluster takes the condition off again")  # less and less often

    # ---- Jobs

    async def _try_job(self, seen: Seen, cluster: Connection) -> None:
        body = await self._job_body(seen)
        if body is None:
            return
        await failpoint("multikueue.before_dry_run")
        try:
            await self._groups.send(body, self._mark(seen), seen.key, cluster, is_trial=True)
            answer = await cluster.sender.send(
                "dry run of a Job",
                "POST",
                _collection(JOB_PATH, seen.key),
                query={"dryRun": "All"},
                body=orjson.dumps(body),
            )
            if lost := lost_mark(body, answer):
                self._refusing.changed(lost, seen, cluster.name, "Job")
                return
        except ApiError as error:
            found, error = await self._found(error, JOB_PATH, self._job_key(seen), cluster)
            if found is not None:
                cluster.apply_job(found)
            elif NO_DRY_RUN not in error.message:  # that is no refusal of the Job
                self._refusing.out(error, seen, cluster.name, "Job or PodGroup", for_good=True)
                return
        await failpoint("multikueue.after_dry_run")
        self._remember(seen, lambda memory: memory.took(cluster.name))

    async def _create_job(self, seen: Seen, cluster: Connection) -> None:
        body = await self._job_body(seen)
        if body is None:
            return
        await failpoint("multikueue.before_job")
        try:
            await self._groups.send(body, self._mark(seen), seen.key, cluster, is_trial=False)
            answer = await cluster.sender.send(
                "Job", "POST", _collection(JOB_PATH, seen.key), body=orjson.dumps(body)
            )
        except ApiError as error:
            found, error = await self._found(error, JOB_PATH, self._job_key(seen), cluster)
            if found is None:
                self._refusing.out(error, seen, cluster.name, "Job or PodGroup", for_good=True)
                return
            answer = found
        else:
            if lost := lost_mark(body, answer):
                await self._take_back(JOB_PATH, answer, cluster)
                self._refusing.changed(lost, seen, cluster.name, "Job")
                return
        cluster.apply_job(answer)
        await failpoint("multikueue.after_job")
        self._telling.admitted(seen, cluster.name)

    async def _job_body(self, seen: Seen) -> Json | None:
        workload, job = await self._original(seen), seen.job
        kind = kind_of(seen.workload) if seen.workload is not None else None
        found = await self._originals.template(job.metadata, seen.attempt) if job is not None else None
        if workload is None or found is None or kind is None:
            return None
        return kind.body(found, workload, self._mark(seen), self._identity.origin)

    async def _read_job(self, act: ReadJob, seen: Seen, cluster: Connection) -> None:
        job = cluster.job(seen.key, _job_name(seen))
        if job is None or job.uid != act.uid:
            return
        answer = await get_or_none(cluster.client, JOB_PATH.format(job.namespace, job.name))
        if answer is None:
            cluster.deleted(job, b"{}")
            return
        cluster.apply_job(answer)
        version = str(orjson.loads(answer)["metadata"]["resourceVersion"])
        self._remember(seen, lambda memory: memory.has_read(version))

    async def _suspend(self, act: SuspendJob, seen: Seen, cluster: Connection) -> None:
        job = cluster.job(seen.key, _job_name(seen))
        if job is None or job.uid != act.uid:
            return
        answer = await cluster.sender.send(
            "stop of a Job",
            "PATCH",
            JOB_PATH.format(job.namespace, job.name),
            body=orjson.dumps(
                {"metadata": {"uid": act.uid, "resourceVersion": act.version}, "spec": {"suspend": True}}
            ),
            content_type=MERGE_PATCH,
        )
        cluster.apply_job(answer)

    # ---- deletions

    async def _delete(self, act: DeleteCopy | DeleteJob, seen: Seen, cluster: Connection) -> None:
        thing = (
            cluster.job(seen.key, _job_name(seen)) if isinstance(act, DeleteJob) else cluster.copy(seen.key)
        )
        if thing is None or thing.uid != act.uid:
            return
        path = JOB_PATH if isinstance(act, DeleteJob) else WORKLOAD_PATH
        await failpoint("multikueue.before_deletion")
        try:
            answer = await _remove(path.format(thing.namespace, thing.name), act.uid, cluster)
        except ApiError as error:
            if error.status not in GONE:
                raise
            answer = b"{}"
        await failpoint("multikueue.after_deletion")
        cluster.deleted(thing, answer)

    async def _take_back(self, path: str, answer: bytes, cluster: Connection) -> None:
        """Delete what was made just now: without its marks it would not be seen again."""
        meta = metadata_in(answer)
        try:
            await _remove(path.format(meta.namespace, meta.name), meta.uid, cluster)
        except ApiError as error:
            if error.status not in GONE:
                raise

    # ---- common

    async def _original(self, seen: Seen) -> Json | None:
        if seen.workload is None:
            return None
        return await self._originals.workload(seen.workload.metadata, seen.attempt)

    async def _found(
        self, error: ApiError, path: str, key: str, cluster: Connection
    ) -> tuple[bytes | None, ApiError]:
        """The object that has the name already, if it is ours: an attempt without an answer has made it, or an earlier
        leader. And the error that there is without it."""
        if error.status != HTTPStatus.CONFLICT:
            return None, error
        try:
            answer = await get_or_none(cluster.client, _path(path, key))
            meta = metadata_in(answer) if answer is not None else ObjectMeta()
        except ApiError as unread:
            return None, unread
        mark = Mark.read((meta.annotations or {}).get(DISPATCHED_BY, ""))
        is_ours = (meta.labels or {}).get(ORIGIN_LABEL) == self._identity.origin
        if not is_ours or mark is None or mark.manager != self._identity.manager:
            return None, error
        return answer, error

    def _job_key(self, seen: Seen) -> str:
        return f"{seen.key.partition('/')[0]}/{_job_name(seen)}"

    def _mark(self, seen: Seen) -> Mark:
        uid = seen.workload.metadata.uid if seen.workload is not None else ""
        return Mark(self._identity.manager, uid, seen.attempt)


async def _remove(path: str, uid: str, cluster: Connection) -> bytes:
    """Delete the object of this UID, and then what belongs to it."""
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    }
    return await cluster.sender.send("deletion", "DELETE", path, body=orjson.dumps(body))


def _priority(workload: Workload | None) -> Json:
    if workload is None:
        return {}
    ref = workload.spec.priority_class_ref
    return {
        "priority": workload.spec.priority,
        "priorityClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name}
        if ref is not None
        else None,
    }


def _job_name(seen: Seen) -> str:
    return seen.job.metadata.name if seen.job is not None else ""


def _path(template: str, key: str) -> str:
    namespace, _, name = key.partition("/")
    return template.format(namespace, name)


def _collection(template: str, key: str) -> str:
    return _path(template, key).rpartition("/")[0]
