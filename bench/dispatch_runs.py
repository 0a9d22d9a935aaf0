"""Jobs in a manager and three worker clusters that have room: one after the other, and all at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.dispatch_bare import Sample, send
from bench.dispatch_fleet import MANAGER, Box, all_writes, job_body, join, started, used_by_reprieve, wait
from bench.dispatch_watching import JOBS, Arrivals
from hack.controlplane.fleet import Fleet
from hack.load.api import Api
from hack.load.measures import Usage, processes_used, quantile

__all__ = ["QUOTA", "WORKERS", "end", "one_by_one", "run_runs"]

WORKERS: Final = ("alpha", "beta", "gamma")
QUOTA: Final = 5000
AT_ONCE: Final = 32
LATENCY_RATIO: Final = 2.0
WALL_RATIO: Final = 1.5
WRITES: Final = {MANAGER: 9, "winner": 9, "other": 3}
NOT_OURS: Final = frozenset({"events", "leases", "nodes", "nodes/status", "serviceaccounts/token"})
STATUS: Final = "PATCH workloads/status"
PODS: Final = ("pods", "pods/binding", "pods/status")


@dataclass(frozen=True)
class Whole:
    """All Jobs at once, until nothing is left in the workers."""

    wall: float
    """Until the last Job is Admitted, or its pod runs."""
    used: Mapping[str, Usage]
    """By cluster: of reprieve."""
    writes: Mapping[str, Counter[str]]
    """By cluster."""


def run_runs(console: Console, sequential: int, at_once: int) -> bool:
    """Print the tables. Returns whether all Jobs have run."""
    console.print(
        f"[bold]Dispatch[/]: {sequential} Jobs one after the other, {at_once:,} at once, {len(WORKERS)} workers"
    )
    try:
        with started(WORKERS) as fleet, console.status("Jobs run") as status:
            join(fleet)
            boxes = [
                Box(fleet, name, quota=QUOTA) for name in ("one", "all", "bare-one", "bare-all", "local")
            ]
            one, every, bare_one, bare_all, local = boxes
            real = asyncio.run(one_by_one(fleet, one, sequential))
            sample = Sample.of(fleet, one.name, _name(0))
            end(one, sequential)
            status.update("all at once")
            whole = _all_at_once(fleet, every, at_once)
            status.update("in one cluster")
            alone = _alone(fleet, local, at_once)
            status.update("the same writes")
            for plane in fleet.planes.values():
                plane.reprieve.stop()
            bare = asyncio.run(_bare(fleet, bare_one, sequential, sample, at_once=1))[1]
            wall = asyncio.run(_bare(fleet, bare_all, at_once, sample, at_once=AT_ONCE))[0]
    except TimeoutError as error:
        console.print(f"[red]stalled[/]: {error}")
        return False
    console.print(_latencies(real, bare))
    console.print(
        f"{at_once:,} at once: {whole.wall:.1f} s, the same writes {wall:.1f} s: {whole.wall / wall:.2f}, "
        f"aim {WALL_RATIO}; {at_once / whole.wall:.1f} Jobs/s"
    )
    console.print(_writes_table(whole.writes, at_once))
    console.print(_cpu(whole, alone, at_once))
    return True


# ---- one after the other


async def one_by_one(fleet: Fleet, box: Box, count: int) -> list[float]:
    """Seconds from the reservation to Admitted."""
    async with (
        Api.connect(fleet.manager.kubeconfig) as api,
        Arrivals.following(api, box.name) as seen,
    ):
        for number in range(count):
            body = job_body(box.name, _name(number), dispatched=True)
            await api.send("Job", "POST", JOBS.format(box.name), body)
            await seen.until(seen.admitted, number + 1)
            await seen.until(seen.active, number + 1)
        return seen.latencies()


async def _bare(
    fleet: Fleet, box: Box, count: int, sample: Sample, *, at_once: int
) -> tuple[float, list[float]]:
    """The wall time of the same writes, and seconds from the reservation to Admitted."""
    async with AsyncExitStack() as stack:
        apis = {
            name: await stack.enter_async_context(Api.connect(plane.kubeconfig))
            for name, plane in fleet.planes.items()
        }
        seen = await stack.enter_async_context(Arrivals.following(apis[MANAGER], box.name))
        began, numbers = time.monotonic(), iter(range(count))

        async def work() -> None:
            for number in numbers:
                await send(apis, box.name, _name(number), sample)
                if at_once == 1:
                    await seen.until(seen.active, number + 1)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work())
        await seen.until(seen.admitted, count)
        return max(seen.admitted.values()) - began, seen.latencies()


def end(box: Box, count: int) -> None:
    """All pods end, and nothing is left in the workers."""

    def is_over() -> bool:
        box.end_pods()
        return box.finished(MANAGER) == count

    wait(is_over, "not all Jobs end", every=1.0)
    workers = box.fleet.workers
    wait(lambda: not any(box.count(each, "Workload") for each in workers), "copies are left", every=0.5)


# ---- all at once


def _all_at_once(fleet: Fleet, box: Box, count: int) -> Whole:
    before, used = all_writes(fleet), used_by_reprieve(fleet)
    wall = asyncio.run(_create(fleet, box, count))
    end(box, count)
    after = all_writes(fleet)
    return Whole(
        wall,
        processes_used(used, used_by_reprieve(fleet)),
        {name: after[name] - before[name] for name in after},
    )


async def _create(fleet: Fleet, box: Box, count: int) -> float:
    async with (
        Api.connect(fleet.manager.kubeconfig) as api,
        Arrivals.following(api, box.name) as seen,
    ):
        began = time.monotonic()
        bodies = [job_body(box.name, _name(number), dispatched=True) for number in range(count)]
        await asyncio.gather(*(api.send("Job", "POST", JOBS.format(box.name), body) for body in bodies))
        await seen.until(seen.admitted, count)
        await seen.until(seen.active, count)
        return max(seen.admitted.values()) - began


def _alone(fleet: Fleet, box: Box, count: int) -> Usage:
    """What reprieve uses for the same Jobs in one cluster."""
    cluster = WORKERS[0]
    used = used_by_reprieve(fleet)
    names = [_name(number) for number in range(count)]
    box.create(fleet.workers[cluster].client, names, dispatched=False)

    def is_over() -> bool:
        box.end_pods()
        return box.finished(cluster) == count

    wait(is_over, "not all Jobs end in one cluster", every=1.0)
    return processes_used(used, used_by_reprieve(fleet))[cluster]


def _name(number: int) -> str:
    return f"j{number:05}"


# ---- tables


def _latencies(real: list[float], bare: list[float]) -> Table:
    table = Table("from reservation to Admitted", "p50 ms", "p99 ms")
    for name, seconds in (("the manager", real), ("the same writes", bare)):
        table.add_row(name, *(f"{quantile(seconds, at) * 1000:.0f}" for at in (0.5, 0.99)))
    ratios = (f"{quantile(real, at) / quantile(bare, at):.2f}" for at in (0.5, 0.99))
    table.add_row(f"ratio, aim {LATENCY_RATIO}", *ratios)
    return table


def _writes_table(writes: Mapping[str, Counter[str]], count: int) -> Table:
    """Writes for each Job, without events, queue statuses, Leases, and what the Job controller and nodes write."""
    table = Table("writes a Job", "manager", "winner", "each other worker")
    there: Counter[str] = sum((writes[name] for name in WORKERS), Counter())
    copies = {"POST workloads", STATUS, "DELETE workloads"}
    kinds = sorted({*writes[MANAGER], *there} - {kind for kind in there if not _counts(kind)})
    sums = [0.0, 0.0, 0.0]
    others = len(WORKERS) - 1
    for kind in [each for each in kinds if _counts(each)]:
        here, all_there = writes[MANAGER][kind] / count, there[kind] / count
        # The other workers write nothing but their copies. Finished, and a second deletion, are the winner's alone.
        ends = 1.0 if kind == STATUS else 0.0
        other = (all_there - ends) / len(WORKERS) if kind in copies else 0.0
        other = min(1.0, other) if kind == "DELETE workloads" else other
        winner = all_there - other * others
        if kind == "PUT jobs/status":
            table.add_row(f"({kind}, by the Job controller)", "", f"({winner:.2f})", "")
            continue
        table.add_row(kind, *(f"{each:.2f}" for each in (here, winner, other)))
        sums = [sum_ + each for sum_, each in zip(sums, (here, winner, other), strict=True)]
    table.add_row("all", *(f"{each:.2f}" for each in sums))
    table.add_row("aim", *(str(each) for each in WRITES.values()))
    return table


def _counts(kind: str) -> bool:
    resource = kind.partition(" ")[2]
    is_queue = resource in ("clusterqueues/status", "localqueues/status")
    return resource not in NOT_OURS and resource not in PODS and not is_queue


def _cpu(whole: Whole, alone: Usage, count: int) -> str:
    parts = [f"{name} {each.cpu / count * 1000:.1f}" for name, each in whole.used.items()]
    ratio = whole.used[MANAGER].cpu / alone.cpu
    return (
        f"CPU ms of reprieve a Job: {', '.join(parts)}; the same Jobs in one cluster {alone.cpu / count * 1000:.1f}; "
        f"manager / one cluster: {ratio:.2f}"
    )
