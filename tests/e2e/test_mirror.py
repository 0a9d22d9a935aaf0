"""The mirror and the writer against a real API server, which goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from api.clock import SYSTEM_CLOCK
from api.meta import Condition
from controllers.gangs.writer import Deletion, Reference, Writer
from hack.controlplane.plane import ControlPlane
from kube.client import ApiClient
from kube.reflector import Timing
from kube.retry import Backoff
from runtime.mirror import Mirror
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.contents import contents

PRIORITIES = (0, 10)
OTHER_UID = "00000000-0000-4000-8000-000000000000"


@asynccontextmanager
async def mirroring(plane: ControlPlane) -> AsyncIterator[tuple[Mirror, ApiClient]]:
    """A mirror that has seen everything; it ends with the block."""
    async with ApiClient.connect(plane.kubeconfig) as client:
        mirror = Mirror(client, timing=Timing(backoff=Backoff(0.1, 0.5)))
        task = asyncio.create_task(mirror.run())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await mirror.wait_synced()
            yield mirror, client
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def seen_anew(plane: ControlPlane) -> Any:
    """What a mirror that has just started sees."""
    async with mirroring(plane) as (fresh, _):
        return contents(fresh.tables.snapshot())


def churn(sandbox: Sandbox, prefix: str) -> None:
    """Pods that come and go, a group, and what budgets and classes they need."""
    sandbox.group(f"{prefix}-gang", minimum=2)
    for number in range(6):
        sandbox.pod(f"{prefix}-{number}", cpu="500m", priority=PRIORITIES[number % 2])
    sandbox.wait_bound(*(f"{prefix}-{number}" for number in range(6)))
    for number in range(3):
        sandbox.delete_pod(f"{prefix}-{number}")
    sandbox.wait_gone(*(f"{prefix}-{number}" for number in range(3)))


async def test_the_mirror_outlives_the_api_server(planes: PlaneFactory, sandboxes: SandboxFactory) -> None:
    plane = planes()
    sandbox = sandboxes(plane)
    for priority in PRIORITIES:
        await asyncio.to_thread(sandbox.priority, priority)
    await asyncio.to_thread(sandbox.nodes, 2, cpu="4")
    async with mirroring(plane) as (mirror, _):
        await asyncio.to_thread(churn, sandbox, "before")
        assert mirror.age() < PATIENCE_SECONDS
        server = plane.processes["kube-apiserver"]
        server.kill()
        server.start()
        await asyncio.to_thread(server.wait_healthy, plane.client.ready, PATIENCE_SECONDS)
        await asyncio.to_thread(churn, sandbox, "after")
        # Who was there all the time must come to see what a newcomer sees; pods may still be starting meanwhile.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while contents(mirror.tables.snapshot()) != (fresh := await seen_anew(plane)):  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.2)
    left = {(sandbox.namespace, f"{when}-{number}") for when in ("before", "after") for number in range(3, 6)}
    assert set(fresh["pods"]) == left
    assert set(fresh["groups"]) == {(sandbox.namespace, f"{when}-gang") for when in ("before", "after")}


async def test_writes_hit_the_very_pod_or_nothing(
    control_plane: ControlPlane, sandboxes: SandboxFactory
) -> None:
    sandbox = sandboxes(control_plane)
    namespace = sandbox.namespace
    await asyncio.to_thread(sandbox.nodes, 1, cpu="4")
    await asyncio.to_thread(sandbox.pod, "victim", cpu="1")
    await asyncio.to_thread(sandbox.wait_bound, "victim")
    uid = (sandbox.get_pod("victim") or {})["metadata"]["uid"]
    held = Condition(type="reprieve.dev/Held", status="False", reason="Ready", message="go")
    async with ApiClient.connect(control_plane.kubeconfig) as client:
        writer = Writer(client, SYSTEM_CLOCK)
        assert not await writer.patch_pod_status(namespace, "victim", OTHER_UID, conditions=[held])
        assert not await writer.patch_pod_status(namespace, "nobody", uid, conditions=[held])
        before = (sandbox.get_pod("victim") or {})["status"]["conditions"]
        assert await writer.patch_pod_status(namespace, "victim", uid, conditions=[held])
        after = (sandbox.get_pod("victim") or {})["status"]["conditions"]
        assert {condition["type"] for condition in after} - {condition["type"] for condition in before} == {
            held.type
        }
        assert len(after) == len(before) + 1
        regarding = Reference("v1", "Pod", namespace, "victim", uid)
        for _ in range(3):
            writer.event(regarding, "Normal", "Preempted", "Preempting", "a note")
        await writer.close()
        assert await writer.delete_pod(namespace, "victim", OTHER_UID) is Deletion.REPLACED
        assert await writer.delete_pod(namespace, "victim", uid) is Deletion.DELETED
        await asyncio.to_thread(sandbox.wait_gone, "victim")
        assert await writer.delete_pod(namespace, "victim", uid) is Deletion.GONE
    (event,) = await asyncio.to_thread(sandbox.events, "Preempted")
    assert event["series"]["count"] == 2
    await asyncio.to_thread(sandbox.remove)


@pytest.mark.parametrize("broken", ["certificate-authority-data", "server"])
async def test_a_server_that_cannot_be_reached_is_not_taken_for_an_empty_cluster(
    control_plane: ControlPlane, broken: str, tmp_path: Any
) -> None:
    config = control_plane.kubeconfig.read_text()
    lines = [line for line in config.splitlines() if broken not in line]
    if broken == "server":
        lines = [line.replace("127.0.0.1", "127.0.0.1:1/") for line in config.splitlines()]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("\n".join(lines))
    async with ApiClient.connect(kubeconfig) as client:
        mirror = Mirror(client, timing=Timing(backoff=Backoff(0.05, 0.1)))
        task = asyncio.create_task(mirror.run())
        await asyncio.sleep(0.5)
        assert not mirror.synced
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
