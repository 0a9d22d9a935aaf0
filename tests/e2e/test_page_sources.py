"""What the page follows on a real control plane is what the command reads there, and both answer the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from answers.names import ALL
from answers.plan import plan_for
from answers.queue import all_queues, one_queue
from answers.reading.details import DetailedObjects
from answers.reading.posted import SOURCE, Posted
from answers.reading.quota_objects import read_time
from answers.submission import Known
from answers.waiting import Row, waiting
from answers.what_if.answer import what_if
from answers.why import why
from cli.common.cluster import Connection
from cli.common.live import read_cluster
from hack.controlplane import objects
from hack.controlplane.plane import ControlPlane
from kube.client import ApiClient
from tests.e2e.questions import Asking
from tests.e2e.support import Sandbox
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.contents import contents
from tests.kit.waiting import beside
from web.sources.live import Cluster

KUEUE = "kueue.x-k8s.io/v1beta2"
NOW = "2030-01-01T00:00:00Z"


@pytest.fixture
def sandbox(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Sandbox:
    return sandboxes(control_plane)


@asynccontextmanager
async def following(client: ApiClient) -> AsyncIterator[Cluster]:
    """The cluster, when everything has been listed."""
    source = Cluster(client)
    async with beside(source.run()):
        await asyncio.wait_for(source.wait_synced(), PATIENCE_SECONDS)
        yield source


async def seen(source: Cluster, condition: Callable[[], object]) -> None:
    """Wait for events until it holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await source.changed()


def rows(source: Cluster, namespace: str) -> dict[str, Row]:
    moment = source.picture()
    listed = waiting(moment.picture, moment.details, ALL, [namespace])
    return {row.name: row for row in (*listed.groups, *listed.pods, *listed.workloads)}


def known(source: Cluster, namespace: str) -> Any:
    """The pods of the namespace, and groups, as the picture has them."""
    return _part(contents(source.picture().picture.nodes.snapshot), namespace)


def read(plane: ControlPlane, namespace: str) -> Any:
    """The same, as the command reads it."""
    reader = DetailedObjects(0)
    read_cluster(reader, Connection(str(plane.kubeconfig), None, None, ()))
    return _part(contents(reader.picture().nodes.snapshot), namespace)


def _part(found: dict[str, Any], namespace: str) -> Any:
    pods = {key: value for key, value in found["pods"].items() if key[0] == namespace}
    groups = {key: value for key, value in found["groups"].items() if key[0] == namespace}
    nodes = {name: value for name, value in found["nodes"].items() if name.startswith(namespace)}
    return pods, groups, nodes


async def test_the_page_answers_what_the_command_answers(
    control_plane: ControlPlane, sandbox: Sandbox, asking: Asking
) -> None:
    space = sandbox.namespace
    async with connected(control_plane.kubeconfig) as client, following(client) as source:

        async def ask(path: str, query: Mapping[str, str]) -> bytes:
            return await client.request("GET", path, query=query)

        async def answers(kind: Any, name: str) -> Any:
            picture, details = await source.about(space, ask)
            return why(picture, details, kind, name).plain()

        assert rows(source, space) == {}
        await asyncio.to_thread(fill, sandbox)
        await seen(source, lambda: rows(source, space).keys() == {"gang", "web", "large"})
        for kind, name in (("podgroup", "gang"), ("pod", "web"), ("workload", "large"), ("pod", "low-0")):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    printed = await asyncio.to_thread(asking.ask, f"why {kind} {space}/{name}")
                    if await answers(kind, name) == json.loads(printed.stdout):
                        break
                    await asyncio.sleep(0.2)
        row = rows(source, space)["web"]
        assert row.sentence.startswith((await answers("pod", "web"))["sentence"].partition(". ")[0])
        assert rows(source, space)["gang"].place is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await asyncio.to_thread(read, control_plane, space) == known(source, space):
                    break
                await asyncio.sleep(0.2)
        sandbox.client.delete("v1", "Pod", "web", space)
        await seen(source, lambda: "web" not in rows(source, space))
        assert (source.trouble, source.picture().refused) == ("", {})
    sandbox.client.delete(KUEUE, "Workload", "large", space)


async def test_queues_and_what_would_happen_are_those_of_the_command(
    control_plane: ControlPlane, sandbox: Sandbox, asking: Asking
) -> None:
    space = sandbox.namespace
    manifests = asking.write("job.yaml", submitted_job(space))

    def tried(source: Cluster, known: Known) -> Any:
        posted = Posted("default")
        posted.add_file(manifests.read_bytes(), SOURCE)
        picture = replace(source.picture().at(read_time(NOW, "now")), workload_classes=known.workload_classes)
        return what_if(picture, posted.submission(known)).plain()

    async with connected(control_plane.kubeconfig) as client, following(client) as source:

        async def ask(path: str, query: Mapping[str, str]) -> bytes:
            return await client.request("GET", path, query=query)

        async def same(question: str, answer: Callable[[], Any]) -> None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    printed = await asyncio.to_thread(asking.ask, question)
                    if printed.stdout and answer() == json.loads(printed.stdout):
                        return
                    await asyncio.sleep(0.2)

        await asyncio.to_thread(fill, sandbox)
        await asyncio.to_thread(fill_queues, sandbox)
        await seen(source, lambda: rows(source, space).keys() == {"gang", "web", "large"})
        await same("queue", lambda: all_queues(source.picture().picture).plain())
        for name in (space, f"{space}/main"):
            await same(f"queue {name}", partial(queue_said, source, name))
        known = await source.known((space,), ask)
        assert f"{space}-high" in known.workload_classes
        await same(f"what-if {manifests} -n default --now {NOW}", partial(tried, source, known))
        await same(f"plan --for {space}/gang", partial(plan_said, source, space))
    for kind, version, name in MADE:
        sandbox.client.delete(version, kind, name.format(space), space if kind == "LocalQueue" else None)
    sandbox.client.delete(KUEUE, "Workload", "large", space)


def queue_said(source: Cluster, name: str) -> Any:
    return one_queue(source.picture().at(source.now()), name).plain()


def plan_said(source: Cluster, space: str) -> Any:
    return plan_for(source.picture().at(source.now()), "podgroup", space, "gang", ALL).plain()


MADE = (
    ("LocalQueue", KUEUE, "main"),
    ("ClusterQueue", KUEUE, "{}"),
    ("ResourceFlavor", KUEUE, "{}"),
    ("WorkloadPriorityClass", KUEUE, "{}-high"),
)


def class_of(space: str) -> Any:
    """A class that only submissions name."""
    return {
        "apiVersion": KUEUE,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": f"{space}-high"},
        "value": 7,
    }


def submitted_job(space: str) -> Any:
    """It asks for quota by a class of the cluster."""
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": f"{space}-high"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    meta = {"name": "job", "namespace": space, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}


def fill_queues(sandbox: Sandbox) -> None:
    """A queue for the Workload that waits."""
    space = sandbox.namespace
    quota = {"name": space, "resources": [{"name": "cpu", "nominalQuota": "3"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    bodies = [
        {"kind": "ResourceFlavor", "metadata": {"name": space}, "spec": {}},
        {
            "kind": "ClusterQueue",
            "metadata": {"name": space},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        },
        {
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": space},
            "spec": {"clusterQueue": space},
        },
        class_of(space),
    ]
    for body in bodies:
        sandbox.client.create({"apiVersion": KUEUE, **body})


@pytest.fixture
def asking(control_plane: ControlPlane, tmp_path: Any) -> Asking:
    return Asking(control_plane, tmp_path)


def fill(sandbox: Sandbox) -> None:
    """A full node, a gang and a pod for which there is no room, and a Workload without a queue."""
    client, space = sandbox.client, sandbox.namespace
    node = sandbox.node("full", cpu="2")
    sandbox.filler("low", node, 2)
    high = sandbox.priority(1000)
    client.create(objects.pod_group("gang", space, min_count=2, priority_class=high))
    for number in range(2):
        sandbox.pod(f"gang-{number}", group="gang", priority=1000, cpu="2", schedulerName="nobody")
    sandbox.pod("web", priority=100, cpu="2", schedulerName="nobody")
    template = {"spec": sandbox.pod_body("template", cpu="2")["spec"]}
    client.create(
        {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {"name": "large", "namespace": space},
            "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
        }
    )
