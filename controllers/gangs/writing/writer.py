"""Conditioned writes: each says which object it means by UID, so that a late one cannot hit another of the name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from api.clock import Clock
from api.disruption import DISRUPTION_TARGET
from api.groups import API_VERSION, SCHEDULING_GATE, PodGroup, PodGroupStatus
from api.meta import Condition
from api.times import rfc3339
from kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiClient
from kube.conditions import ConditionWriter, Status, Target
from kube.envelopes import OnlyMetadata
from kube.errors import ApiError
from kube.recorder import EventRecorder, Reference
from kube.sender import Sender, WithdrawnError
from nodes.groups.forms import object_name
from runtime.plans.plan_writer import PlanWriter, decoded, path_of
from runtime.work.pod_gates import gate_removal

__all__ = ["Deletion", "Marked", "Reference", "Writer", "reference_of"]

EVENTS_SECONDS: Final = 1.0
"""How long a term that ends may write events."""
DRY_RUN: Final = {"dryRun": "All"}


def reference_of(group: PodGroup) -> Reference:
    """The object of the group, whatever its kind is."""
    named = object_name(group)
    return Reference(named.api_version, named.kind, group.metadata.namespace, named.name, named.uid)


def _always() -> bool:
    return True


class Deletion(StrEnum):
    """The result of asking for a pod's deletion."""

    DELETED = "deleted"
    GONE = "gone"
    """The pod is not there, or leaves already."""
    CHANGED = "changed"
    """It is another pod, or another version of it, than was meant."""
    OVER_BUDGET = "over_budget"
    """A PodDisruptionBudget does not allow it now. Only of evictions that respect budgets."""
    PAUSED = "paused"
    """It was not sent: evictions are paused."""


class Marked(NamedTuple):
    """A pod has our mark."""

    version: str
    """The pod's resourceVersion with the mark."""
    leaves: bool
    """Somebody has asked for its deletion before."""


class Writer(PlanWriter):
    """All that is written to the API server.

    Writes are tried again for a while when the API server is away or overloaded; what it then still refuses, and
    conflicts at once, are raised as ApiError.
    """

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        *,
        sender: Sender | None = None,
        group_written: Callable[[PodGroup], object] = lambda _group: None,
    ) -> None:
        """`group_written` gets each PodGroup after a write: it is newer than what the watch shows."""
        super().__init__(client, sender or Sender(client))
        self._group_written, self._clock = group_written, clock
        self._recorder = EventRecorder(self._sender, clock=clock)
        self._conditions = ConditionWriter(self._sender, clock=clock)
        self.event = self._recorder.event

    async def close(self) -> None:
        """Write the events that wait, if that is soon done: the next process waits for us."""
        await self._recorder.close(EVENTS_SECONDS)

    # ---- pods

    async def patch_pod_status(
        self,
        namespace: str,
        name: str,
        uid: str,
        *,
        conditions: Sequence[Condition] = (),
        nominated_node_name: str | None = None,
        dry_run: bool = False,
    ) -> bool:
        """Set conditions (others stay) and the nomination (None: as it is); false if the pod is not there.

        `dry_run`: the API server checks the write, and changes nothing.
        """
        status: dict[str, Any] = {}
        if conditions:
            status["conditions"] = list(conditions)
        if nominated_node_name is not None:
            status["nominatedNodeName"] = nominated_node_name
        return await self._patch_pod_status(namespace, name, uid, status, dry_run=dry_run) is not None

    async def _patch_pod_status(
        self, namespace: str, name: str, uid: str, status: Mapping[str, Any], *, dry_run: bool = False
    ) -> bytes | None:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        body = msgspec.json.encode({"metadata": {"uid": uid}, "status": status})
        return await self._patch_pod("pod status", path, body, dry_run=dry_run)

    async def _patch_pod(self, what: str, path: str, body: bytes, *, dry_run: bool = False) -> bytes | None:
        """The pod as it is then. None if it is not there, or has another UID than the body says."""
        query = DRY_RUN if dry_run else None
        try:
            return await self._sender.send(
                what, "PATCH", path, body=body, query=query, content_type=STRATEGIC_MERGE_PATCH
            )
        except ApiError as error:
            if _is_other_object(error):
                return None
            raise

    async def nominate(
        self, namespace: str, name: str, uid: str, *, resource_version: str, node: str
    ) -> bool:
        """Nominate the pod in just this version (409 otherwise); false if it is not there, or is bound."""
        metadata = {"uid": uid, "resourceVersion": resource_version}
        body = msgspec.json.encode({"metadata": metadata, "status": {"nominatedNodeName": node}})
        return await self._patch_nomination(namespace, name, body, MERGE_PATCH)

    async def withdraw_nomination(self, namespace: str, name: str, uid: str, *, node: str) -> bool:
        """Withdraw the pod's nomination, if it is just this one; false if it is not, or the pod is not there."""
        nomination = "/status/nominatedNodeName"
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": nomination, "value": node},
            {"op": "remove", "path": nomination},
        ]
        return await self._patch_nomination(namespace, name, msgspec.json.encode(patch), JSON_PATCH)

    async def _patch_nomination(self, namespace: str, name: str, body: bytes, content_type: str) -> bool:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        try:
            await self._sender.send("pod nomination", "PATCH", path, body=body, content_type=content_type)
        except ApiError as error:
            if error.status in (404, 422):
                return False
            raise
        return True

    async def mark_disruption_target(
        self, namespace: str, name: str, uid: str, reason: str, message: str, *, dry_run: bool = False
    ) -> Marked | None:
        """The condition that the scheduler gives a victim; None if the pod is not there.

        `message` must be another one in each term, so that the write changes the pod.
        """
        condition = Condition(
            type=DISRUPTION_TARGET,
            status="True",
            reason=reason,
            message=message,
            last_transition_time=rfc3339(self._clock.wall()),
        )
        status = {"conditions": [condition]}
        body = await self._patch_pod_status(namespace, name, uid, status, dry_run=dry_run)
        if body is None:
            return None
        meta = decoded(body, OnlyMetadata).metadata
        return Marked(meta.resource_version, leaves=bool(meta.deletion_timestamp))

    async def unmark_disruption_target(self, namespace: str, name: str, uid: str) -> bool:
        """Remove that condition; false if the pod is not there."""
        status = {"conditions": [{"type": DISRUPTION_TARGET, "$patch": "delete"}]}
        return await self._patch_pod_status(namespace, name, uid, status) is not None

    async def remove_gate(self, namespace: str, name: str, uid: str) -> bool:
        """Remove our scheduling gate, if the pod has it; false if the pod is not there. Gates of others stay.

        The API server finds the gate by its name, so it does not matter who else changes the list at the same time.
        """
        body = msgspec.json.encode(gate_removal(uid, SCHEDULING_GATE))
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        return await self._patch_pod("pod gate", path, body) is not None

    async def delete_pod(
        self,
        namespace: str,
        name: str,
        uid: str,
        version: str = "",
        *,
        dry_run: bool = False,
        wanted: Callable[[], bool] = _always,
    ) -> Deletion:
        """Ask for the deletion of this very pod, with its own grace period.

        `version`: only in this resourceVersion. `dry_run`: the API server says what would come of it, and deletes
        nothing. `wanted` is asked right before each attempt: false while evictions are paused.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        options = _delete_options(uid, version, dry_run=dry_run)
        return await self._end_pod("DELETE", path, options, wanted)

    async def evict_pod(
        self,
        namespace: str,
        name: str,
        uid: str,
        version: str = "",
        *,
        dry_run: bool = False,
        wanted: Callable[[], bool] = _always,
    ) -> Deletion:
        """The same by an Eviction: the API server counts the pod against its PodDisruptionBudget, or refuses."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": _delete_options(uid, version, dry_run=dry_run),
        }
        return await self._end_pod("POST", path, eviction, wanted)

    async def _end_pod(
        self, method: str, path: str, body: Mapping[str, Any], wanted: Callable[[], bool]
    ) -> Deletion:
        try:
            await self._sender.send(
                "pod deletion", method, path, body=msgspec.json.encode(body), wanted=wanted
            )
        except WithdrawnError:
            return Deletion.PAUSED
        except ApiError as error:
            if error.over_budget:
                return Deletion.OVER_BUDGET
            if error.status == 404:
                return Deletion.GONE
            if error.status == 409:
                return Deletion.CHANGED
            raise
        return Deletion.DELETED

    # ---- groups

    async def write_group_condition(
        self,
        group: PodGroup,
        type_: str,
        status: Status,
        reason: str,
        message: str,
        *,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        """Have the PodGroup say so; nothing is sent if it says just that, or if it has gone.

        `numbers`: fields of its status that are written with the condition. See `ConditionWriter.write`.
        """
        meta, known = group.metadata, msgspec.to_builtins(group.status or PodGroupStatus())
        target = Target(
            path=path_of("podgroups", meta.namespace, meta.name),
            api_version=API_VERSION,
            kind="PodGroup",
            metadata=meta,
            conditions=(group.status.conditions if group.status else None) or (),
            numbers={name: known.get(name, 0) for name in numbers or ()},
        )
        body = await self._conditions.write(
            target, type_, status, reason, message, generation=meta.generation, numbers=numbers or {}
        )
        if body is not None:
            self._group_written(decoded(body, PodGroup))


def _delete_options(uid: str, version: str, *, dry_run: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid, "resourceVersion": version} if version else {"uid": uid},
    }
    return options | {"dryRun": ["All"]} if dry_run else options


def _is_other_object(error: ApiError) -> bool:
    """The pod is gone, or the UID is another one's, which the API server calls a change of an immutable field."""
    return error.status == 404 or (error.status == 422 and "metadata.uid" in error.message)
