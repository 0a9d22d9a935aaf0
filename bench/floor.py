"""What evictions cost at least: the same pods, deleted by clients that do nothing else, on the same plane.

A client only deletes pods. Or it marks each pod before, and then deletes it in that version only: these are the two
requests to a victim that neither reprieve nor kube-scheduler can save. One client is `kube.client`, that of reprieve.
The other one is a small Go program on client-go (`hack/binaries/evict`).
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import msgspec
from rich.table import Table

from api.clock import SYSTEM_CLOCK
from api.disruption import DISRUPTION_TARGET
from api.meta import Condition
from api.preempted import PREEMPTION_BY_SCHEDULER
from api.times import rfc3339
from bench.metrics import spent_since
from bench.place import Place
from cli.serve.loops import loop_factory
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json, path_of
from kube.client import STRATEGIC_MERGE_PATCH, ApiClient
from kube.envelopes import OnlyMetadata

__all__ = ["GO", "OURS", "Bare", "Cost", "Load", "Spent", "costs_table", "measure", "nothing_spent"]

CLIENT: Final = "client"
"""The name of the bare client among the processes."""

Spent = Callable[[], Mapping[str, float]]
"""The CPU seconds that each process has used, by its name."""


def nothing_spent() -> Mapping[str, float]:
    """Of a cluster whose processes we do not see."""
    return {}


@dataclass(frozen=True)
class Cost:
    """What the evictions of one row took."""

    name: str
    pods: int
    seconds: float
    """From the first deletion to the last."""
    cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by process."""

    @property
    def rate(self) -> float:
        """Pods a second."""
        return self.pods / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Load:
    """The pods to delete."""

    place: Place
    kubeconfig: Path
    labels: str
    """Which pods of the place: a label selector."""
    in_flight: int
    """Pods at a time."""


@dataclass(frozen=True)
class Deleted:
    """What a bare client says when all pods are deleted."""

    pods: int
    seconds: float
    cpu: float
    """Of the client itself, in seconds."""


class Bare(Protocol):
    """A client that deletes all pods of a load. With `mark`, each is marked before."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    def delete(self, load: Load, *, mark: bool) -> Deleted:
        """Delete them. Raises an error if a pod stays."""


class _KubeClient:
    """`kube.client`, in this process and on the loop that `reprieve serve` has."""

    name: Final = "kube/client.py"

    def delete(self, load: Load, *, mark: bool) -> Deleted:
        """See `Bare`."""
        pods = load.place.pods(load.labels)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_delete_all(load, pods, mark=mark))


class _ClientGo:
    """The Go program. Raises BinariesError if it can be neither found nor built."""

    name: Final = "client-go"

    def delete(self, load: Load, *, mark: bool) -> Deleted:
        """See `Bare`."""
        options: dict[str, Path | str | int] = {
            "-kubeconfig": load.kubeconfig,
            "-namespace": load.place.namespace,
            "-labels": load.labels,
            "-in-flight": load.in_flight,
        }
        arguments = [str(each) for option in options.items() for each in option]
        command: list[str | Path] = [binaries(["evict"])["evict"], *arguments, *(["-mark"] if mark else [])]
        return msgspec.json.decode(subprocess.check_output(command), type=Deleted)


OURS: Final[Bare] = _KubeClient()
GO: Final[Bare] = _ClientGo()


def measure(load: Load, restore: Callable[[], None], spent: Spent, clients: Sequence[Bare]) -> list[Cost]:
    """What each client takes to delete the pods, and to mark and delete them.

    `restore` creates them before each row."""
    costs = []
    for mark in (False, True):
        for client in clients:
            restore()
            before = spent()
            done = client.delete(load, mark=mark)
            cpu = spent_since(before, spent()) | {CLIENT: done.cpu}
            what = "bare marks and deletes" if mark else "bare deletes"
            costs.append(Cost(f"{what}, {client.name}", done.pods, done.seconds, cpu))
    return costs


def costs_table(costs: Sequence[Cost], *, title: str = "") -> Table:
    """Pods a second and CPU seconds of each row, and the ratio of the first row to each."""
    names = list(dict.fromkeys(name for cost in costs for name in cost.cpu))
    first = costs[0].rate
    caption = "The columns with the name of a process have its CPU seconds."
    first_columns = ("", "pods", "pods/s", "ours / this")
    table = Table(
        *first_columns, *(name.removeprefix("kube-") for name in names), title=title, caption=caption
    )
    for cost in costs:
        ratio = f"{first / cost.rate:.2f}" if cost.rate else ""
        cpu = (f"{cost.cpu[name]:.1f}" if name in cost.cpu else "" for name in names)
        table.add_row(cost.name, f"{cost.pods:,}", f"{cost.rate:.0f}", ratio, *cpu)
    return table


async def _delete_all(load: Load, pods: Sequence[Json], *, mark: bool) -> Deleted:
    slots = asyncio.Semaphore(load.in_flight)

    async def one(client: ApiClient, meta: Json) -> None:
        async with slots:
            await _delete(client, meta, await _mark(client, meta) if mark else "")

    async with ApiClient.connect(load.kubeconfig) as client:
        start, before = time.monotonic(), time.process_time()
        await asyncio.gather(*(one(client, pod["metadata"]) for pod in pods))
        return Deleted(len(pods), time.monotonic() - start, time.process_time() - before)


async def _mark(client: ApiClient, meta: Json) -> str:
    """The version of the pod with the mark."""
    condition = Condition(
        type=DISRUPTION_TARGET,
        status="True",
        reason=PREEMPTION_BY_SCHEDULER,
        message="a bench marks this pod",
        last_transition_time=rfc3339(SYSTEM_CLOCK.wall()),
    )
    patch = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
    body = await client.request(
        "PATCH", f"{_path(meta)}/status", body=msgspec.json.encode(patch), content_type=STRATEGIC_MERGE_PATCH
    )
    return msgspec.json.decode(body, type=OnlyMetadata).metadata.resource_version


async def _delete(client: ApiClient, meta: Json, version: str) -> None:
    expected = {"uid": meta["uid"]} | ({"resourceVersion": version} if version else {})
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": expected}
    await client.request("DELETE", _path(meta), body=msgspec.json.encode(options))


def _path(meta: Json) -> str:
    return path_of("v1", "Pod", meta["namespace"], meta["name"])
