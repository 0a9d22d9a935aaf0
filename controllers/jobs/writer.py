"""The writes about Jobs and their Workloads. Each one names the state of the object that it was decided on."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from api.integration import CONTROLLER_UID_LABEL
from api.jobs import TemplatedJob
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta, Struct
from api.podsets import DEFAULT_POD_SET
from api.workloads import Workload
from controllers.jobs.job_state import TemplateParts
from kube.client import MERGE_PATCH, ApiClient, get_or_none
from kube.errors import ApiError
from kube.finalizers import remove_finalizer
from kube.listing import list_all
from kube.sender import Sender
from runtime.failpoints import failpoint

__all__ = ["JobWriter"]

ENDED: Final = ("Succeeded", "Failed")


class _PodStatus(Struct):
    phase: str = ""


class _Pod(Struct):
    """The part of a pod that says whether it is left."""

    metadata: ObjectMeta
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _PodSet(Struct):
    name: str = DEFAULT_POD_SET
    template: TemplateParts = msgspec.field(default_factory=TemplateParts)


class _Spec(Struct):
    pod_sets: list[_PodSet] = msgspec.field(default_factory=list)


class _Original(Struct):
    """The templates of a Workload, with all fields that an admission changes."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


class JobWriter:
    """One attempt a write. What fails is decided anew."""

    def __init__(
        self,
        client: ApiClient,
        sender: Sender,
        apply_job: Callable[[TemplatedJob], object],
        apply_workload: Callable[[Workload], object],
    ) -> None:
        """The functions take objects that the API server has answered with, before the watch shows them."""
        self._client, self._sender = client, sender
        self._apply_job, self._apply_workload = apply_job, apply_workload

    async def patch_job(self, meta: ObjectMeta, what: str, patch: dict[str, Any]) -> None:
        """A merge patch of the Job. `what` is for failpoints. Raises ApiError."""
        await failpoint(f"jobs.before_{what}")
        answer = await self._patch("job", job_path(meta), patch)
        self._apply_job(msgspec.json.decode(answer, type=TemplatedJob))
        await failpoint(f"jobs.after_{what}")

    async def reset_start_time(self, meta: ObjectMeta) -> None:
        """The Job was never started, as far as its status says. Raises ApiError."""
        patch = {
            "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
            "status": {"startTime": None},
        }
        await failpoint("jobs.before_reset")
        answer = await self._patch("job status", f"{job_path(meta)}/status", patch)
        self._apply_job(msgspec.json.decode(answer, type=TemplatedJob))
        await failpoint("jobs.after_reset")

    async def create_workload(self, body: dict[str, Any]) -> None:
        """One that exists already is no error: an earlier try made it. Raises ApiError."""
        meta = body["metadata"]
        path = workload_path(ObjectMeta(name=meta["name"], namespace=meta["namespace"]))
        await failpoint("jobs.before_create")
        try:
            answer = await self._sender.send(
                "workload creation", "POST", path.rpartition("/")[0], body=msgspec.json.encode(body)
            )
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            found = await get_or_none(self._client, path)
            if found is None:
                raise
            answer = found
        self._apply_workload(msgspec.json.decode(answer, type=Workload))
        await failpoint("jobs.after_create")

    async def patch_workload(self, meta: ObjectMeta, patch: dict[str, Any]) -> None:
        """A merge patch of anything but the status. Raises ApiError."""
        await failpoint("jobs.before_change")
        answer = await self._patch("workload", workload_path(meta), patch)
        self._apply_workload(msgspec.json.decode(answer, type=Workload))

    async def delete_workload(self, meta: ObjectMeta) -> None:
        """This Workload, in this state. One that is gone is no error. Raises ApiError."""
        conditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        await failpoint("jobs.before_delete")
        try:
            await self._sender.send(
                "workload deletion",
                "DELETE",
                workload_path(meta),
                body=msgspec.json.encode({"preconditions": conditions}),
            )
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def unprotect_workload(self, meta: ObjectMeta) -> None:
        """It is being deleted, and nobody needs it any longer. Raises ApiError."""
        await failpoint("jobs.before_unprotect")
        await remove_finalizer(self._sender, workload_path(meta), meta, RESOURCE_IN_USE)

    # ---- reads

    async def original(self, meta: ObjectMeta) -> TemplateParts | None:
        """What the template of the Workload has of the fields that an admission changes; None if it is gone. Raises
        ApiError."""
        body = await get_or_none(self._client, workload_path(meta))
        if body is None:
            return None
        pods = msgspec.json.decode(body, type=_Original).spec.pod_sets
        return next((each.template for each in pods if each.name == DEFAULT_POD_SET), None)

    async def exists(self, namespace: str, name: str, uid: str) -> bool:
        """Whether there is a Job of this name and UID. Raises ApiError."""
        body = await get_or_none(self._client, job_path(ObjectMeta(name=name, namespace=namespace)))
        return body is not None and msgspec.json.decode(body, type=_Pod).metadata.uid == uid

    async def pods_of(self, namespace: str, uid: str) -> list[str]:
        """Names of the pods of the Job (UID) that have not ended, or are still there while they terminate. Raises
        ApiError."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        pods = await list_all(self._client, path, _Pod, {"labelSelector": f"{CONTROLLER_UID_LABEL}={uid}"})
        return sorted(each.metadata.name for each in pods if each.status.phase not in ENDED)

    async def _patch(self, what: str, path: str, patch: dict[str, Any]) -> bytes:
        return await self._sender.send(
            what, "PATCH", path, body=msgspec.json.encode(patch), content_type=MERGE_PATCH
        )


def job_path(meta: ObjectMeta) -> str:
    """The URL path of a Job."""
    return f"/apis/batch/v1/namespaces/{meta.namespace}/jobs/{meta.name}"


def workload_path(meta: ObjectMeta) -> str:
    """The URL path of a Workload."""
    return f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{meta.namespace}/workloads/{meta.name}"
