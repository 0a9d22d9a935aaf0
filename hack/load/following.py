"""Follows the Workloads of a namespace by a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Self

import aiohttp
import msgspec

from hack.load import objects
from hack.load.api import Api, RefusedError

__all__ = ["Following", "Seen"]

AGAIN_SECONDS: Final = 0.2
GONE: Final = 410
WATCH_SECONDS: Final = "1800"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = "0"


class _Status(msgspec.Struct):
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class _Workload(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Workload


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[_Workload]


class Seen(msgspec.Struct, frozen=True, gc=False):
    """What the maker needs of one state of a Workload."""

    version: int
    conditions: list[dict[str, Any]]
    has_quota: bool
    is_admitted: bool
    is_evicted: bool

    @classmethod
    def of(cls, answer: bytes) -> Self:
        """From the object in an answer. Raises msgspec.DecodeError."""
        return cls.in_(msgspec.json.decode(answer, type=_Workload))

    @classmethod
    def in_(cls, workload: _Workload) -> Self:
        """From the object."""
        conditions = workload.status.conditions
        true = {each["type"] for each in conditions if each["status"] == "True"}
        return cls(
            int(workload.metadata.resource_version),
            conditions,
            "QuotaReserved" in true,
            "Admitted" in true,
            "Evicted" in true,
        )


class Following:
    """Calls `changed` with name and state, for every Workload and for every change."""

    def __init__(self, api: Api, namespace: str, changed: Callable[[str, Seen], None]) -> None:
        self._api, self._changed = api, changed
        self._path = f"/apis/{objects.API_VERSION}/namespaces/{namespace}/workloads"
        self._decoder = msgspec.json.Decoder(_Event)

    async def run(self) -> None:
        """Follow until cancelled. Raises RefusedError."""
        version = await self._list()
        while True:
            try:
                version = await self._watch(version)
            except RefusedError as error:
                if error.status != GONE:
                    raise
                version = await self._list()
            except aiohttp.ClientError:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _list(self) -> str:
        found = msgspec.json.decode(await self._api.send("list", "GET", self._path), type=_List)
        for each in found.items:
            self._changed(each.metadata.name, Seen.in_(each))
        return found.metadata.resource_version

    async def _watch(self, version: str) -> str:
        """The version up to which all was seen."""
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": WATCH_SECONDS}
        async for line in self._api.lines(self._path, query):
            event = self._decoder.decode(line)
            if event.type == "ERROR":
                raise RefusedError(GONE, line.decode(errors="replace"))
            version = event.object.metadata.resource_version
            if event.type != "DELETED":
                self._changed(event.object.metadata.name, Seen.in_(event.object))
        return version
