"""When an observer sees conditions of the manager's Workloads, by the arrival of watch events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

import msgspec

from hack.load.api import Api

__all__ = ["Arrivals", "JOBS", "WORKLOADS"]

WORKLOADS: Final = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads"
JOBS: Final = "/apis/batch/v1/namespaces/{}/jobs"
STALL_SECONDS: Final = 120.0


class _Owner(msgspec.Struct):
    name: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = "0"
    owner_references: list[_Owner] = msgspec.field(default_factory=list)


class _Status(msgspec.Struct):
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)
    active: int = 0


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Object


class _List(msgspec.Struct):
    metadata: _Meta


class Arrivals:
    """By name of the Job: when something was seen first, in monotonic seconds."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.reserved: dict[str, float] = {}
        self.admitted: dict[str, float] = {}
        self.active: dict[str, float] = {}
        """When the Job was seen to have an active pod."""
        self._changed = asyncio.Event()
        self._decoder = msgspec.json.Decoder(_Event)

    @classmethod
    @asynccontextmanager
    async def following(cls, api: Api, namespace: str) -> AsyncIterator[Self]:
        """It follows the namespace inside."""
        made = cls(api, namespace)
        async with asyncio.TaskGroup() as tasks:
            watches = [
                tasks.create_task(made._follow(path.format(namespace), await made._version(path)))
                for path in (WORKLOADS, JOBS)
            ]
            try:
                yield made
            finally:
                for watch in watches:
                    watch.cancel()

    async def until(self, seen: dict[str, float], count: int) -> None:
        """Wait until this many Jobs are in `seen`. Raises TimeoutError if nothing happens for two minutes."""
        while len(seen) < count:
            self._changed.clear()
            async with asyncio.timeout(STALL_SECONDS):
                await self._changed.wait()

    def latencies(self) -> list[float]:
        """Seconds from the reservation to Admitted."""
        return [at - self.reserved[name] for name, at in self.admitted.items()]

    async def _version(self, path: str) -> str:
        answer = await self._api.send("list", "GET", path.format(self._namespace) + "?limit=1")
        return msgspec.json.decode(answer, type=_List).metadata.resource_version

    async def _follow(self, path: str, version: str) -> None:
        while True:
            query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "1800"}
            with suppress(ConnectionError):
                async for line in self._api.lines(path, query):
                    event = self._decoder.decode(line)
                    version = event.object.metadata.resource_version
                    self._note(event.object)

    def _note(self, item: _Object) -> None:
        now, owners = time.monotonic(), item.metadata.owner_references
        if not owners:
            if item.status.active:
                self.active.setdefault(item.metadata.name, now)
                self._changed.set()
            return
        true = {each["type"] for each in item.status.conditions if each["status"] == "True"}
        for kind, seen in (("QuotaReserved", self.reserved), ("Admitted", self.admitted)):
            if kind in true:
                seen.setdefault(owners[0].name, now)
        self._changed.set()
