"""Writes conditions: one at a time, by server-side apply, with a field manager for each type.

The API server merges `status.conditions` by type. So no condition is lost when others write at the same time. Somebody
else may have written a condition of our type in another way (a merge patch, another field manager). The apply takes it
over.

The apply carries the resource version of the known state. API servers do not check the UID in a write to the status of
a custom resource. Without the resource version, a new object could get the condition of a deleted one of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from api.clock import SYSTEM_CLOCK, Clock
from api.conditions import condition_json, dated
from api.meta import Condition, List, ObjectMeta
from kube.client import APPLY_PATCH
from kube.errors import ApiError
from kube.sender import Sender

__all__ = ["ConditionWriter", "Target", "field_manager"]

MESSAGE: Final = 1024
"""The maximum number of characters of a condition's message."""
CONFLICTS: Final = 8
"""The maximum number of attempts. Others may write the same object at the same time."""

NO_NUMBERS: Final[Mapping[str, int]] = MappingProxyType({})

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Target:
    """The known state of the object that gets the condition. That state may be old."""

    path: str
    """The URL path of the object, e.g. `/api/v1/namespaces/n/pods/p`."""
    api_version: str
    kind: str
    metadata: ObjectMeta
    conditions: Collection[Condition]
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Numbers in the status, by field."""


class OnlyStatus(msgspec.Struct):
    """The conditions of a status, not decoded. One of them may be unreadable."""

    conditions: list[msgspec.Raw] | None = None


class ConditionedObject(msgspec.Struct):
    """The metadata and conditions of an object of any kind, as the API server shows them."""

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
        numbers: Mapping[str, int] = NO_NUMBERS,
    ) -> bytes | None:
        """Write the condition. Returns the object after the write (JSON).

        Returns None if there was nothing to write: the object has exactly this condition already, or it is gone
        (another object may have its name). `generation` is the object's generation that the condition describes; 0
        leaves it out. `numbers` are fields of the status that belong to the condition's writer. They must always be
        the same fields: those that are left out are removed. Raises ApiError.
        """
        known: Target | None = target
        wanted = Condition(type_, status, reason, message[:MESSAGE], None, generation)
        for attempt in range(CONFLICTS):
            if attempt or not target.metadata.resource_version:
                known = await self._look(target)
            if known is None:
                return None
            before = next((each for each in known.conditions if each.type == type_), None)
            after = dated(wanted, before, self._clock.wall())
            if after == before and known.numbers == numbers:
                return None
            try:
                return await self._apply(known, after, numbers)
            except ApiError as error:
                if error.status == 404:
                    return None
                if error.status != 409 or attempt == CONFLICTS - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _look(self, target: Target) -> Target | None:
        """The current state of the object, or None if it is gone. Its numbers are not read."""
        collection, _, name = target.path.rpartition("/")
        # We list instead of get: the rights to watch include `list`, but may lack `get`.
        query = {"fieldSelector": f"metadata.name={name}"}
        try:
            body = await self._sender.send("look at a conflict", "GET", collection, query=query)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        items = msgspec.json.decode(body, type=List[ConditionedObject]).items
        found = next((each for each in items if each.metadata.uid == target.metadata.uid), None)
        if found is None:
            return None
        stored = found.status.conditions if found.status is not None else None
        conditions = [each for raw in stored or () if (each := _readable(raw)) is not None]
        return Target(target.path, target.api_version, target.kind, found.metadata, conditions)

    async def _apply(self, target: Target, condition: Condition, numbers: Mapping[str, int]) -> bytes:
        meta = target.metadata
        value = {
            "apiVersion": target.api_version,
            "kind": target.kind,
            "metadata": {"name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version},
            "status": {**numbers, "conditions": [condition_json(condition)]},
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
    """The field manager for conditions of that type.

    If two types shared a manager, the apply of one condition would remove the other.
    """
    return f"reprieve-{type_}"
