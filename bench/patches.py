"""What a mark costs the API server in each form of a patch.

A mark is the condition DisruptionTarget in the status of a running pod. It is written as a strategic merge patch, whose
answer is the whole pod or its metadata only; as a JSON patch that tests UID and resourceVersion; and by apply on the
server. Each row marks pods that no other row has marked. The rows take turns, so that what else happens on the machine
meets all of them.

REPRIEVE_BENCH_PATCHES has the number of pods of each row and round, and of rounds, such as 400,3.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from api.clock import SYSTEM_CLOCK
from api.disruption import DISRUPTION_TARGET
from api.preempted import PREEMPTION_BY_SCHEDULER
from api.times import rfc3339
from bench.metrics import cpu_seconds_of
from bench.place import Place
from cli.serve.loops import loop_factory
from controllers.gangs.evicting.runs import AT_ONCE
from hack.controlplane.client import Json, path_of
from hack.controlplane.plane import ControlPlane, Options
from kube.client import APPLY_PATCH, JSON, JSON_PATCH, METADATA, STRATEGIC_MERGE_PATCH, ApiClient

__all__ = ["FORMS", "Form", "body_of", "run"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_PATCHES", "400,3")
ON_NODE: Final = 100
SERVER: Final = "kube-apiserver"


@dataclass(frozen=True)
class Form:
    """One way to write a mark."""

    name: str
    content_type: str
    accept: str = METADATA
    query: tuple[tuple[str, str], ...] = ()


FORMS: Final = (
    Form("strategic merge, answer is metadata", STRATEGIC_MERGE_PATCH),
    Form("strategic merge, answer is the pod", STRATEGIC_MERGE_PATCH, JSON),
    Form("JSON patch with tests of UID and resourceVersion", JSON_PATCH),
    Form("apply", APPLY_PATCH, query=(("fieldManager", "reprieve"), ("force", "true"))),
)
"""The first one is what reprieve sends."""


def body_of(form: Form, pod: Json) -> Any:
    """The patch that marks the pod."""
    meta = pod["metadata"]
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": PREEMPTION_BY_SCHEDULER,
        "message": "a bench marks this pod",
        "lastTransitionTime": rfc3339(SYSTEM_CLOCK.wall()),
    }
    if form.content_type == JSON_PATCH:
        return [
            {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta["resourceVersion"]},
            {"op": "add", "path": "/status/conditions/-", "value": condition},
        ]
    patch: Json = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
    if form.content_type == APPLY_PATCH:
        patch |= {"apiVersion": "v1", "kind": "Pod"}
        patch["metadata"] |= {"name": meta["name"], "namespace": meta["namespace"]}
    return patch


@dataclass
class Taken:
    """What the marks of one form took, over all rounds."""

    marks: int = 0
    seconds: float = 0.0
    server: float = 0.0
    """CPU seconds of the API server."""
    rounds: list[float] = field(default_factory=list)
    """CPU milliseconds of the API server for a mark, by round."""


def run(console: Console) -> bool:
    """Print the table. Returns True: each mark has succeeded."""
    pods, rounds = map(int, SIZE.split(","))
    console.print(
        f"[bold]Patches[/]: {pods} marks of each form in each of {rounds} rounds, {AT_ONCE} at a time"
    )
    with (
        console.status("marking"),
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), Options()) as plane,
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        place = Place(plane.client, "patches")
        running = iter(_running(place, pods * rounds * len(FORMS)))
        taken = runner.run(_measure(plane, running, pods, rounds))
    console.print(_table(taken))
    return True


def _running(place: Place, count: int) -> list[Json]:
    nodes = place.node_names(-(-count // ON_NODE))
    place.add_nodes(nodes, cpu=str(ON_NODE), pods=ON_NODE + 10)
    place.client.create_all(
        place.pod(f"p{number:05}", priority=10, cpu="100m", node_name=nodes[number // ON_NODE])
        for number in range(count)
    )
    place.wait_running()
    return place.pods()


async def _measure(plane: ControlPlane, running: Iterator[Json], pods: int, rounds: int) -> dict[Form, Taken]:
    taken = {form: Taken() for form in FORMS}
    async with ApiClient.connect(plane.kubeconfig) as client:
        for number in range(rounds):
            for form in [*FORMS[number % len(FORMS) :], *FORMS[: number % len(FORMS)]]:
                batch = [next(running) for _ in range(pods)]
                before, start = cpu_seconds_of(plane)[SERVER], time.monotonic()
                await _mark_all(client, form, batch)
                server = cpu_seconds_of(plane)[SERVER] - before
                each = taken[form]
                each.marks += pods
                each.seconds += time.monotonic() - start
                each.server += server
                each.rounds.append(server / pods * 1e3)
    return taken


async def _mark_all(client: ApiClient, form: Form, pods: Sequence[Json]) -> None:
    slots = asyncio.Semaphore(AT_ONCE)

    async def mark(pod: Json) -> None:
        meta = pod["metadata"]
        async with slots:
            await client.request(
                "PATCH",
                f"{path_of('v1', 'Pod', meta['namespace'], meta['name'])}/status",
                query=dict(form.query),
                body=msgspec.json.encode(body_of(form, pod)),
                content_type=form.content_type,
                accept=form.accept,
            )

    await asyncio.gather(*map(mark, pods))


def _table(taken: dict[Form, Taken]) -> Table:
    first = taken[FORMS[0]]
    table = Table("", "marks/s", "CPU ms of the API server for a mark", "by round", "of the first row")
    for form, each in taken.items():
        table.add_row(
            form.name,
            f"{each.marks / each.seconds:.0f}",
            f"{each.server / each.marks * 1e3:.2f}",
            ", ".join(f"{value:.2f}" for value in each.rounds),
            f"{each.server / first.server:.2f}",
        )
    return table
