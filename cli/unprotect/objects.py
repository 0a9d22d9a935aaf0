"""Finds the objects that have Kueue's finalizer, and removes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from api.meta import List, ObjectMeta, Struct
from kube.client import ApiClient, ApiError, get_or_none
from kube.finalizers import has_finalizer, remove_finalizer
from kube.sender import Sender
from runtime.finalizers import RESOURCE_IN_USE
from runtime.resources import ADMISSION_CHECKS, CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS

__all__ = ["Result", "is_kueue_there", "unprotect_all"]

PATHS: Final = {
    "Workload": WORKLOADS.path,
    "ClusterQueue": CLUSTER_QUEUES.path,
    "ResourceFlavor": RESOURCE_FLAVORS.path,
    "AdmissionCheck": ADMISSION_CHECKS.path,
}
"""By kind. In this order: what others wait for goes first."""
PAGE: Final = 500
AT_ONCE: Final = 16
"""Writes in flight."""
EXPIRED: Final = 410
"""The status of an answer to a list that took so long that its next page is no longer known."""
KUEUE: Final = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kueue-mutating-webhook-configuration"
)


class Guarded(Struct):
    """The part of an object that matters here."""

    metadata: ObjectMeta


@dataclass(slots=True)
class Result:
    """What came of it. Objects are `KIND NAME` or `KIND NAMESPACE/NAME`."""

    removed: list[str] = field(default_factory=list)
    """Objects that lost the finalizer."""
    errors: list[str] = field(default_factory=list)
    """Why an object could not lose it."""
    left: list[str] = field(default_factory=list)
    """Objects that had it when all had been read once more."""


async def is_kueue_there(client: ApiClient) -> bool:
    """Whether the cluster has Kueue's webhook, which adds the finalizer. False if we may not know."""
    try:
        return await get_or_none(client, KUEUE) is not None
    except ApiError:
        return False


async def unprotect_all(client: ApiClient, tell: Callable[[str], None]) -> Result:
    """Remove the finalizer from every object that has it. `tell` is told of each.

    Raises ApiError if objects cannot be listed. A kind that is not served has no objects.
    """
    result, sender, slots = Result(), Sender(client), asyncio.Semaphore(AT_ONCE)

    async def remove(kind: str, meta: ObjectMeta) -> None:
        name = _name(kind, meta)
        async with slots:
            try:
                is_there = await remove_finalizer(sender, _path(kind, meta), meta, RESOURCE_IN_USE)
            except ApiError as error:
                result.errors.append(f"{name}: {error}")
                return
        if is_there:
            result.removed.append(name)
            tell(name)

    for kind in PATHS:
        async for page in _guarded(client, kind):
            await asyncio.gather(*(remove(kind, meta) for meta in page))
    for kind in PATHS:
        async for page in _guarded(client, kind):
            result.left += [_name(kind, meta) for meta in page]
    return result


async def _guarded(client: ApiClient, kind: str) -> AsyncIterator[list[ObjectMeta]]:
    """Pages of objects that have the finalizer. An object may come twice if the API server is slow. Raises ApiError."""
    token = ""
    while True:
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        try:
            body = await get_or_none(client, PATHS[kind], query=query)
        except ApiError as error:
            if not (token and error.status == EXPIRED):
                raise
            token = ""
            continue
        if body is None:
            return
        try:
            page = msgspec.json.decode(body, type=List[Guarded])
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", f"the answer is no list of {kind}s: {error}") from error
        yield [each.metadata for each in page.items if has_finalizer(each.metadata, RESOURCE_IN_USE)]
        token = page.metadata.continue_
        if not token:
            return


def _name(kind: str, meta: ObjectMeta) -> str:
    return f"{kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{kind} {meta.name}"


def _path(kind: str, meta: ObjectMeta) -> str:
    group, _, plural = PATHS[kind].rpartition("/")
    where = f"{group}/namespaces/{meta.namespace}" if meta.namespace else group
    return f"{where}/{plural}/{meta.name}"
