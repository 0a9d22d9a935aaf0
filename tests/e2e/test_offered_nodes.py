"""The nodes that a real kube-scheduler offers are those that our filters admit.

`make fidelity` asks the scheduler's packages. This test asks the binary, through an extender that writes down the nodes
of each filter call and turns all of them down. So no pod is bound, and every pod is judged on the same cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.stub_extender import answering
from hack.fidelity.ours import judge
from hack.fidelity.selectors import NAMESPACES
from hack.fidelity.world import Step, World
from hack.fidelity.worlds import random_world
from tests.e2e.support import PlaneFactory, condition, wait_for
from tests.kit.often import ALL

FAMILIES = ("node affinity", "host ports", "host name anti-affinity", "anti-affinity", "affinity", "spread")
WORLDS = 4 if ALL else 2
"""Of each family. The members of a world are judged one by one."""
OTHERS = [name for name in NAMESPACES if name != "default"]
KWOK = {"kwok.x-k8s.io/node": "fake"}


@contextmanager
def recording(offered: dict[str, set[str]]) -> Iterator[str]:
    """An extender that writes down the nodes of each pod's last filter call. Yields its URL."""

    def answer(path: str, body: bytes) -> dict[str, object]:
        del path
        sent = json.loads(body)
        offered[sent["Pod"]["metadata"]["name"]] = set(sent["NodeNames"])
        return {"NodeNames": [], "FailedNodes": dict.fromkeys(sent["NodeNames"], "only written down")}

    with answering(answer) as url:
        yield url


def test_the_scheduler_offers_what_our_filters_admit(planes: PlaneFactory) -> None:
    offered: dict[str, set[str]] = {}
    with recording(offered) as url:
        extender = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}
        settings = {"percentageOfNodesToScore": 100, "extenders": [extender]}
        client = planes(scheduler_settings=settings).client
        create_namespaces(client)
        compared = refused = 0
        for number, family in enumerate(FAMILIES * WORLDS):
            world = live(client, random_world(Random(number), family), f"w{number}")
            for said in judge(world):
                seen = offered.get(said.pod, set())
                admitted = {node for node, admits in said.admits.items() if admits}
                compared += len(said.admits)
                refused += len(said.admits) - len(admitted)
                if not said.named and seen != admitted:
                    pytest.fail(f"{family}, seed {number}, {said.pod}: offered {seen}, we admit {admitted}")
            clear(client, world)
    assert compared > 100
    assert 0 < refused < compared


def create_namespaces(client: Client) -> None:
    """Those of the worlds, with their labels."""
    client.patch("v1", "Namespace", "default", {"metadata": {"labels": NAMESPACES["default"]}})
    for name in OTHERS:
        body = {"metadata": {"name": name, "labels": NAMESPACES[name]}}
        client.create({"apiVersion": "v1", "kind": "Namespace", **body})
    for name in NAMESPACES:
        wait_for(
            lambda name=name: client.find("v1", "ServiceAccount", "default", name),  # type: ignore[misc] # a default of a lambda has no type
            what="no default service account",
        )


def live(client: Client, world: World, prefix: str) -> World:
    """The same world as the API server has it, once the scheduler has tried each member.

    What the API server refuses is left out: random objects need not be valid.
    """
    names = {node["metadata"]["name"]: f"{prefix}-{node['metadata']['name']}" for node in world.nodes}
    for node in world.nodes:
        meta = node["metadata"]
        meta |= {"name": names[meta["name"]], "annotations": KWOK}
        meta.pop("uid")
        client.create({"apiVersion": "v1", "kind": "Node", **node})
    wait_for_nodes(client, *names.values())
    bound = [create(client, pod, prefix, names) for pod in world.pods]
    running = [pod for pod in bound if pod is not None]
    wait_for(
        lambda: all(found(client, pod)["status"]["phase"] == "Running" for pod in running),
        what="the pods do not run",
    )
    members = [pod for each in world.members if (pod := create(client, each, prefix, names)) is not None]
    wait_for(
        lambda: all(condition(found(client, pod), "PodScheduled") for pod in members),
        what="the scheduler has not tried all members",
    )
    mine = set(names.values())
    return World(
        world.family,
        [node for node in client.list("v1", "Node") if node["metadata"]["name"] in mine],
        [found(client, pod) for pod in running],
        [found(client, pod) for pod in members],
        {"namespaces": client.list("v1", "Namespace")},
        [Step([], pod["metadata"]["name"]) for pod in members],
    )


def create(client: Client, pod: Json, prefix: str, nodes: dict[str, str]) -> Json | None:
    """Create the pod under a name of its own; None if the API server refuses it."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["name"] = f"{prefix}-{meta['name']}"
    for path in ("uid", "creationTimestamp"):
        meta.pop(path)
    spec.pop("priority")
    spec["terminationGracePeriodSeconds"] = 0
    if "nodeName" in spec:
        spec["nodeName"] = nodes[spec["nodeName"]]
    try:
        return client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    except ApiError as error:
        if error.status != 422:
            raise
        return None


def found(client: Client, pod: Json) -> Any:
    meta = pod["metadata"]
    return client.get("v1", "Pod", meta["name"], meta["namespace"])


def clear(client: Client, world: World) -> None:
    """Remove the world again."""
    for pod in [*world.pods, *world.members]:
        client.delete("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
    wait_for(
        lambda: not any(client.list("v1", "Pod", name) for name in NAMESPACES),
        what="the pods do not go",
    )
    for node in world.nodes:
        client.delete("v1", "Node", node["metadata"]["name"])
