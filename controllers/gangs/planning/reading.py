"""Reads what the mirror does not keep, of one gang and at the moment of a decision: no watch is worth it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from api.core import Pod
from api.groups import API_VERSION, POD_GROUP_LABEL, PodGroupSpec, PodGroupStatus
from api.jobs import Job
from api.meta import Struct
from controllers.gangs.lifecycle.life import GroupKey
from kube.client import ApiClient, get_or_none
from kube.errors import ApiError
from kube.listing import list_all

__all__ = ["FieldsEntry", "ReadGroup", "ReadMeta", "Reader"]

T = TypeVar("T")


class FieldsEntry(Struct):
    """meta/v1 ManagedFieldsEntry: who wrote which fields."""

    manager: str = ""
    operation: str = ""
    """Apply or Update."""
    subresource: str = ""
    fields: dict[str, Any] | None = msgspec.field(default=None, name="fieldsV1")


class ReadMeta(Struct):
    """meta/v1 ObjectMeta with the field that the mirror does not keep."""

    uid: str = ""
    managed_fields: list[FieldsEntry] | None = None


class ReadGroup(Struct, kw_only=True):
    """A PodGroup as it is stored."""

    metadata: ReadMeta
    spec: PodGroupSpec
    status: PodGroupStatus | None = None


class Reader:
    """Reads objects from the API server. What cannot be decoded is an ApiError, too."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def group(self, key: GroupKey) -> ReadGroup | None:
        """The PodGroup; None if it is gone. It is asked for in a list, for which the right to list is enough."""
        path = f"/apis/{API_VERSION}/namespaces/{key[0]}/podgroups"
        found = await list_all(self._client, path, ReadGroup, {"fieldSelector": f"metadata.name={key[1]}"})
        return next(iter(found), None)

    async def pods(self, key: GroupKey) -> list[Pod]:
        """All pods whose label names the group, also those that have ended."""
        path = f"/api/v1/namespaces/{key[0]}/pods"
        return await list_all(self._client, path, Pod, {"labelSelector": f"{POD_GROUP_LABEL}={key[1]}"})

    async def job(self, namespace: str, name: str) -> Job | None:
        """The Job; None if it is gone."""
        body = await get_or_none(self._client, f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
        return _decoded(body, Job) if body is not None else None


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
