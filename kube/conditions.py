"""Writes conditions: one at a time, by server-side apply, with a field manager for each type.

The API server merges `status.conditions` by type, so nobody's condition is lost whoever else writes at the same time.
A condition of the type that an earlier version wrote in another way (a merge patch, another field manager) is taken
over.

The apply carries the resource version of what is known. API servers check no UID in a write to the status of a custom
resource: without the version, the condition of a deleted object would be written to another one of its name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from api.clock import SYSTEM_CLOCK, Clock
from api.meta import Condition, List, ObjectMeta
from api.times import instant, rfc3339
from kube.client import APPLY_PATCH, ApiError
from kube.sender import Sender

__all__ = ["ConditionWriter", "Target", "field_manager"]

MESSAGE: Final = 1024
"""Characters of a condition's message."""
CONFLICTS: Final = 8
"""Attempts: others may write the same object at the same time."""

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a condition is about, as it is known; what is known may be old."""

    path: str
    """Of the object, e.g. `/api/v1/namespaces/n/pods/p`."""
    api_version: str
    kind: str
    metadata: ObjectMeta
    conditions: Collection[Condition]


class OnlyStatus(msgspec.Struct):
    """A status of which nothing but the conditions matters here; they may be unreadable."""

    conditions: list[msgspec.Raw] | None = None


class Found(msgspec.Struct):
    """An object of any kind, in part."""

    metadata: ObjectMeta
    status: OnlyStatus | None = None


class ConditionWriter:
    """The one writer of conditions to objects that others also write to."""

    def __init__(self, sender: Sender, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._sender, self._clock = sender, clock

    async def write(
        self,
        target: Target,
        type_: str,
        status: Status,
        reason: str,
        message: str,
        *,
        generation: int = 0,
    ) -> bytes | None:
        """Have the object say so; returns the object as it is then (JSON).

        None if nothing was written: the object says just that, or it has gone (another one may have its name).
        `generation` is the object's that the condition was decided by; 0 leaves it out. Raises ApiError.
        """
        known: Target | None = target
        for attempt in range(CONFLICTS):
            if attempt or not target.metadata.resource_version:
                known = await self._look(target)
            if known is None:
                return None
            before = next((each for each in known.conditions if each.type == type_), None)
            after = self._after(before, type_, status, reason, message[:MESSAGE], generation)
            if after == before:
                return None
            try:
                return await self._apply(known, after)
            except ApiError as error:
                if error.status == 404:
                    return None
                if error.status != 409 or attempt == CONFLICTS - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _after(
        self, before: Condition | None, type_: str, status: Status, reason: str, message: str, generation: int
    ) -> Condition:
        """A transition is a change of the status, not of reason or message."""
        since = before.last_transition_time if before is not None and before.status == status else None
        if since is None or instant(since) is None:
            since = rfc3339(self._clock.wall())
        return Condition(type_, status, reason, message, since, generation)

    async def _look(self, target: Target) -> Target | None:
        """The object as it is now; None if it has gone."""
        collection, _, name = target.path.rpartition("/")
        query = {
            "fieldSelector": f"metadata.name={name}"
        }  # who may watch it may list it, and need not get it
        try:
            body = await self._sender.send("look at a conflict", "GET", collection, query=query)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        items = msgspec.json.decode(body, type=List[Found]).items
        found = next((each for each in items if each.metadata.uid == target.metadata.uid), None)
        if found is None:
            return None
        stored = found.status.conditions if found.status is not None else None
        conditions = [each for raw in stored or () if (each := _readable(raw)) is not None]
        return Target(target.path, target.api_version, target.kind, found.metadata, conditions)

    async def _apply(self, target: Target, condition: Condition) -> bytes:
        meta = target.metadata
        value = {
            "apiVersion": target.api_version,
            "kind": target.kind,
            "metadata": {"name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version},
            "status": {"conditions": [_wire(condition)]},
        }
        return await self._sender.send(
            "condition",
            "PATCH",
            f"{target.path}/status",
            query={"fieldManager": field_manager(condition.type), "force": "true"},
            body=msgspec.json.encode(value),
            content_type=APPLY_PATCH,
        )


def _readable(raw: msgspec.Raw) -> Condition | None:
    try:
        return msgspec.json.decode(raw, type=Condition)
    except msgspec.DecodeError:
        return None


def field_manager(type_: str) -> str:
    """The manager of conditions of that type: no two types share one, or one's apply would remove the other."""
    return f"reprieve-{type_}"


def _wire(condition: Condition) -> dict[str, Any]:
    """As CRDs have it, which need reason and message even if they are empty."""
    value: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }
    if condition.observed_generation:
        value["observedGeneration"] = condition.observed_generation
    return value
