"""The writes about members of PodGroups in queues, and the whole pods that a Workload is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from api.core import Pod
from api.groups import POD_GROUP_LABEL
from api.integration import ADMISSION_GATE
from api.meta import Condition, ObjectMeta
from controllers.jobs.pod_groups.members import ADMITTED_BY, POD_ADMITTED, Member, is_of_a_job
from kube.client import STRATEGIC_MERGE_PATCH, ApiClient
from kube.conditions import ConditionWriter, Target
from kube.errors import ApiError
from kube.listing import list_all
from kube.sender import Sender
from runtime.failpoints import failpoint
from runtime.work.pod_gates import gate_removal

__all__ = ["GroupWriter"]

ENDED: Final = ("Succeeded", "Failed")


class GroupWriter:
    """One attempt a write. What fails is decided anew."""

    def __init__(
        self,
        client: ApiClient,
        sender: Sender,
        conditions: ConditionWriter,
        apply_pod: Callable[[Pod], object],
    ) -> None:
        """`apply_pod` takes pods that the API server has answered with, before the watch shows them."""
        self._client, self._sender = client, sender
        self._conditions, self._apply_pod = conditions, apply_pod

    async def tolerations(self, namespace: str, name: str) -> list[dict[str, Any]] | None:
        """All tolerations of the pod, with every field; None if it is gone. Raises ApiError."""
        found = await self._pods(namespace, {"fieldSelector": f"metadata.name={name}"})
        return list((found[0].get("spec") or {}).get("tolerations") or ()) if found else None

    async def admit(self, namespace: str, member: Member, patch: Mapping[str, Any]) -> None:
        """The pod passes. One that is gone is no error. Raises ApiError."""
        await failpoint("groups.before_admit")
        await self._patch("pod admission", namespace, member, patch)
        await failpoint("groups.after_admit")

    async def open_gate(self, namespace: str, member: Member) -> None:
        """The pod need not wait for quota. Raises ApiError."""
        await self._patch("pod gate", namespace, member, gate_removal(member.uid, ADMISSION_GATE))

    async def delete(self, namespace: str, member: Member) -> None:
        """Delete the pod, which has no node, in this state. Raises ApiError."""
        conditions = {"uid": member.uid, "resourceVersion": member.version}
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions})
        await failpoint("groups.before_delete")
        try:
            await self._sender.send("pod without a node", "DELETE", _path(namespace, member.name), body=body)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def say(self, namespace: str, member: Member, *, admitted: bool, reason: str, message: str) -> None:
        """The pod says why it waits, or that it waits no longer. Raises ApiError."""
        meta = ObjectMeta(
            name=member.name, namespace=namespace, uid=member.uid, resource_version=member.version
        )
        known = [member.said] if member.said is not None else list[Condition]()
        target = Target(_path(namespace, member.name), "v1", "Pod", meta, known)
        await self._conditions.write(target, POD_ADMITTED, "True" if admitted else "False", reason, message)

    async def whole_pods(self, namespace: str, group: str, uid: str) -> list[dict[str, Any]]:
        """The living members of the group with every field: those that have the quota of this Workload (UID), or none.

        Raises ApiError.
        """
        pods = await self._pods(namespace, {"labelSelector": f"{POD_GROUP_LABEL}={group}"})
        return [each for each in pods if _counts(each, uid)]

    async def _pods(self, namespace: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        return await list_all(self._client, f"/api/v1/namespaces/{namespace}/pods", dict[str, Any], query)

    async def _patch(self, what: str, namespace: str, member: Member, patch: Mapping[str, Any]) -> None:
        path = _path(namespace, member.name)
        try:
            answer = await self._sender.send(
                what, "PATCH", path, body=msgspec.json.encode(patch), content_type=STRATEGIC_MERGE_PATCH
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND or await self._is_gone(error, namespace, member):
                return
            raise
        self._apply_pod(msgspec.json.decode(answer, type=Pod))

    async def _is_gone(self, error: ApiError, namespace: str, member: Member) -> bool:
        """Whether a conflict means that another pod has the name now."""
        if error.status != HTTPStatus.CONFLICT:
            return False
        found = await self._pods(namespace, {"fieldSelector": f"metadata.name={member.name}"})
        return not any(each["metadata"]["uid"] == member.uid for each in found)


def _counts(pod: Mapping[str, Any], uid: str) -> bool:
    meta = pod["metadata"]
    if meta.get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in ENDED:
        return False
    admitted_by = (meta.get("annotations") or {}).get(ADMITTED_BY, "")
    return admitted_by in ("", uid) and not is_of_a_job(msgspec.convert(pod, Pod, strict=False))


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
