"""The interleaved case: the scheduler's own gang preemption beside ours, with the same load on equal control planes.

There are 500 nodes of 4 CPU. Each is full of ten 400m pods of priority 10. The pods form 500 groups of ten in `all`
mode; group g is on the nodes 10g to 10g+9 modulo 500. Then comes a gang of 100 pods of 3600m. A search that picks
nodes one by one breaks other groups on every node. But ten groups share each block of ten nodes, so 90 groups suffice.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hack.controlplane import objects
from hack.controlplane.client import Client, Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["run"]

NODES, GROUPS, GANG = 500, 500, 100
GROUP_SIZE = 10
NAMESPACE = "default"
BEST_PODS = 900
NATIVE = Options(
    feature_gates={"GenericWorkload": True},
    runtime_config={"scheduling.k8s.io/v1beta1": True},
    scheduler_settings={"percentageOfNodesToScore": 100},
)
LIMIT_SECONDS = 300.0


@dataclass(frozen=True)
class Result:
    """The result of one way of preempting."""

    groups: int
    pods: int
    bound: int
    seconds: float


def run(console: Console) -> bool:
    """Print victims and seconds side by side. Returns whether ours evicted at most half and bound every member."""
    console.print("[bold]The interleaved case[/]: a gang of 100 on 500 full nodes")
    with console.status("kube-scheduler alone, GenericWorkload on"):
        theirs = _measure(NATIVE, "scheduling.k8s.io/v1beta1", _native_pod)
    with console.status("kube-scheduler with reprieve, gates off"):
        ours = _measure(Options(reprieve=True), "reprieve.dev/v1alpha1", _our_pod)
    table = Table("", "groups evicted", "pods evicted", "members bound", "seconds to bind")
    for name, result in (("kube-scheduler, GenericWorkload", theirs), ("with reprieve", ours)):
        table.add_row(
            name, str(result.groups), str(result.pods), f"{result.bound}/{GANG}", f"{result.seconds:.1f}"
        )
    table.add_row("enough", str(BEST_PODS // GROUP_SIZE), str(BEST_PODS), f"{GANG}/{GANG}", "")
    table.add_row(
        "ours / theirs",
        f"{ours.groups / max(1, theirs.groups):.2f}",
        f"{ours.pods / max(1, theirs.pods):.2f}",
        "",
        f"{ours.seconds / theirs.seconds:.2f}",
    )
    console.print(table)
    return ours.bound == GANG and ours.pods * 2 <= theirs.pods


def _measure(options: Options, group_api: str, pod_of: Callable[..., Json]) -> Result:
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), options) as plane,
    ):
        client = plane.client
        _fill(client, group_api, pod_of)
        victims = {pod["metadata"]["uid"]: pod for pod in client.list("v1", "Pod", NAMESPACE)}
        hero = objects.pod_group("hero", min_count=GANG, priority_class="p100", api_version=group_api)
        client.create(hero)
        client.create_all(
            pod_of("hero", f"hero-{i}", cpu="3600m", priority_class="p100") for i in range(GANG)
        )
        start = time.monotonic()
        bound, seconds = _wait_bound(client, start)
        left = {
            pod["metadata"]["uid"]
            for pod in client.list("v1", "Pod", NAMESPACE)
            if not pod["metadata"].get("deletionTimestamp")
        }
        gone = [pod for uid, pod in victims.items() if uid not in left]
        groups = {pod["metadata"]["name"].rpartition("-")[0] for pod in gone}
        return Result(len(groups), len(gone), bound, seconds)


def _fill(client: Client, group_api: str, pod_of: Callable[..., Json]) -> None:
    client.create_all(objects.priority_class(f"p{value}", value) for value in (10, 100))
    # Nodes join in a shuffled order, because the scheduler takes nodes of equal score as they came.
    joining = random.Random(NODES).sample(range(NODES), NODES)  # not for secrets
    client.create_all((objects.node(f"n{i:03}") for i in joining), parallel=1)
    wait_for_nodes(client, *(f"n{i:03}" for i in joining))
    client.create_all(
        objects.pod_group(f"g{g:03}", min_count=1, mode="all", priority_class="p10", api_version=group_api)
        for g in range(GROUPS)
    )
    client.create_all(
        pod_of(
            f"g{g:03}",
            f"g{g:03}-{i}",
            cpu="400m",
            priority_class="p10",
            node_name=f"n{(GROUP_SIZE * g + i) % NODES:03}",
        )
        for g in range(GROUPS)
        for i in range(GROUP_SIZE)
    )
    while any(pod["status"].get("phase") != "Running" for pod in client.list("v1", "Pod", NAMESPACE)):
        time.sleep(1)


def _wait_bound(client: Client, start: float) -> tuple[int, float]:
    bound, last = 0, time.monotonic()
    while bound < GANG and time.monotonic() - start < LIMIT_SECONDS:
        time.sleep(0.2)
        pods = client.list("v1", "Pod", NAMESPACE, labels="bench=hero")
        now_bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        if now_bound != bound:
            bound, last = now_bound, time.monotonic()
    return bound, last - start


def _our_pod(group: str, name: str, **pod: Any) -> Json:
    return objects.pod(name, NAMESPACE, group=group, labels={"bench": name.partition("-")[0]}, **pod)


def _native_pod(group: str, name: str, **pod: Any) -> Json:
    labels = {"bench": name.partition("-")[0]}
    return objects.pod(name, NAMESPACE, labels=labels, schedulingGroup={"podGroupName": group}, **pod)
