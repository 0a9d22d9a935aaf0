"""Makes Workloads, finishes those that are admitted, ends those that are evicted, and records when."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from api.times import rfc3339
from hack.controlplane.client import Json
from hack.load.shape import CLASSES, KUEUE, Class, queue_names, queue_objects, workload
from kube.client import MERGE_PATCH, ApiClient, ApiError
from kube.lines import lines

__all__ = ["Recorded", "bare_writes", "run_load"]

CLASS: Final = "load.reprieve.dev/class"
LIMIT_SECONDS: Final = 3600.0
AT_ONCE: Final = 16
"""Writes of the generator at a time."""


@dataclass(slots=True)
class Recorded:
    """What became of the load. Times are monotonic seconds."""

    seconds: float = 0.0
    waits: dict[str, list[float]] = field(default_factory=dict)
    """By class: from creation to the first admission."""
    finished: int = 0
    evictions: int = 0
    writes: Counter[str] = field(default_factory=Counter)
    """Of the generator, by kind."""


class Generator:
    """One load in one namespace."""

    def __init__(self, client: ApiClient, namespace: str, classes: Sequence[Class]) -> None:
        self._client, self._namespace, self._classes = client, namespace, classes
        self._path = f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
        self._by_name = {each.name: each for each in classes}
        self._total = len(queue_names(namespace)) * sum(each.count for each in classes)
        self._created: dict[str, float] = {}
        self._running: set[str] = set()
        self._done: set[str] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self.recorded = Recorded(waits={each.name: [] for each in classes})

    async def run(self) -> Recorded:
        """Everything, from the first creation until the last Workload is finished. Raises TimeoutError."""
        began = time.monotonic()
        watching = asyncio.create_task(self._watch())
        makers = [
            asyncio.create_task(self._make(queue, kind))
            for queue in queue_names(self._namespace)
            for kind in self._classes
        ]
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                await self._until_over(watching)
        finally:
            for task in (watching, *makers, *self._tasks):
                task.cancel()
            await asyncio.gather(watching, *makers, *self._tasks, return_exceptions=True)
        self.recorded.seconds = time.monotonic() - began
        return self.recorded

    async def _until_over(self, watching: asyncio.Task[None]) -> None:
        """Wait for the end of the load. Raises what ends the watch before."""
        over = asyncio.create_task(self._over.wait())
        await asyncio.wait({watching, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if watching.done():
            watching.result()

    async def _make(self, queue: str, kind: Class) -> None:
        began = time.monotonic()
        for number in range(kind.count):
            await asyncio.sleep(max(0.0, began + number * kind.interval - time.monotonic()))
            name = f"{queue}-{kind.name}-{number}"
            body = orjson.dumps(workload(name, self._namespace, queue, kind))
            self._created[name] = time.monotonic()
            await self._write("create", "POST", self._path, body)

    async def _watch(self) -> None:
        """See every change. An API server ends a watch whose client is slow: then all are listed anew."""
        while True:
            listed = orjson.loads(await self._client.request("GET", self._path, seconds=60.0))
            for body in listed["items"]:
                self._see(body)
            version = listed["metadata"]["resourceVersion"]
            query = {"watch": "true", "resourceVersion": version}
            with suppress(ApiError):
                async with self._client.stream(self._path, query=query, read_seconds=LIMIT_SECONDS) as answer:
                    async for batch in lines(answer.iter_any()):
                        for line in batch:
                            self._take(orjson.loads(line))

    def _take(self, event: Json) -> None:
        if event["type"] in ("ADDED", "MODIFIED"):
            self._see(event["object"])

    def _see(self, body: Json) -> None:
        name = body["metadata"]["name"]
        conditions = {each["type"]: each["status"] for each in body.get("status", {}).get("conditions", ())}
        if conditions.get("Finished") == "True":
            self._finished(name)
        elif conditions.get("Evicted") == "True":
            self._running.discard(name)
            if conditions.get("QuotaReserved") == "True":
                self._start(self._end(body))
        elif conditions.get("Admitted") == "True" and name not in self._running:
            self._running.add(name)
            kind = body["metadata"]["labels"][CLASS]
            if (created := self._created.pop(name, None)) is not None:
                self.recorded.waits[kind].append(time.monotonic() - created)
            self._start(self._finish(body, self._by_name[kind].seconds))

    def _finished(self, name: str) -> None:
        self._done.add(name)
        self.recorded.finished = len(self._done)
        if len(self._done) == self._total:
            self._over.set()

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, body: Json, seconds: float) -> None:
        """The Workload runs, and finishes if it has not been evicted meanwhile."""
        await asyncio.sleep(seconds)
        name = body["metadata"]["name"]
        if name in self._running:
            with suppress(ApiError):  # it has changed: the watch shows what it is now
                await self._set(body, "finish", "Finished", "True", {})

    async def _end(self, body: Json) -> None:
        self.recorded.evictions += 1
        with suppress(ApiError):
            await self._set(body, "end", "QuotaReserved", "False", {"admission": None})

    async def _set(self, body: Json, what: str, kind: str, status: str, fields: Json) -> None:
        condition = {
            "type": kind,
            "status": status,
            "reason": "Load",
            "message": "",
            "lastTransitionTime": rfc3339(time.time()),
        }
        others = [each for each in body["status"]["conditions"] if each["type"] != kind]
        patch = {
            "metadata": {"resourceVersion": body["metadata"]["resourceVersion"]},
            "status": {"conditions": [*others, condition], **fields},
        }
        path = f"{self._path}/{body['metadata']['name']}/status"
        await self._write(what, "PATCH", path, orjson.dumps(patch), MERGE_PATCH)

    async def _write(
        self, what: str, method: str, path: str, body: bytes, content_type: str = "application/json"
    ) -> None:
        async with self._slots:
            self.recorded.writes[what] += 1
            await self._client.request(method, path, body=body, content_type=content_type, seconds=60.0)


def sized(share: float) -> list[Class]:
    """The classes with this share of their Workloads."""
    return [
        Class(
            each.name,
            max(1, round(each.count * share)),
            each.cpus,
            each.seconds,
            each.priority,
            each.interval,
        )
        for each in CLASSES
    ]


async def run_load(client: ApiClient, namespace: str, share: float = 1.0) -> Recorded:
    """Create namespace and queues, and run the load with this share of its 15,000 Workloads. Raises ApiError."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.request("POST", "/api/v1/namespaces", body=orjson.dumps(body))
    for each in queue_objects(namespace, namespace):
        space = f"/namespaces/{namespace}" if "namespace" in each["metadata"] else ""
        path = f"/apis/{KUEUE}{space}/{each['kind'].lower()}s"
        await client.request("POST", path, body=orjson.dumps(each))
    return await Generator(client, namespace, sized(share)).run()


async def bare_writes(client: ApiClient, namespace: str, count: int, patches: int) -> float:
    """Seconds that so many creations take, each with so many status patches after it, and nobody who reacts."""
    path, kind = f"/apis/{KUEUE}/namespaces/{namespace}/workloads", CLASSES[0]
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            name = f"bare-{number}"
            body = orjson.dumps(workload(name, namespace, "bare", kind))
            await client.request("POST", path, body=body)
            for turn in range(patches):
                condition = {
                    "type": f"Bare{turn}",
                    "status": "True",
                    "reason": "Load",
                    "message": "The workload is admitted",
                    "lastTransitionTime": rfc3339(time.time()),
                }
                patch = orjson.dumps({"status": {"conditions": [condition] * 1}})
                await client.request("PATCH", f"{path}/{name}/status", body=patch, content_type=MERGE_PATCH)

    began = time.monotonic()
    await asyncio.gather(*(one(number) for number in range(count)))
    return time.monotonic() - began
