"""Delayed preemption: who confirms the members of gangs, how long each phase takes, and what longer lists cost.

Every node is full of one pod of priority 10. Gangs of 8, 20 and 40 pods come one after the other, and then ordinary
pods that must preempt. kube-scheduler looks for candidates on a part of the nodes (10 %, at least 100), or on all of
them (`minCandidateNodesPercentage: 100`). The two settings run on a control plane each, and take turns.

REPRIEVE_BENCH_NODES has the numbers of nodes, such as 50,500,5000.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.metrics import Samples, grown, reprieve_metrics, scheduler_metrics
from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["run"]

SIZES: Final = os.environ.get("REPRIEVE_BENCH_NODES", "50,500")
GANGS: Final = (8, 20, 40, 8, 20, 40)
ORDINARY: Final = 200
"""Pods that must preempt in a round, but at most four on five nodes."""
ROUNDS: Final = 3
NAMESPACE: Final = "default"
CPU: Final = "3600m"
SETTLE_SECONDS: Final = 3.0
LIMIT_SECONDS: Final = 300.0
PHASES: Final = ("Gathering", "Planned", "Confirmed", "Evicting", "Ready")
BOUNDS: Final = ("0.1", "0.5", "1.0", "5.0", "30.0")
"""Of the buckets of the histogram that are printed."""
ALL_NODES: Final = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [{"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 100}}],
        }
    ]
}
CANDIDATES: Final = {"10 %, at least 100": {}, "100 %": ALL_NODES}
"""Settings of the scheduler, by how many nodes it looks at for candidates."""


@dataclass(slots=True)
class Measured:
    """What was measured of one setting."""

    start: Samples
    end: Samples = field(default_factory=dict)
    seconds_to_bind: list[float] = field(default_factory=list)
    preempting_per_second: list[float] = field(default_factory=list)
    post_filter: list[float] = field(default_factory=list)
    """Seconds of a pod, one figure for each round."""
    evicted: int = 0
    """Pods that were evicted for gangs."""


def run(console: Console) -> bool:
    """Print the tables. Returns whether all pods were bound, and each gang evicted one pod for a member."""
    confirmed = Table(
        *("nodes", "candidates", "members", "by scheduler", "by model", "contradicted", "seconds to bind"),
        title="Members of gangs",
    )
    phases = Table(
        *("nodes", "candidates", "phase", "gangs", "mean s", *(f"≤ {bound} s" for bound in BOUNDS)),
        title="Seconds in a phase",
    )
    cost = Table("nodes", "candidates", "pods/s", "ms of PostFilter", title="Ordinary pods that must preempt")
    right = True
    for nodes in map(int, SIZES.split(",")):
        measured = _measure(console, nodes)
        for candidates, each in measured.items():
            confirmed.add_row(f"{nodes:,}", candidates, *_shares(each))
            for phase in PHASES:
                phases.add_row(f"{nodes:,}", candidates, phase, *_phase(each, phase))
            right &= each.evicted == sum(GANGS)
        for row in _costs(measured):
            cost.add_row(f"{nodes:,}", *row)
    for table in (confirmed, phases, cost):
        console.print(table)
    return right


def _measure(console: Console, nodes: int) -> dict[str, Measured]:
    with ExitStack() as stack:
        worlds = {}
        for candidates, settings in CANDIDATES.items():
            with console.status(f"{nodes:,} nodes, candidates: {candidates}"):
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
                told = {"planning": {"schedulerConfiguration": str(folder / "kube-scheduler.yaml")}}
                options = Options(reprieve=True, scheduler_settings=settings, reprieve_settings=told)
                worlds[candidates] = _World(stack.enter_context(ControlPlane(folder, options)), nodes)
        measured = {name: Measured(reprieve_metrics(world.plane)) for name, world in worlds.items()}
        for number, members in enumerate(GANGS):
            for name, world in worlds.items():
                with console.status(f"{nodes:,} nodes, candidates: {name}, gang of {members}"):
                    world.bind_gang(f"gang-{number}", members, measured[name])
        for name, world in worlds.items():
            measured[name].end = reprieve_metrics(world.plane)
        for _ in range(ROUNDS):
            for name, world in worlds.items():
                with console.status(f"{nodes:,} nodes, candidates: {name}, ordinary pods"):
                    world.bind_ordinary(min(ORDINARY, nodes * 4 // 5), measured[name])
        return measured


class _World:
    """A control plane whose nodes are full."""

    def __init__(self, plane: ControlPlane, nodes: int) -> None:
        self.plane, self._client = plane, plane.client
        self._nodes = [f"n{i:04}" for i in range(nodes)]
        self._client.create_all(objects.priority_class(f"p{value}", value) for value in (10, 50, 100))
        self._client.create_all(objects.node(name) for name in self._nodes)
        wait_for_nodes(self._client, *self._nodes)
        self._filled = 0
        self._fill()

    def bind_gang(self, name: str, members: int, measured: Measured) -> None:
        """A gang comes, is bound, and goes. Everything is as before afterwards."""
        self._client.create(objects.pod_group(name, min_count=members, priority_class="p100"))
        start = time.monotonic()
        self._client.create_all(self._pods(name, members, "p100", group=name))
        self._wait_bound(name, members)
        measured.seconds_to_bind.append(time.monotonic() - start)
        measured.evicted += len(self._nodes) - len(self._list("low"))
        self._client.delete("reprieve.dev/v1alpha1", "PodGroup", name, NAMESPACE)
        self._restore(name)

    def bind_ordinary(self, count: int, measured: Measured) -> None:
        """Ordinary pods come all at once, are bound, and go."""
        scheduler = self.plane.processes["kube-scheduler"]
        before = scheduler_metrics(self.plane)
        scheduler.pause()
        self._client.create_all(self._pods("ordinary", count, "p50"))
        start = time.monotonic()
        scheduler.resume()
        self._wait_bound("ordinary", count)
        measured.preempting_per_second.append(count / (time.monotonic() - start))
        after = scheduler_metrics(self.plane)
        name = "scheduler_framework_extension_point_duration_seconds"
        seconds = grown(before, after, f"{name}_sum", extension_point="PostFilter")
        times = grown(before, after, f"{name}_count", extension_point="PostFilter")
        measured.post_filter.append(seconds / max(1, times))
        self._restore("ordinary")

    def _pods(self, name: str, count: int, priority_class: str, group: str | None = None) -> Iterator[Json]:
        for i in range(count):
            yield objects.pod(
                f"{name}-{i}", cpu=CPU, priority_class=priority_class, group=group, labels={"bench": name}
            )

    def _wait_bound(self, name: str, count: int) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while sum(bool(pod["spec"].get("nodeName")) for pod in self._list(name)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} is not bound on {len(self._nodes)} nodes")
            time.sleep(0.1)

    def _restore(self, name: str) -> None:
        """Replace these pods by pods of priority 10."""
        for pod in self._list(name):
            self._client.delete("v1", "Pod", pod["metadata"]["name"], NAMESPACE)
        while self._list(name):
            time.sleep(0.1)
        self._fill()

    def _fill(self) -> None:
        """Put a pod of priority 10 on every node that has none."""
        full = {pod["spec"]["nodeName"] for pod in self._list("low")}
        self._filled += 1
        self._client.create_all(
            objects.pod(
                f"low-{self._filled}-{node}",
                cpu=CPU,
                priority_class="p10",
                node_name=node,
                labels={"bench": "low"},
            )
            for node in self._nodes
            if node not in full
        )
        while any(pod["status"].get("phase") != "Running" for pod in self._list("low")):
            time.sleep(0.5)
        time.sleep(SETTLE_SECONDS)

    def _list(self, name: str) -> list[Json]:
        return self._client.list("v1", "Pod", NAMESPACE, labels=f"bench={name}")


def _shares(measured: Measured) -> list[str]:
    name = "reprieve_member_confirmations_total"
    counts = [
        grown(measured.start, measured.end, name, by=by) for by in ("scheduler", "model", "contradicted")
    ]
    members = sum(counts)
    return [
        f"{members:.0f}",
        *(f"{count / max(1, members):.0%}" for count in counts),
        f"{statistics.median(measured.seconds_to_bind):.1f}",
    ]


def _phase(measured: Measured, phase: str) -> list[str]:
    start, end, name = measured.start, measured.end, "reprieve_gang_phase_seconds"
    count = grown(start, end, f"{name}_count", phase=phase)
    if not count:
        return ["0"]
    return [
        f"{count:.0f}",
        f"{grown(start, end, f'{name}_sum', phase=phase) / count:.2f}",
        *(f"{grown(start, end, f'{name}_bucket', phase=phase, le=bound) / count:.0%}" for bound in BOUNDS),
    ]


def _costs(measured: dict[str, Measured]) -> Iterator[list[str]]:
    for candidates, each in measured.items():
        yield [
            candidates,
            f"{statistics.median(each.preempting_per_second):.1f}",
            f"{statistics.median(each.post_filter) * 1e3:.1f}",
        ]
    few, many = measured.values()
    yield [
        "100 % / 10 %",
        _ratio(many.preempting_per_second, few.preempting_per_second),
        _ratio(many.post_filter, few.post_filter),
    ]


def _ratio(some: list[float], other: list[float]) -> str:
    return f"{statistics.median(a / b for a, b in zip(some, other, strict=True)):.2f}"
