"""Many plans at once: how fast pods are evicted, beside the same deletions sent bare.

There are gangs of five members, each as large as a node, and every node is full of small pods of low priority. All
gangs come at once, so as many plans evict at once, each all pods of five nodes. Then the same number of pods is created
again, and deleted by the same client, with as many requests in flight as one plan has. A plan also marks each pod,
rehearses, and stores what it does: that is what the ratio shows.

REPRIEVE_BENCH_EVICTIONS has the number of plans and of victims of each, such as 50,500.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec
from rich.console import Console
from rich.table import Table

from bench.place import Place
from bench.watching import Deletions
from hack.controlplane.client import Json, path_of
from hack.controlplane.plane import ControlPlane, Options
from kube.client import ApiClient

__all__ = ["Evictions", "Size", "measure", "run"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_EVICTIONS", "20,100")
MEMBERS: Final = 5
LOW, HIGH = 10, 100
NODE_CPU: Final = 100
IN_FLIGHT: Final = 16
LIMIT_SECONDS: Final = 900.0
VICTIMS: Final = "load=victim"


@dataclass(frozen=True)
class Size:
    """How many plans there are, and how many pods each evicts."""

    plans: int
    victims: int

    @classmethod
    def of(cls, text: str) -> Self:
        """From numbers with commas. Raises ValueError."""
        return cls(*map(int, text.split(",")))

    @property
    def nodes(self) -> int:
        """One for each member."""
        return self.plans * MEMBERS

    @property
    def on_node(self) -> int:
        """Pods on each node."""
        return self.victims // MEMBERS


def run(console: Console) -> bool:
    """Print the table. Returns whether every victim was evicted and every gang is bound."""
    size = Size.of(SIZE)
    console.print(f"[bold]Evictions[/]: {size.plans} plans of {size.victims} victims at once")
    with (
        console.status("evicting"),
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), Options(reprieve=True)) as plane,
    ):
        table = measure(Place(plane.client, "evictions"), size, plane.kubeconfig)
    console.print(table)
    return True


def measure(place: Place, size: Size, kubeconfig: Path) -> Table:
    """Evictions and bare deletions a second, and their ratio. Raises TimeoutError if a victim or a gang still waits."""
    case = Evictions(place, size)
    case.fill()
    planned = case.preempt()
    place.remove_pods()
    case.fill_again()
    bare = asyncio.run(case.delete_bare(kubeconfig))
    table = Table("", "pods", "deletions/s")
    pods = str(size.plans * size.victims)
    table.add_row(f"{size.plans} plans at once", pods, f"{planned:.0f}")
    table.add_row("bare", pods, f"{bare:.0f}")
    table.add_row("plans / bare", "", f"{planned / bare:.2f}")
    return table


class Evictions:
    """Nodes that are full of small pods, and the gangs that want them."""

    def __init__(self, place: Place, size: Size) -> None:
        self.place, self._size = place, size
        self._nodes = place.node_names(size.nodes)

    def fill(self) -> None:
        """Create nodes and victims. Returns when all run."""
        self.place.add_nodes(self._nodes, cpu=str(NODE_CPU), pods=self._size.on_node + 10)
        self.fill_again()

    def fill_again(self) -> None:
        """Create victims on all nodes. Returns when all run."""
        self.place.client.create_all(self._victims())
        self.place.wait_running(VICTIMS)

    def preempt(self) -> float:
        """All gangs come. Returns the evictions a second, from the first to the last. Raises TimeoutError."""
        place, victims = self.place, {pod["metadata"]["name"] for pod in self._victims()}
        gangs = [f"gang-{number:03}" for number in range(self._size.plans)]
        with Deletions(place.client, place.namespace) as deletions:
            place.client.create_all(place.pod_group(name, priority=HIGH, min_count=MEMBERS) for name in gangs)
            place.client.create_all(
                place.pod(f"{name}-{member}", priority=HIGH, cpu=str(NODE_CPU), group=name)
                for name in gangs
                for member in range(MEMBERS)
            )
            deletions.wait(victims, LIMIT_SECONDS)
            seconds = deletions.seconds
        _wait_bound(place, len(gangs) * MEMBERS)
        return len(victims) / seconds

    async def delete_bare(self, kubeconfig: Path) -> float:
        """Delete all victims by the client that reprieve uses. Returns the deletions a second."""
        slots = asyncio.Semaphore(IN_FLIGHT)
        pods = self.place.pods(VICTIMS)

        async def delete(client: ApiClient, pod: Json) -> None:
            meta = pod["metadata"]
            options = {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": meta["uid"]},
            }
            path = path_of("v1", "Pod", meta["namespace"], meta["name"])
            async with slots:
                await client.request("DELETE", path, body=msgspec.json.encode(options))

        async with ApiClient.connect(kubeconfig) as client:
            start = time.monotonic()
            await asyncio.gather(*(delete(client, pod) for pod in pods))
            return len(pods) / (time.monotonic() - start)

    def _victims(self) -> Iterable[Json]:
        cpu = NODE_CPU * 1000 // self._size.on_node
        for node in self._nodes:
            for number in range(self._size.on_node):
                yield self.place.pod(
                    f"{node}-{number}",
                    priority=LOW,
                    cpu=f"{cpu}m",
                    node_name=node,
                    labels={"load": "victim"},
                )


def _wait_bound(place: Place, count: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while sum(bool(pod["spec"].get("nodeName")) for pod in place.pods("load!=victim")) < count:
        if time.monotonic() > deadline:
            raise TimeoutError("not all gangs are bound")
        time.sleep(1.0)
