"""The same number of writes, sent as fast as possible while nobody manages: what the API server takes for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from hack.load import objects
from hack.load.api import MERGE, Api
from hack.load.shape import Shape

__all__ = ["send_bare"]

FLAVOR = "default"


async def send_bare(api: Api, shape: Shape, name: str, *, patches: int, workers: int = 32) -> float:
    """Create the Workloads of the shape in the namespace `name`, and patch their status so often in all.

    Returns the seconds. The queues do not exist, so that a manager would find nothing to do. A write of another kind
    counts as a patch.
    """
    left = _works(shape, patches)
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(api, name, left))
    return time.monotonic() - began


def _works(shape: Shape, patches: int) -> Iterator[tuple[objects.Json, int, int]]:
    """Each Workload, its CPU, and how often it is patched."""
    each_one, more = divmod(patches, shape.size)
    number = 0
    for queue in objects.local_queue_names(shape):
        for of in shape.classes:
            for index in range(of.count):
                name = f"{queue}-{of.name}-{index}"
                yield objects.workload(name, "", queue, of), of.cpu, each_one + (number < more)
                number += 1


async def _work(api: Api, namespace: str, left: Iterator[tuple[objects.Json, int, int]]) -> None:
    collection = f"/apis/{objects.API_VERSION}/namespaces/{namespace}/workloads"
    for body, cpu, patches in left:
        name, queue = body["metadata"]["name"], body["spec"]["queueName"]
        await api.send("create", "POST", collection, body)
        for round_ in range(patches):
            patch = objects.admitted(queue, FLAVOR, cpu, round_)
            await api.send("patch", "PATCH", f"{collection}/{name}/status", patch, MERGE)
