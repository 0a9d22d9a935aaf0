"""What an event of a pod costs the event loop while gangs wait: from its bytes to the end of the planner's step.

5,000 nodes with pods of priority 1000, and gangs of eight that do not fit. The gangs have twenty kinds of members and
two priorities. An API server that takes every write stands in for a real one, and the search answers at once: what is
measured is the loop's own work. Each event gets a step of its own; a live planner takes the events of 20 ms together.
What looks at an active plan cost is measured beside it (`bench.looks`). It runs in its own process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, cast

import msgspec
import structlog
from rich.console import Console
from rich.table import Table

from api.clock import SYSTEM_CLOCK
from api.core import Node, Pod
from api.groups import PodGroup
from bench import looks
from bench.metrics import quantile
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import NotDecided
from hack.controlplane import objects
from kube.client import ApiClient
from runtime.mirror.views import Views
from runtime.terms.term import Term

__all__ = ["run"]

NODES, PODS_ON_NODE, MEMBERS, KINDS = 5_000, 6, 8, 20
GROUPS: Final = (0, 100, 10_000)
EVENTS: Final = 2_000
BUDGET_SECONDS: Final = 100e-6
LOOK_SECONDS: Final = 1e-3


class Measured(msgspec.Struct):
    """Seconds of CPU."""

    events: list[list[float]]
    """Of each event, by GROUPS."""
    looks: dict[str, list[float]]
    """Of each look, by what has happened before it."""


def run(console: Console) -> bool:
    """Measure in a new process and print. The budget is printed beside the figures; it does not fail the run."""
    console.print(f"[bold]Events while gangs wait[/]: {NODES:,} nodes, {NODES * PODS_ON_NODE:,} pods")
    with console.status("events"):
        measured = asyncio.run(_in_a_process())
    table = Table("gangs that wait", "µs of CPU for an event, p50", "p99", "budget for p99", box=None)
    for groups, seconds in zip(GROUPS, measured.events, strict=True):
        table.add_row(f"{groups:,}", *_quantiles(seconds), f"{1e6 * BUDGET_SECONDS:.0f}")
    console.print(table)
    console.print(
        f"[bold]A look at an active plan[/]: {looks.PODS:,} members, {looks.PODS:,} victims, {looks.NODES} nodes"
    )
    table = Table("before the look", "µs of CPU, p50", "p99", "budget for p99", box=None)
    for happened, seconds in measured.looks.items():
        table.add_row(happened, *_quantiles(seconds), f"{1e6 * LOOK_SECONDS:.0f}")
    console.print(table)
    return True


def _quantiles(seconds: list[float]) -> list[str]:
    return [f"{1e6 * quantile(seconds, at):.0f}" for at in (0.5, 0.99)]


async def _in_a_process() -> Measured:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.events", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the measuring process ended with {process.returncode}")
    return msgspec.json.decode(output, type=Measured)


class StubApiServer:
    """Takes every write, and answers with what was sent."""

    cluster = ""

    async def request(self, method: str, path: str, *, body: bytes | None = None, **options: object) -> bytes:
        """See `ApiClient.request`."""
        return body or b"{}"


class World:
    """A process that leads, with its mirror full."""

    def __init__(self, executor: ThreadPoolExecutor, groups: int) -> None:
        client = cast(ApiClient, StubApiServer())
        views = Views(client, clock=SYSTEM_CLOCK)
        self._controller = GangController(
            PlanningConfiguration(mode="Enforce"), client, views, executor, SYSTEM_CLOCK
        )
        self._leading = self._controller.begin(Term(1, SYSTEM_CLOCK))
        self._views = {view.kind: view for view in views}
        self._version = 0
        for number in range(NODES):
            self._put("nodes", objects.node(f"n{number}"), Node)
            for pod in range(PODS_ON_NODE):
                self._put("pods", _running(number, pod), Pod)
        for number in range(groups):
            self._put("podgroups", _group(number), PodGroup)
            for member in range(MEMBERS):
                self._put("pods", _member(number, member), Pod)
        for view in self._views.values():
            view.replaced(set(view._held), "")
            view._reflector._heard = SYSTEM_CLOCK.monotonic()

    def _put(self, kind: str, body: dict[str, Any], of: type[Any]) -> None:
        self._views[kind].upsert(msgspec.json.decode(self._bytes(body), type=of), listed=True)

    def _bytes(self, body: Mapping[str, Any]) -> bytes:
        self._version += 1
        meta = body["metadata"]
        uid = f"uid-{meta.get('namespace', '')}-{meta['name']}"
        stored = {**body, "metadata": {**meta, "uid": uid, "resourceVersion": str(self._version)}}
        return msgspec.json.encode(stored)

    async def begin(self) -> None:
        """Let every gang be looked at."""

        async def decide(key: GroupKey, *, barred: str = "", in_vain: bool = False) -> NotDecided:
            return NotDecided(f"{key[1]} does not fit")

        decider: Any = self._leading.planner._turns._decider
        decider.decide = decide
        await self._controller.take_over(self._leading)
        while await self._leading.planner.step():
            pass
        for _ in range(100):
            await asyncio.sleep(0.01)  # what is written comes to its end

    async def measure(self) -> list[float]:
        """The seconds of CPU of each event: pods are deleted, and come again."""
        planner, view = self._leading.planner, self._views["pods"]
        seconds = []
        for number in range(EVENTS):
            node, pod = number // 2 % NODES, number // 2 // NODES % PODS_ON_NODE
            body = self._bytes(_running(node, pod))
            began = time.thread_time()
            item = msgspec.json.decode(body, type=Pod)
            if number % 2:
                view.upsert(item, listed=False)
            else:
                view.delete(item.metadata)
            await planner.step()
            seconds.append(time.thread_time() - began)
        return seconds


def _running(node: int, number: int) -> dict[str, Any]:
    body = objects.pod(f"r{node}-{number}", cpu="600m", node_name=f"n{node}")
    body["spec"]["priority"] = 1000
    return body


def _group(number: int) -> dict[str, Any]:
    return objects.pod_group(f"g{number}", min_count=MEMBERS, priority=100 + number % 2)


def _member(number: int, member: int) -> dict[str, Any]:
    body = objects.pod(f"g{number}-{member}", cpu=f"{2000 + number % KINDS}m", group=f"g{number}")
    body["spec"]["priority"] = 100 + number % 2
    return body


async def _measure() -> list[list[float]]:
    found = []
    for groups in GROUPS:
        with ThreadPoolExecutor(1) as executor:
            world = World(executor, groups)
            await world.begin()
            found.append(await world.measure())
            await world._controller.step_down(world._leading)
    return found


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    sys.stdout.buffer.write(msgspec.json.encode(Measured(asyncio.run(_measure()), looks.measure())))
