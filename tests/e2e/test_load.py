"""The load on a real API server, where a few lines admit everything and evict some of it once; and with reprieve."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane
from hack.load import objects
from hack.load.api import APPLY, MERGE, Api
from hack.load.following import Following, Seen
from hack.load.generator import Load, StalledError, place
from hack.load.measured import measure, measure_bare
from hack.load.shape import KUEUE
from tests.e2e.quota_sandbox import QuotaSandbox

SHAPE: Final = replace(
    KUEUE,
    cohorts=2,
    queues=2,
    classes=tuple(replace(each, count=3, interval=0.01) for each in KUEUE.classes),
)
"""36 Workloads."""
LONG: Final = replace(SHAPE, classes=tuple(replace(each, seconds=10.0) for each in SHAPE.classes))
"""None finishes before it is evicted, also on a busy machine."""
NAMESPACE: Final = ("v1", "Namespace")


class Admitter:
    """Admits every Workload. Those of one class are evicted once, while they run or before."""

    def __init__(self, api: Api, namespace: str, evicts: str = "") -> None:
        self._api, self._namespace, self._evicts = api, namespace, evicts
        self._path = f"/apis/{objects.API_VERSION}/namespaces/{namespace}/workloads"
        self._evicted: set[str] = set()
        self._writes: set[asyncio.Task[bytes]] = set()
        self.admitted: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Admit while the context lasts."""
        following = asyncio.create_task(Following(self._api, self._namespace, self._changed).run())
        yield
        following.cancel()
        await asyncio.gather(following, *self._writes, return_exceptions=True)

    def _changed(self, name: str, seen: Seen) -> None:
        if any(each["type"] == "Finished" for each in seen.conditions):
            return
        if not seen.has_quota:
            self.admitted.append(name)
            self._write(name, objects.admitted("q", "default", 1, len(self.admitted)), MERGE)
        elif f"-{self._evicts}-" in name and name not in self._evicted:
            self._evicted.add(name)
            evicted = {**seen.conditions[0], "type": "Evicted", "reason": "Preempted"}
            meta = {"name": name, "namespace": self._namespace}
            body = {"apiVersion": objects.API_VERSION, "kind": "Workload", "metadata": meta}
            self._write(name, {**body, "status": {"conditions": [evicted]}}, APPLY)

    def _write(self, name: str, body: objects.Json, content_type: str) -> None:
        path = f"{self._path}/{name}/status?fieldManager=admitter"
        task = asyncio.create_task(self._api.send("admit", "PATCH", path, body, content_type))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)


def left(plane: ControlPlane, name: str) -> list[str]:
    """What is still there of a place."""
    kinds = ("Workload", "LocalQueue", "ClusterQueue", "ResourceFlavor")
    found = [(kind, each) for kind in kinds for each in plane.client.list(objects.API_VERSION, kind)]
    return [f"{kind} {each['metadata']['name']}" for kind, each in found if name in str(each["metadata"])]


async def test_all_that_is_admitted_runs_and_finishes(api_plane: ControlPlane) -> None:
    name = f"load-{secrets.token_hex(3)}"
    async with Api.connect(api_plane.kubeconfig) as api:
        admitter = Admitter(api, name)
        async with admitter.running():
            measured = await measure(
                api_plane.kubeconfig, SHAPE, name, processes={"etcd": api_plane.processes["etcd"].pid}
            )
    ran = measured.ran
    assert {each: len(seconds) for each, seconds in ran.to_admission.items()} == dict.fromkeys(
        ("small", "medium", "large"), 12
    )
    assert ran.sent == {"create": 36, "finish": 36}
    assert ran.evictions == {"small": 0, "medium": 0, "large": 0}
    assert measured.writes["POST workloads"] == 36
    assert measured.writes["APPLY workloads/status"] == 36
    assert measured.writes["PATCH workloads/status"] == 36
    assert measured.patches >= 72
    assert set(measured.used) == {"etcd", "load"}
    assert measured.plain()["perSecond"] == 36 / ran.wall
    assert left(api_plane, name) == []


async def test_evictions_are_ended_and_the_workload_runs_again(api_plane: ControlPlane) -> None:
    name = f"load-{secrets.token_hex(3)}"
    async with Api.connect(api_plane.kubeconfig) as api, place(api, LONG, name):
        admitter = Admitter(api, name, evicts="large")
        async with admitter.running():
            ran = await Load(api, LONG, name).run()
        assert ran.evictions == {"small": 0, "medium": 0, "large": 12}
        assert ran.sent == {"create": 36, "finish": 36, "end": 12}
        assert len(admitter.admitted) >= 48
        for each in api_plane.client.list(objects.API_VERSION, "Workload", name):
            finished = [one for one in each["status"]["conditions"] if one["type"] == "Finished"]
            assert [one["status"] for one in finished] == ["True"]


async def test_who_admits_nothing_is_given_up(api_plane: ControlPlane) -> None:
    name = f"load-{secrets.token_hex(3)}"
    shape = KUEUE.of_size(1, cohorts=1, queues=1)
    with pytest.raises(StalledError, match="3 of 3 Workloads are created, 0 were admitted, 0 have finished"):
        await measure(api_plane.kubeconfig, shape, name, processes={}, stall_seconds=3.0)
    assert left(api_plane, name) == []


async def test_bare_writes_are_as_many(api_plane: ControlPlane) -> None:
    name = f"bare-{secrets.token_hex(3)}"
    client = api_plane.client
    wall, used = await measure_bare(api_plane.kubeconfig, SHAPE, name, patches=80, processes={}, keep=True)
    made = client.list(objects.API_VERSION, "Workload", name)
    try:
        assert len(made) == 36
        # Of the patches, eight Workloads get three, the others two: each has another round in its text.
        rounds = [each["status"]["conditions"][1]["message"].split()[-1] for each in made]
        assert sorted(rounds) == ["1"] * 28 + ["2"] * 8
        assert wall > 0
        assert set(used) == {"load"}
    finally:
        for each in made:
            client.delete(objects.API_VERSION, "Workload", each["metadata"]["name"], name)
        client.delete(*NAMESPACE, name)


async def test_reprieve_carries_it(quotas: Callable[[str], QuotaSandbox]) -> None:
    """Large Workloads take the whole quota of a queue, and what others have borrowed."""
    plane, name = quotas("load").plane, f"load-{secrets.token_hex(3)}"
    measured = await measure(plane.kubeconfig, SHAPE, name, processes={"reprieve": plane.reprieve.pid})
    assert {each: len(seconds) for each, seconds in measured.ran.to_admission.items()} == dict.fromkeys(
        ("small", "medium", "large"), 12
    )
    assert measured.ran.sent["end"] == sum(measured.ran.evictions.values())
