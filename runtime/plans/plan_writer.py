"""Writes to PreemptionPlans and ClusterPreemptionPlans: the requests, one function each."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from api.groups import API_VERSION
from api.meta import List, ObjectMeta
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanStatus
from kube.client import JSON_PATCH, MERGE_PATCH, METADATA_LIST, ApiClient
from kube.envelopes import OnlyIdentity
from kube.errors import ApiError
from kube.sender import Sender

__all__ = ["PlanWriter", "decoded", "path_of"]

T = TypeVar("T")

PLANS_A_PAGE: Final = "500"
"""Names in one answer to a list of whole decisions."""


class PlanWriter:
    """Conditioned writes are answered with 409 or 422 if the object is another one. Everything raises ApiError."""

    def __init__(self, client: ApiClient, sender: Sender) -> None:
        self._client, self._sender = client, sender

    async def create_plan(self, plan: PreemptionPlan) -> PreemptionPlan:
        """Write the decision; returns the object as it is stored."""
        path = path_of("preemptionplans", plan.metadata.namespace)
        return _plan(await self._sender.send("plan", "POST", path, body=msgspec.json.encode(plan)))

    async def find_plan(self, namespace: str, name: str) -> PreemptionPlan | None:
        """The plan as it is stored. It is asked for in a list, for which the right to list is enough."""
        query = {"fieldSelector": f"metadata.name={name}"}
        body = await self._client.request("GET", path_of("preemptionplans", namespace), query=query)
        return next(iter(decoded(body, List[PreemptionPlan]).items), None)

    async def patch_plan_status(
        self, namespace: str, name: str, status: PreemptionPlanStatus
    ) -> PreemptionPlan:
        """Replace phase and conditions; returns the object as it is stored."""
        path = f"{path_of('preemptionplans', namespace, name)}/status"
        body = msgspec.json.encode({"status": status})
        return _plan(
            await self._sender.send("plan status", "PATCH", path, body=body, content_type=MERGE_PATCH)
        )

    async def add_plan_finalizer(self, meta: ObjectMeta, finalizer: str) -> PreemptionPlan:
        """Add the finalizer, only in the version that `meta` shows (409 otherwise)."""
        patch = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "finalizers": [*(meta.finalizers or ()), finalizer],
            }
        }
        return await self._patch_plan_finalizers(meta, msgspec.json.encode(patch), MERGE_PATCH)

    async def remove_plan_finalizer(self, meta: ObjectMeta, finalizer: str) -> PreemptionPlan:
        """Remove the finalizer, which `meta` shows. Only a change of the finalizers is in the way (422)."""
        place = f"/metadata/finalizers/{(meta.finalizers or []).index(finalizer)}"
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": place, "value": finalizer},
            {"op": "remove", "path": place},
        ]
        return await self._patch_plan_finalizers(meta, msgspec.json.encode(patch), JSON_PATCH)

    async def _patch_plan_finalizers(
        self, meta: ObjectMeta, body: bytes, content_type: str
    ) -> PreemptionPlan:
        path = path_of("preemptionplans", meta.namespace, meta.name)
        return _plan(
            await self._sender.send("plan finalizers", "PATCH", path, body=body, content_type=content_type)
        )

    async def delete_plan(self, namespace: str, name: str) -> None:
        """Delete the plan; one that is gone is no error."""
        await self._delete("plan deletion", path_of("preemptionplans", namespace, name))

    async def create_whole_plan(self, plan: ClusterPreemptionPlan) -> None:
        """Write the whole decision."""
        path = path_of("clusterpreemptionplans")
        await self._sender.send("whole plan", "POST", path, body=msgspec.json.encode(plan))

    async def whole_plans(self, selector: str) -> set[str]:
        """The names of the whole decisions that are stored and have such labels."""
        names, more = set[str](), ""
        while True:
            query = {"limit": PLANS_A_PAGE, "labelSelector": selector, **({"continue": more} if more else {})}
            path = path_of("clusterpreemptionplans")
            body = await self._client.request("GET", path, query=query, accept=METADATA_LIST)
            page = decoded(body, List[OnlyIdentity])
            names.update(each.metadata.name for each in page.items)
            more = page.metadata.continue_
            if not more:
                return names

    async def find_whole_plan(self, name: str) -> ClusterPreemptionPlan | None:
        """The whole decision as it is stored; None if there is none. As in `find_plan`, the right to list is enough."""
        query = {"fieldSelector": f"metadata.name={name}"}
        body = await self._client.request("GET", path_of("clusterpreemptionplans"), query=query)
        return next(iter(decoded(body, List[ClusterPreemptionPlan]).items), None)

    async def delete_whole_plan(self, name: str) -> None:
        """Delete the whole decision; one that is gone is no error."""
        await self._delete("whole plan deletion", path_of("clusterpreemptionplans", name=name))

    async def _delete(self, what: str, path: str) -> None:
        try:
            await self._sender.send(what, "DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise


def path_of(plural: str, namespace: str | None = None, name: str | None = None) -> str:
    """The path of reprieve's own objects."""
    parts = ["/apis", API_VERSION, *(["namespaces", namespace] if namespace else []), plural]
    return "/".join([*parts, name] if name else parts)


def decoded(body: bytes, kind: type[T]) -> T:
    """The API server's answer. Raises ApiError if it is no object of the kind."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer is no {kind.__name__}: {error}") from error


def _plan(body: bytes) -> PreemptionPlan:
    return decoded(body, PreemptionPlan)
