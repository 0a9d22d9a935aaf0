"""Runs the load: Workloads come at their intervals, run once they are admitted, and finish.

Their maker also ends evictions: Workloads without an owner keep their quota until it does so. A Workload that was
evicted runs from the beginning once it is admitted again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from hack.load import objects
from hack.load.api import APPLY, MERGE, Api, RefusedError
from hack.load.following import Following, Seen
from hack.load.shape import Class, Owner, Shape

__all__ = ["Load", "Ran", "StalledError", "place"]

STALL_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.5
DELETED_AT_ONCE: Final = 500


class StalledError(Exception):
    """Nothing has happened for a long time."""


@dataclass
class Ran:
    """The result of a load."""

    wall: float
    """Seconds from the first request to create a Workload to the last one that finished."""
    to_admission: dict[str, list[float]]
    """By class: from the answer to the creation to the first time that Admitted was seen, in seconds."""
    evictions: dict[str, int]
    """By class: evictions that were ended."""
    sent: Counter[str]
    """Requests of the load itself, by what they were for: create, finish, end."""
    conflicts: int
    """Requests of the load that came too late: somebody else had written the Workload."""


@dataclass(slots=True)
class _Item:
    """A Workload, as its maker knows it. Times are monotonic seconds."""

    name: str
    of: Class
    created: float
    admitted: float | None = None
    """When it was first."""
    evictions: int = 0
    seen: Seen | None = None
    """The newest state."""
    is_written: bool = False
    """A write is on its way."""
    refused: int = 0
    """The version that the API server would not have changed."""
    running: asyncio.TimerHandle | None = None
    is_finished: bool = False


@asynccontextmanager
async def place(
    api: Api, shape: Shape, name: str, *, with_queues: bool = True, keep: bool = False
) -> AsyncIterator[None]:
    """A namespace of this name, and its queues. They are deleted afterwards, with everything in them, unless `keep`."""
    namespace = f"/api/v1/namespaces/{name}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await api.send("place", "POST", "/api/v1/namespaces", body)
    made = list(objects.queues(shape, name)) if with_queues else []
    try:
        for each in made:
            await api.send("place", "POST", _collection(each), each)
        yield
    finally:
        if not keep:
            await _delete_workloads(api, name)
            for each in reversed(made):
                await api.send("place", "DELETE", f"{_collection(each)}/{each['metadata']['name']}")
            await api.send("place", "DELETE", namespace)


class Load:
    """One load in its place."""

    def __init__(
        self,
        api: Api,
        shape: Shape,
        name: str,
        *,
        stall_seconds: float = STALL_SECONDS,
        owner: Owner | None = None,
    ) -> None:
        """`name`: of the place. `owner`: None for one that writes at once."""
        self._owner = owner
        self._free = asyncio.Semaphore(owner.at_once if owner is not None else 1)
        self._api, self._shape, self._name, self._stall = api, shape, name, stall_seconds
        self._items: dict[str, _Item] = {}
        self._left = shape.size
        self._moved = 0.0
        """When something happened last."""
        self._done = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None

    async def run(self) -> Ran:
        """Returns when every Workload has finished. Raises StalledError, or RefusedError for what nobody expects."""
        sent, refused = self._api.sent.copy(), self._api.refused.copy()
        following = asyncio.create_task(Following(self._api, self._name, self._changed).run())
        self._moved = began = time.monotonic()
        making = [
            asyncio.create_task(self._make(queue, each, began))
            for queue in objects.local_queue_names(self._shape)
            for each in self._shape.classes
        ]
        try:
            await self._until_done([following, *making])
        finally:
            for task in (following, *making, *self._tasks):
                task.cancel()
            await asyncio.gather(following, *making, *self._tasks, return_exceptions=True)
            for item in self._items.values():
                if item.running is not None:
                    item.running.cancel()
        wall = time.monotonic() - began
        return self._ran(wall, self._api.sent - sent, self._api.refused - refused)

    async def _until_done(self, tasks: list[asyncio.Task[None]]) -> None:
        while not self._done.is_set():
            for task in tasks:
                if task.done():
                    task.result()
            if self._failed is not None:
                raise self._failed
            if time.monotonic() - self._moved > self._stall:
                raise StalledError(self._where())
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._done.wait()
            except TimeoutError:
                continue

    def _where(self) -> str:
        items = self._items.values()
        admitted = sum(item.admitted is not None for item in items)
        return (
            f"nothing has happened for {self._stall:g} s: {len(items)} of {self._shape.size} Workloads are created, "
            f"{admitted} were admitted, {self._shape.size - self._left} have finished"
        )

    async def _make(self, queue: str, of: Class, began: float) -> None:
        """Create the Workloads of one class in one queue, each when it is due."""
        for number in range(of.count):
            await asyncio.sleep(max(0.0, began + number * of.interval - time.monotonic()))
            name = f"{queue}-{of.name}-{number}"
            body = objects.workload(name, self._name, queue, of)
            item = self._items[name] = _Item(name, of, time.monotonic())
            await self._turn()
            await self._api.send("create", "POST", _path("workloads", self._name), body)
            item.created = self._moved = time.monotonic()

    def _changed(self, name: str, seen: Seen) -> None:
        """The watch, or the answer to a write, shows a state."""
        item = self._items.get(name)
        if item is None or (item.seen is not None and item.seen.version >= seen.version):
            return
        item.seen = seen
        if seen.is_admitted and item.admitted is None:
            item.admitted = self._moved = time.monotonic()
        self._act(item)

    def _act(self, item: _Item) -> None:
        """Do what is to be done now."""
        seen = item.seen
        if seen is None or item.is_finished or item.is_written:
            return
        if seen.is_evicted or not seen.is_admitted:
            if item.running is not None:
                item.running.cancel()
                item.running = None
            if seen.is_evicted and seen.has_quota and seen.version != item.refused:
                self._start(item, self._end(item, seen))
        elif item.running is None:
            loop = asyncio.get_running_loop()
            item.running = loop.call_later(item.of.seconds, self._has_run, item)

    def _has_run(self, item: _Item) -> None:
        if not item.is_written:
            self._start(item, self._finish(item))

    def _start(self, item: _Item, write: Coroutine[Any, Any, None]) -> None:
        item.is_written = True
        task = asyncio.create_task(self._written(item, write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _written(self, item: _Item, write: Coroutine[Any, Any, None]) -> None:
        try:
            await write
        except (RefusedError, OSError, msgspec.DecodeError) as error:
            self._failed = self._failed or error
        item.is_written = False
        self._moved = time.monotonic()
        self._act(item)

    async def _turn(self) -> None:
        """Wait until the owner comes to this work, and has done it but for the write."""
        if self._owner is not None:
            async with self._free:
                await asyncio.sleep(self._owner.seconds)

    async def _finish(self, item: _Item) -> None:
        await self._turn()
        if item.seen is not None and item.seen.is_evicted:
            item.running = None
            return  # it was evicted meanwhile, and begins anew
        path = f"{_path('workloads', self._name)}/{item.name}/status?fieldManager=load-finish&force=true"
        await self._api.send("finish", "PATCH", path, objects.finished(item.name, self._name), APPLY)
        item.is_finished = True
        item.seen = None
        self._left -= 1
        if not self._left:
            self._done.set()

    async def _end(self, item: _Item, seen: Seen) -> None:
        """End an eviction. If somebody has written the Workload meanwhile, its newest state is looked at again."""
        await self._turn()
        path = f"{_path('workloads', self._name)}/{item.name}/status?fieldManager=load-end"
        try:
            answer = await self._api.send(
                "end", "PATCH", path, objects.ended(str(seen.version), seen.conditions), MERGE
            )
        except RefusedError as error:
            if error.status != 409:
                raise
            item.refused = seen.version
            return
        item.evictions += 1
        newest = Seen.of(answer)
        if item.seen is None or item.seen.version < newest.version:
            item.seen = newest

    def _ran(self, wall: float, sent: Counter[str], refused: Counter[str]) -> Ran:
        to_admission: dict[str, list[float]] = {each.name: [] for each in self._shape.classes}
        evictions = dict.fromkeys(to_admission, 0)
        for item in self._items.values():
            evictions[item.of.name] += item.evictions
            if item.admitted is not None:
                to_admission[item.of.name].append(max(0.0, item.admitted - item.created))
        own = Counter({what: sent[what] for what in ("create", "finish", "end") if sent[what]})
        return Ran(wall, to_admission, evictions, own, refused.total())


async def _delete_workloads(api: Api, namespace: str) -> None:
    """A few at a time: the API server limits how long one request may take."""
    path = _path("workloads", namespace)
    while b'"items":[]' not in await api.send("place", "GET", f"{path}?limit=1"):
        await api.send("place", "DELETE", f"{path}?limit={DELETED_AT_ONCE}")


def _path(plural: str, namespace: str) -> str:
    return f"/apis/{objects.API_VERSION}/namespaces/{namespace}/{plural}"


def _collection(body: objects.Json) -> str:
    namespace, plural = body["metadata"].get("namespace"), f"{body['kind'].lower()}s"
    return _path(plural, namespace) if namespace else f"/apis/{objects.API_VERSION}/{plural}"
