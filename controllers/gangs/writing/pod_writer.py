"""Writes to pods. All of them go through one class, which refuses those of a namespace that is not enforced.

Each write says which pod it means by UID, so that a late one cannot hit another of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import structlog

from api.clock import Clock
from api.disruption import DISRUPTION_TARGET
from api.groups import SCHEDULING_GATE
from api.meta import Condition
from api.times import rfc3339
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.metrics import POD_WRITES_REFUSED
from kube.client import JSON, JSON_PATCH, MERGE_PATCH, METADATA, STRATEGIC_MERGE_PATCH
from kube.envelopes import OnlyMetadata
from kube.errors import ApiError
from kube.sender import Sender, WithdrawnError
from runtime.plans.plan_writer import decoded
from runtime.work.pod_gates import gate_removal

__all__ = ["Deletion", "Exempt", "Marked", "PodWriter", "Write"]

log = structlog.get_logger(__name__)

DRY_RUN: Final = {"dryRun": "All"}
LATE_SECONDS: Final = 300.0
"""For how long after a namespace has ceased to be enforced writes may come that were begun before: they wait for their
turn, and for an API server that is slow."""


def _always() -> bool:
    return True


def _pass_by(_: ApiError) -> None:
    """Nobody wants to know."""


class Write(StrEnum):
    """What a write does to a pod."""

    CONDITION = "pod status"
    """It says why the pod waits, or that it waits no longer."""
    NOMINATE = "pod nomination"
    """It nominates the pod to a node."""
    WITHDRAW = "pod nomination withdrawal"
    """It withdraws that."""
    MARK = "pod mark"
    """It gives the pod the condition DisruptionTarget."""
    UNMARK = "pod mark withdrawal"
    """It takes that off the pod."""
    UNGATE = "pod gate"
    """It removes our scheduling gate."""
    END = "pod deletion"
    """It asks for the deletion of the pod."""


class Exempt(Protocol):
    """What may be written to pods of a namespace that is not enforced: what ends what Enforce began there."""

    def lets(self, uid: str, write: Write) -> bool:
        """Whether this may be written to the pod."""


class _Nobody:
    def lets(self, uid: str, write: Write) -> bool:
        return False


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


class _Pod(NamedTuple):
    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class Marked(NamedTuple):
    """A pod has our mark."""

    version: str
    """The pod's resourceVersion with the mark."""
    leaves: bool
    """Somebody has asked for its deletion before."""


class PodWriter:
    """All that is written to pods.

    Writes are tried again for a while when the API server is away or overloaded; what it then still refuses, and
    conflicts at once, are raised as ApiError. So is what we refuse ourselves.
    """

    def __init__(
        self,
        sender: Sender,
        clock: Clock,
        modes: Modes,
        event: Callable[..., None],
        exempt: Exempt | None = None,
    ) -> None:
        """`event`: see `kube.recorder.EventRecorder`. It tells users the result of a write. `exempt`: None: nobody."""
        self._sender, self._clock, self._modes, self.event = sender, clock, modes, event
        self._exempt = exempt or _Nobody()
        self.failed: Callable[[ApiError], object] = _pass_by
        """Gets each failure of a mark or a deletion that is tried again."""
        self._ended: dict[str, float] = {}
        """By namespace: when it has ceased to be enforced, in monotonic seconds. Nothing is kept for long."""

    def enforcement_ended(self, namespace: str) -> None:
        """The namespace is not enforced any longer. A write that was begun before is no fault, and is not sent."""
        now = self._clock.monotonic()
        self._ended = {name: at for name, at in self._ended.items() if now < at + LATE_SECONDS}
        self._ended[namespace] = now

    def may_write(self, namespace: str) -> bool:
        """Whether pods of this namespace may be written to. Whoever has the choice asks before."""
        return self._modes.of(namespace) == "Enforce"

    def may_end(self, namespace: str, uid: str) -> bool:
        """Whether the deletion of the pod may be asked for."""
        return self.may_write(namespace) or self._exempt.lets(uid, Write.END)

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
        what = Write.NOMINATE if nominated_node_name else Write.CONDITION
        pod = _Pod(namespace, name, uid)
        return await self._patch_pod_status(what, pod, status, dry_run=dry_run) is not None

    async def _patch_pod_status(
        self, what: Write, pod: _Pod, status: Mapping[str, Any], *, dry_run: bool = False
    ) -> bytes | None:
        body = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})
        return await self._patch_pod(what, pod, f"{pod.path}/status", body, dry_run=dry_run)

    async def _patch_pod(
        self, what: Write, pod: _Pod, path: str, body: bytes, *, dry_run: bool = False
    ) -> bytes | None:
        """The pod as it is then. None if it is not there, or has another UID than the body says."""
        query = DRY_RUN if dry_run else None
        try:
            return await self._send(
                what, pod, "PATCH", path, body, query=query, content_type=STRATEGIC_MERGE_PATCH
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
        return await self._patch_nomination(Write.NOMINATE, _Pod(namespace, name, uid), body, MERGE_PATCH)

    async def withdraw_nomination(self, namespace: str, name: str, uid: str, *, node: str) -> bool:
        """Withdraw the pod's nomination, if it is just this one; false if it is not, or the pod is not there."""
        nomination = "/status/nominatedNodeName"
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": nomination, "value": node},
            {"op": "remove", "path": nomination},
        ]
        body = msgspec.json.encode(patch)
        return await self._patch_nomination(Write.WITHDRAW, _Pod(namespace, name, uid), body, JSON_PATCH)

    async def _patch_nomination(self, what: Write, pod: _Pod, body: bytes, content_type: str) -> bool:
        try:
            await self._send(what, pod, "PATCH", f"{pod.path}/status", body, content_type=content_type)
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
        pod = _Pod(namespace, name, uid)
        body = await self._patch_pod_status(Write.MARK, pod, status, dry_run=dry_run)
        if body is None:
            return None
        meta = decoded(body, OnlyMetadata).metadata
        return Marked(meta.resource_version, leaves=bool(meta.deletion_timestamp))

    async def unmark_disruption_target(self, namespace: str, name: str, uid: str) -> bool:
        """Remove that condition; false if the pod is not there."""
        status = {"conditions": [{"type": DISRUPTION_TARGET, "$patch": "delete"}]}
        pod = _Pod(namespace, name, uid)
        return await self._patch_pod_status(Write.UNMARK, pod, status) is not None

    async def remove_gate(self, namespace: str, name: str, uid: str, *, dry_run: bool = False) -> bool:
        """Remove our scheduling gate, if the pod has it; false if the pod is not there. Gates of others stay.

        The API server finds the gate by its name, so it does not matter who else changes the list at the same time.
        `dry_run`: the API server checks the write, and changes nothing.
        """
        body, pod = msgspec.json.encode(gate_removal(uid, SCHEDULING_GATE)), _Pod(namespace, name, uid)
        return await self._patch_pod(Write.UNGATE, pod, pod.path, body, dry_run=dry_run) is not None

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
        options, pod = _delete_options(uid, version, dry_run=dry_run), _Pod(namespace, name, uid)
        return await self._end_pod(pod, "DELETE", pod.path, options, wanted)

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
        pod = _Pod(namespace, name, uid)
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": _delete_options(uid, version, dry_run=dry_run),
        }
        return await self._end_pod(pod, "POST", f"{pod.path}/eviction", eviction, wanted)

    async def _end_pod(
        self, pod: _Pod, method: str, path: str, body: Mapping[str, Any], wanted: Callable[[], bool]
    ) -> Deletion:
        try:
            await self._send(Write.END, pod, method, path, msgspec.json.encode(body), wanted=wanted)
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

    async def _send(
        self,
        what: Write,
        pod: _Pod,
        method: str,
        path: str,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        wanted: Callable[[], bool] = _always,
    ) -> bytes:
        """The last barrier, which is asked before each attempt. The caller should have known that the namespace is not
        enforced."""

        def lets() -> bool:
            return self.may_write(pod.namespace) or self._exempt.lets(pod.uid, what)

        if not lets():
            self._note_refusal(what, pod.namespace)
            raise self._not_enforced(pod.namespace)
        try:
            return await self._sender.send(
                what,
                method,
                path,
                body=body,
                query=query,
                content_type=content_type,
                accept=METADATA,
                wanted=lambda: wanted() and lets(),
                failed=self.failed if what in (Write.MARK, Write.END) else _pass_by,
            )
        except WithdrawnError:
            if lets():
                raise
            raise self._not_enforced(pod.namespace) from None

    def _note_refusal(self, what: Write, namespace: str) -> None:
        if self._clock.monotonic() < self._ended.get(namespace, float("-inf")) + LATE_SECONDS:
            log.info("a write to a pod comes too late", what=what, namespace=namespace)
            return
        POD_WRITES_REFUSED.inc()
        log.error(
            "a write to a pod is refused, and nobody should have asked for it", what=what, namespace=namespace
        )

    def _not_enforced(self, namespace: str) -> ApiError:
        mode = self._modes.of(namespace)
        return ApiError(HTTPStatus.FORBIDDEN, "NotEnforced", f"the mode of namespace {namespace} is {mode}")


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
