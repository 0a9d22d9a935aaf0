"""Which rights the API server grants to the caller (SelfSubjectAccessReview)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from kube.client import REQUEST_SECONDS, ApiClient
from kube.errors import ApiError

__all__ = ["PATH", "Access", "is_granted", "lacking"]

PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Access(NamedTuple):
    """A verb on a resource. `resource` has the subresource after a slash."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status


async def lacking(client: ApiClient, wanted: Sequence[Access]) -> list[Access]:
    """Those that are not granted in all namespaces. Raises ApiError."""
    granted = await asyncio.gather(*(is_granted(client, each) for each in wanted))
    return [each for each, has in zip(wanted, granted, strict=True) if not has]


async def is_granted(
    client: ApiClient, access: Access, namespace: str = "", *, seconds: float = REQUEST_SECONDS
) -> bool:
    """Whether it is granted in a namespace; in all namespaces if that is empty. Raises ApiError."""
    resource, _, subresource = access.resource.partition("/")
    attributes = {"group": access.group, "resource": resource, "verb": access.verb}
    if subresource:
        attributes["subresource"] = subresource
    if namespace:
        attributes["namespace"] = namespace
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    body = await client.request("POST", PATH, body=msgspec.json.encode(review), seconds=seconds)
    try:
        return msgspec.json.decode(body, type=_Review).status.allowed
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
