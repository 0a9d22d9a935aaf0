"""Views and writes against a real API server, which goes away and comes back, and learns new kinds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK
from api.core import PriorityClass
from api.meta import Condition, ObjectMeta, Struct
from controllers.gangs.writing.pod_writer import Deletion
from controllers.gangs.writing.writer import Reference, Writer
from hack.controlplane.plane import ControlPlane
from kube.client import ApiClient
from kube.errors import ApiError
from kube.reflector import Resource, Timing
from runtime.mirror.objects import Objects
from runtime.mirror.resources import PRIORITY_CLASSES
from runtime.mirror.views import Views
from runtime.mirror.watched_tables import WatchedTables
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.contents import contents
from tests.kit.pod_writes import pod_writer
from tests.kit.waiting import until

PRIORITIES = (0, 10)
OTHER_UID = "00000000-0000-4000-8000-000000000000"
TIMING = Timing(backoff=Backoff(0.1, 0.5), refused=Backoff(0.3, 0.3))

WIDGETS_PATH = "/apis/example.com/v1/widgets"
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget"}
WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


class Widget(Struct):
    """An object of the new kind."""

    metadata: ObjectMeta


@asynccontextmanager
async def running(views: Views) -> AsyncIterator[None]:
    """Views that follow their API server; they end with the block."""
    task = asyncio.create_task(views.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def watching(plane: ControlPlane) -> AsyncIterator[WatchedTables]:
    """Tables that have everything."""
    async with connected(plane.kubeconfig) as client:
        views = Views(client, timing=TIMING)
        watched = WatchedTables(views)
        async with running(views):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await watched.wait_synced()
            yield watched


async def seen_anew(plane: ControlPlane) -> Any:
    """What tables have that have just been filled."""
    async with watching(plane) as fresh:
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


async def test_views_outlive_the_api_server(planes: PlaneFactory, sandboxes: SandboxFactory) -> None:
    plane = planes()
    sandbox = sandboxes(plane)
    for priority in PRIORITIES:
        await asyncio.to_thread(sandbox.priority, priority)
    await asyncio.to_thread(sandbox.nodes, 2, cpu="4")
    async with watching(plane) as watched:
        await asyncio.to_thread(churn, sandbox, "before")
        assert max(view.age() for view in watched.views) < PATIENCE_SECONDS
        server = plane.processes["kube-apiserver"]
        server.kill()
        server.start()
        await asyncio.to_thread(server.wait_healthy, plane.client.ready, PATIENCE_SECONDS)
        await asyncio.to_thread(churn, sandbox, "after")
        # Who was there all the time must come to see what a newcomer sees; pods may still be starting meanwhile.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while contents(watched.tables.snapshot()) != (fresh := await seen_anew(plane)):  # noqa: ASYNC110 - see above
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
    async with connected(control_plane.kubeconfig) as client:
        writer, pods = Writer(client, SYSTEM_CLOCK), pod_writer(client)
        assert not await pods.patch_pod_status(namespace, "victim", OTHER_UID, conditions=[held])
        assert not await pods.patch_pod_status(namespace, "nobody", uid, conditions=[held])
        before = (sandbox.get_pod("victim") or {})["status"]["conditions"]
        assert await pods.patch_pod_status(namespace, "victim", uid, conditions=[held])
        after = (sandbox.get_pod("victim") or {})["status"]["conditions"]
        assert {condition["type"] for condition in after} - {condition["type"] for condition in before} == {
            held.type
        }
        assert len(after) == len(before) + 1
        regarding = Reference("v1", "Pod", namespace, "victim", uid)
        for _ in range(3):
            writer.event(regarding, "Normal", "Preempted", "Preempting", "a note")
        await writer.close()
        assert await pods.delete_pod(namespace, "victim", OTHER_UID) is Deletion.CHANGED
        assert await pods.delete_pod(namespace, "victim", uid) is Deletion.DELETED
        await asyncio.to_thread(sandbox.wait_gone, "victim")
        assert await pods.delete_pod(namespace, "victim", uid) is Deletion.GONE
    (event,) = await asyncio.to_thread(sandbox.events, "Preempted")
    assert event["series"]["count"] == 3
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
    async with connected(kubeconfig) as client:
        views = Views(client, timing=Timing(backoff=Backoff(0.05, 0.1)))
        watched = WatchedTables(views)
        async with running(views):
            await asyncio.sleep(0.5)
            assert not any(view.synced for view in watched.views)
            assert all(view.fault() is not None for view in watched.views)


@pytest.fixture
def widgets(control_plane: ControlPlane) -> Iterator[dict[str, Any]]:
    """The definition of a kind that the API server does not have, and will not keep."""
    yield WIDGETS
    control_plane.client.delete(WIDGETS["apiVersion"], WIDGETS["kind"], WIDGETS["metadata"]["name"])


async def test_a_kind_that_is_installed_later_is_followed_without_a_restart(
    control_plane: ControlPlane, widgets: dict[str, Any]
) -> None:
    store = Objects[Widget]()
    async with connected(control_plane.kubeconfig) as client:
        views = Views(client, timing=TIMING)
        classes = views.watch(PRIORITY_CLASSES, Objects())
        late = views.watch(Resource("widgets", WIDGETS_PATH, Widget), store)
        async with running(views), asyncio.timeout(PATIENCE_SECONDS):
            await classes.wait_synced()
            await until(lambda: late.is_absent)
            assert classes.fault() is None
            assert "CRD" in (late.fault() or "")
            await asyncio.to_thread(control_plane.client.create, widgets)
            await late.wait_synced()
            assert late.fault() is None
            body = msgspec.json.encode({**WIDGET, "metadata": {"name": "w"}})
            while not await posted(client, body):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.1)
            await until(lambda: len(store))
    assert [widget.metadata.name for widget in store] == ["w"]


async def posted(client: ApiClient, body: bytes) -> bool:
    """Whether the API server has taken the new kind's object: right after the definition it may not yet."""
    try:
        await client.request("POST", WIDGETS_PATH, body=body)
    except ApiError as error:
        if error.status not in (404, 429):
            raise
        return False
    return True


async def test_the_answer_to_a_write_counts_until_the_watch_has_passed_it(
    control_plane: ControlPlane,
) -> None:
    store = Objects[PriorityClass]()
    path = PRIORITY_CLASSES.path
    body = msgspec.json.encode({"metadata": {"name": "written"}, "value": 7})
    async with connected(control_plane.kubeconfig) as client:
        views = Views(client, timing=TIMING)
        view = views.watch(PRIORITY_CLASSES, store)
        async with running(views), asyncio.timeout(PATIENCE_SECONDS):
            await view.wait_synced()
            answer = msgspec.json.decode(await client.request("POST", path, body=body), type=PriorityClass)
            view.apply(answer)  # the watch may have been quicker
            assert store.get("", "written") == answer
            await client.request("DELETE", f"{path}/written")
            await until(lambda: store.get("", "written") is None)
            assert not view.apply(answer)
            assert store.get("", "written") is None
