"""Many plans at once: how fast pods are evicted, beside the same deletions sent bare, and beside kube-scheduler alone.

There are gangs of five members, each as large as a node, and every node is full of small pods of low priority. All
gangs come at once, so as many plans evict at once, each all pods of five nodes. Then the same pods are created again
for each bare client of `bench.floor`, which has as many requests in flight as all plans together. A plan also marks
each pod, rehearses, and stores what it does: that is what the ratios show. The last row is of another plane without
reprieve, where the gangs are groups of kube-scheduler's own kind. Its CPU seconds are of all gangs, from the first one
that comes to the last one that is bound, and to the last event of a victim.

REPRIEVE_BENCH_EVICTIONS has the number of plans and of victims of each, such as 50,500.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from rich.console import Console

from bench.floor import GO, OURS, Bare, Cost, Load, Spent, costs_table, measure, nothing_spent
from bench.metrics import cpu_seconds_of, spent_since
from bench.place import NATIVE, REPRIEVE, Place
from bench.watching import Deletions
from controllers.gangs.evicting.evictor import ALL_AT_ONCE
from hack.controlplane.client import Json, path_of
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["Evictions", "Size", "beside_bare", "run"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_EVICTIONS", "20,100")
MEMBERS: Final = 5
LOW, HIGH = 10, 100
NODE_CPU: Final = 100
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
    with console.status("evicting"):
        costs = _with_reprieve(size)
    with console.status("kube-scheduler alone evicts"):
        costs.append(_alone(size))
    console.print(costs_table(costs))
    return True


def _with_reprieve(size: Size) -> list[Cost]:
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), Options(reprieve=True)) as plane,
    ):
        spent = partial(cpu_seconds_of, plane)
        return beside_bare(Place(plane.client, "evictions"), size, plane.kubeconfig, (OURS, GO), spent)


def _alone(size: Size) -> Cost:
    options = Options(feature_gates={"GenericWorkload": True}, runtime_config={NATIVE: True})
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), options) as plane,
    ):
        case = Evictions(Place(plane.client, "evictions"), size, NATIVE)
        case.fill()
        return case.preempt("kube-scheduler alone", partial(cpu_seconds_of, plane))


def beside_bare(
    place: Place, size: Size, kubeconfig: Path, clients: Sequence[Bare], spent: Spent = nothing_spent
) -> list[Cost]:
    """What the plans take, and then the bare clients. Raises TimeoutError if a victim or a gang still waits."""
    case = Evictions(place, size)
    case.fill()
    planned = case.preempt(f"{size.plans} plans at once", spent)
    place.remove_pods()
    load = Load(place, kubeconfig, VICTIMS, ALL_AT_ONCE)
    return [planned, *measure(load, case.fill_again, spent, clients)]


class Evictions:
    """Nodes that are full of small pods, and the gangs that want them."""

    def __init__(self, place: Place, size: Size, group_api: str = REPRIEVE) -> None:
        """`group_api`: the API version of the groups."""
        self.place, self._size, self._api = place, size, group_api
        self._nodes = place.node_names(size.nodes)

    def fill(self) -> None:
        """Create nodes and victims. Returns when all run."""
        self.place.add_nodes(self._nodes, cpu=str(NODE_CPU), pods=self._size.on_node + 10)
        self.fill_again()

    def fill_again(self) -> None:
        """Create victims on all nodes. Returns when all run."""
        self.place.client.create_all(self._victims())
        self.place.wait_running(VICTIMS)

    def preempt(self, name: str, spent: Spent) -> Cost:
        """All gangs come. Returns what it takes until all are bound, and each victim has its event.

        Raises TimeoutError."""
        place, victims = self.place, {pod["metadata"]["name"] for pod in self._victims()}
        gangs = [f"gang-{number:03}" for number in range(self._size.plans)]
        before = spent()
        with Deletions(place.client, place.namespace) as deletions:
            place.client.create_all(self._groups(gangs))
            place.client.create_all(self._members(gangs))
            deletions.wait(victims, LIMIT_SECONDS)
            seconds = deletions.seconds
        _wait(lambda: self._bound() == len(gangs) * MEMBERS, "not all gangs are bound")
        if self._api == REPRIEVE:  # kube-scheduler drops events
            _wait(lambda: self._evicted() >= victims, "not every victim has an event")
        return Cost(name, len(victims), seconds, spent_since(before, spent()))

    def _bound(self) -> int:
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.place.pods("load!=victim"))

    def _evicted(self) -> set[str]:
        """The pods that an event says were preempted."""
        path = path_of("events.k8s.io/v1", "Event", self.place.namespace)
        events = self.place.client.request("GET", f"{path}?fieldSelector=reason=Preempted")["items"]
        return {event["regarding"]["name"] for event in events}

    def _groups(self, gangs: Iterable[str]) -> Iterable[Json]:
        for name in gangs:
            yield self.place.pod_group(name, priority=HIGH, min_count=MEMBERS, api_version=self._api)

    def _members(self, gangs: Iterable[str]) -> Iterable[Json]:
        for gang in gangs:
            for number in range(MEMBERS):
                yield self.place.member(
                    gang, f"{gang}-{number}", api_version=self._api, priority=HIGH, cpu=str(NODE_CPU)
                )

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


def _wait(look: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(1.0)
