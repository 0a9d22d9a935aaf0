"""Finds the pods of a cluster that have the scheduling gate, and removes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from api.core import PodSchedulingGate
from api.groups import SCHEDULING_GATE
from api.meta import List, ObjectMeta, Struct
from controllers.gangs.writer import Writer
from kube.client import ApiClient, ApiError, get_or_none
from webhooks.registrations import CONFIGURATION, mutating_webhook

__all__ = ["Result", "adds_gates", "remove_gates"]

PAGE: Final = 500
"""Pods in one answer of the API server."""
AT_ONCE: Final = 16
"""Writes in flight."""
EXPIRED: Final = 410
"""The status of an answer to a list that took so long that its next page is no longer known."""


class Spec(Struct):
    """The part of a PodSpec that matters here."""

    scheduling_gates: list[PodSchedulingGate] | None = None


class GatedPod(Struct):
    """The part of a Pod that matters here."""

    metadata: ObjectMeta
    spec: Spec = msgspec.field(default_factory=Spec)


@dataclass(slots=True)
class Result:
    """What came of it. Pods are NAMESPACE/NAME."""

    removed: list[str] = field(default_factory=list)
    """Pods whose gate was removed."""
    errors: list[str] = field(default_factory=list)
    """Why a gate could not be removed."""
    left: list[str] = field(default_factory=list)
    """Pods that had the gate when all pods had been read once more."""


async def adds_gates(client: ApiClient) -> bool:
    """Whether the cluster has our webhook that adds gates. False if we may not know."""
    path = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{CONFIGURATION}"
    try:
        body = await get_or_none(client, path)
    except ApiError:
        return False
    if body is None:
        return False
    return f'"{mutating_webhook("Pod")}"'.encode() in body


async def remove_gates(
    client: ApiClient, writer: Writer, namespace: str | None, tell: Callable[[str], None]
) -> Result:
    """Remove the gate from every pod that has it, of a namespace or of all (None). `tell` is told of each such pod.

    Raises ApiError if pods cannot be listed.
    """
    result, slots = Result(), asyncio.Semaphore(AT_ONCE)

    async def remove(meta: ObjectMeta) -> None:
        pod = f"{meta.namespace}/{meta.name}"
        async with slots:
            try:
                is_there = await writer.remove_gate(meta.namespace, meta.name, meta.uid)
            except ApiError as error:
                result.errors.append(f"{pod}: {error}")
                return
        if is_there:
            result.removed.append(pod)
            tell(pod)

    async for page in _gated_pods(client, namespace):
        await asyncio.gather(*(remove(meta) for meta in page))
    async for page in _gated_pods(client, namespace):
        result.left += [f"{meta.namespace}/{meta.name}" for meta in page]
    return result


async def _gated_pods(client: ApiClient, namespace: str | None) -> AsyncIterator[list[ObjectMeta]]:
    """Pages of pods that have the gate. A pod may come twice if the API server is slow. Raises ApiError."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace is not None else "/api/v1/pods"
    token = ""
    while True:
        query = {"limit": str(PAGE), "fieldSelector": "spec.nodeName="}  # a pod with gates has no node
        try:
            body = await client.request(
                "GET", path, query={**query, **({"continue": token} if token else {})}
            )
        except ApiError as error:
            if not (token and error.status == EXPIRED):
                raise
            token = ""
            continue
        try:
            page = msgspec.json.decode(body, type=List[GatedPod])
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", f"the answer is no list of pods: {error}") from error
        yield [pod.metadata for pod in page.items if _has_gate(pod)]
        token = page.metadata.continue_
        if not token:
            return


def _has_gate(pod: GatedPod) -> bool:
    return any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates or ())
