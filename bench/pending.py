"""The queues of Workloads that wait for quota: what an event, an answer and the heads cost, beside a walk over all.

Each ClusterQueue has three shapes of Workloads, as in Kueue's own load test. A tree has six ClusterQueues.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table

from api.kueue import ClusterQueue, LocalQueue, ResourceFlavor
from api.workloads import Workload
from quota.cycle.entries import Entry
from quota.cycle.pending import RELEASE_INTERVAL, PendingQueues
from quota.cycle.queues import heads
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState

__all__ = ["run"]

T = TypeVar("T")

SIZES: Final = ((15_000, 30), (50_000, 1_000))
"""Workloads and ClusterQueues."""
SHAPES: Final = ((1, 50), (5, 100), (20, 200))
"""CPUs and priority."""
TREE: Final = 6
ROUNDS: Final = 20
EVENTS: Final = 5_000
START: Final = datetime(2026, 3, 1, tzinfo=UTC)


def run(console: Console) -> bool:
    """Print a row for each size. Returns whether the heads are those of `quota.cycle.queues`."""
    table = Table(
        *("waiting", "queues", "new/s", "changed/s", "removed/s", "answered/s"),
        *("heads ms", "quota.cycle.queues.heads ms", "release ms", "MiB"),
        title="Workloads that wait, in memory",
    )
    same = True
    for size, queues in SIZES:
        bench = _Bench(size, queues)
        table.add_row(*bench.row())
        same &= bench.same
    console.print(table)
    return same


class _Bench:
    def __init__(self, size: int, queues: int) -> None:
        self.size, self.queues = size, queues
        self.now = int(START.timestamp()) * 1_000_000
        self.workloads = [_workload(number, queues) for number in range(size)]
        self.live = self.empty()
        self.same = False

    def row(self) -> Iterator[str]:
        """The cells, after what they measure is done."""
        yield from (f"{self.size:,}", f"{self.queues:,}")
        yield self.per_second(self.size, self.put(self.workloads))
        copies = [_with_message(each) for each in self.workloads[:EVENTS]]
        yield self.per_second(EVENTS, self.put(copies))
        keys = [f"team/w{number:06}" for number in range(EVENTS)]
        yield self.per_second(EVENTS, _seconds_for(keys, self.live.remove))
        self.put(copies)
        yield from self.cycles([*copies, *self.workloads[EVENTS:]])
        tracemalloc.start()
        self.live = self.empty()
        self.put(self.workloads)
        yield f"{tracemalloc.get_traced_memory()[0] / 2**20:.0f}"
        tracemalloc.stop()

    def cycles(self, pending: list[Workload]) -> Iterator[str]:
        """Ask and answer until all are parked, let all return, and so on."""
        asking = answering = releasing = 0.0
        calls = answers = 0
        trees = {_tree(queue) for queue in range(self.queues)}
        snapshot = self.snapshot()
        self.same = self.live.heads(self.now) == heads(snapshot, pending, self.now)
        walk = _seconds_for([pending], lambda every: heads(snapshot, every, self.now))
        for _ in range(ROUNDS):
            while True:
                start = time.perf_counter()
                found = self.live.heads(self.now)
                asking += time.perf_counter() - start
                calls += 1
                if not found:
                    break
                entries = [Entry(each, "NoFit", None, "", "", "parked", "NoFit") for each in found]
                start = time.perf_counter()
                for entry in entries:
                    self.live.answered(entry, self.now)
                answers += len(entries)
                answering += time.perf_counter() - start
            self.now += RELEASE_INTERVAL
            releasing += _seconds_for([trees], lambda names: self.live.freed(names, self.now))
        yield self.per_second(answers, answering)
        yield f"{asking / calls * 1e3:.2f}"
        yield f"{walk * 1e3:.1f}"
        yield f"{releasing / ROUNDS * 1e3:.2f}"

    def empty(self) -> PendingQueues:
        live = PendingQueues()
        for number in range(self.queues):
            name = f"q{number:04}"
            live.set_cluster_queue(name, strategy="BestEffortFIFO", active=True, tree=_tree(number))
            live.set_local_queue(f"team/{name}", cluster_queue=name, active=True)
        return live

    def put(self, workloads: list[Workload]) -> float:
        return _seconds_for(workloads, lambda each: self.live.put(each, self.now))

    def snapshot(self) -> QuotaSnapshot:
        state = QuotaState()
        state.apply(msgspec.convert({"metadata": {"name": "default"}}, ResourceFlavor))
        for number in range(self.queues):
            name = f"q{number:04}"
            quotas = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "20"}]}
            spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quotas]}]}
            state.apply(
                msgspec.convert(
                    {"metadata": {"name": name}, "spec": {"cohortName": _tree(number), **spec}}, ClusterQueue
                )
            )
            local = {"metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": name}}
            state.apply(msgspec.convert(local, LocalQueue))
        return state.snapshot()

    def per_second(self, number: int, seconds: float) -> str:
        return f"{number / seconds:,.0f}"


def _seconds_for(items: Iterable[T], act: Callable[[T], object]) -> float:
    """How long it takes to do this with each of them."""
    start = time.perf_counter()
    for item in items:
        act(item)
    return time.perf_counter() - start


def _tree(queue: int) -> str:
    return f"cohort-{queue // TREE}"


def _workload(number: int, queues: int) -> Workload:
    cpus, priority = SHAPES[number // queues % len(SHAPES)]
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpus)}}}
    created = (START - timedelta(seconds=number * 7919 % 10_000)).strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = {
        "name": f"w{number:06}",
        "namespace": "team",
        "uid": f"{number:032x}",
        "creationTimestamp": created,
    }
    pods = [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]
    spec = {"podSets": pods, "queueName": f"q{number % queues:04}", "priority": priority}
    return msgspec.convert({"metadata": meta, "spec": spec}, Workload)


def _with_message(workload: Workload) -> Workload:
    waits = {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota", "message": "no room"}
    body = msgspec.to_builtins(workload)
    body["status"] = {"conditions": [waits]}
    return msgspec.convert(body, Workload)
