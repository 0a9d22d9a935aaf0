"""The quota search: what an event, a snapshot, the flavors and the targets cost, by the number of admitted workloads.

There are 30 ClusterQueues in one cohort, with two flavors of four resources and no free room. One workload needs a
hundredth or a tenth of everything. The yardstick is a sort of as many 64-bit numbers: no search that sorts can be
faster.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from api.kueue import ClusterQueue, LocalQueue, ResourceFlavor
from api.workloads import Workload
from quota.search.asks import Options, ask_for
from quota.search.flavors import assign
from quota.state.state import QuotaState, Thing

__all__ = ["run"]

T = TypeVar("T")

QUEUES: Final = 30
BORROWERS: Final = 20
"""The ClusterQueues that use the quota of all."""
FLAVORS: Final = ("on-demand", "spot")
RESOURCES: Final = {"cpu": 4, "memory": 4, "nvidia.com/gpu": 8, "example.com/nic": 12}
"""The most that a workload asks for of each resource."""
PRIORITIES: Final = (0, 10, 20, 50, 100)
SIZES: Final = (3_000, 10_000, 30_000, 100_000)
ROUNDS: Final = 7
EVENTS: Final = 1_000
NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


def run(console: Console) -> bool:
    """Print a row for each case. Returns whether room was found in all of them."""
    table = Table(
        *("admitted", "wants", "targets", "event µs, p50", "p99", "snapshot ms", "flavors ms", "search ms"),
        *("sort ms", "search / sort", "decode s"),
        title=f"Quota, after {EVENTS:,} events each",
    )
    found = True
    for admitted in SIZES:
        for share in (100, 10):
            cells, enough = _row(admitted, share)
            table.add_row(*cells)
            found &= enough
    console.print(table)
    return found


@dataclass
class Times:
    """Times in seconds."""

    events: list[float] = field(default_factory=list)
    snapshot: list[float] = field(default_factory=list)
    flavors: list[float] = field(default_factory=list)
    targets: list[float] = field(default_factory=list)


def _row(admitted: int, share: int) -> tuple[list[str], bool]:
    world, times = World(admitted, share), Times()
    counts = [_round(world, times) for _ in range(ROUNDS)]
    keys = np.random.default_rng(1).integers(0, 2**63 - 1, admitted)
    sort = statistics.median(_timed(keys.copy().sort)[0] for _ in range(ROUNDS))
    targets = statistics.median(times.targets)
    cells = [
        f"{admitted:,}",
        f"1/{share}",
        f"{counts[-1]:,}",
        f"{np.percentile(times.events, 50) * 1e6:.0f}",
        f"{np.percentile(times.events, 99) * 1e6:.0f}",
        f"{statistics.median(times.snapshot) * 1e3:.3f}",
        f"{statistics.median(times.flavors) * 1e3:.2f}",
        f"{targets * 1e3:.2f}",
        f"{sort * 1e3:.2f}",
        f"{targets / sort:.1f}",
        f"{world.decoding:.2f}",
    ]
    return cells, min(counts) > 0


def _round(world: World, times: Times) -> int:
    """Search once after many events. Returns the number of targets."""
    for thing in list(world.events()):
        times.events.append(_timed(partial(world.state.apply, thing))[0])
    seconds, snapshot = _timed(world.state.snapshot)
    times.snapshot.append(seconds)
    asker, queue, now, options = world.incoming, snapshot.queue_of(world.incoming), world.now, Options()
    seconds, assignment = _timed(partial(assign, snapshot, queue, asker, options, now))
    times.flavors.append(seconds)
    ask = ask_for(snapshot, queue, asker, now, options, assignment)
    seconds, found = _timed(partial(snapshot.ledger.search, ask, options.search))
    times.targets.append(seconds)
    return len(found.targets)


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = act()
    return time.perf_counter() - start, result


class World:
    """A state, with the events that change it."""

    def __init__(self, admitted: int, share: int) -> None:
        self.random = random.Random(admitted * 1000 + share)
        self.now = int(NOW.timestamp()) * 1_000_000
        self.state = QuotaState()
        self.totals: dict[tuple[str, str], int] = {}
        # Bytes, so that the garbage collector has no more objects to look at than in a service of that size.
        self.holding = {name: self._held(name) for name in (f"w{i:06}" for i in range(admitted))}
        self.named = admitted
        bodies: list[tuple[type[Thing], bytes]] = [(Workload, body) for body in self.holding.values()]
        bodies += [(kind, msgspec.json.encode(body)) for kind, body in self._queues()]
        self.decoding, things = _timed(
            lambda: [msgspec.json.decode(body, type=kind) for kind, body in bodies]
        )
        for thing in things:
            self.state.apply(thing)
        self.state.snapshot()
        wanted = {
            resource: str(max(1, self.totals["on-demand", resource] // share)) for resource in RESOURCES
        }
        self.incoming: Workload = msgspec.convert(
            _workload("incoming", f"q{QUEUES - 1:02}", wanted, 60, 1), Workload
        )

    def events(self) -> Iterator[Thing]:
        """Workloads are admitted, evicted and finished, in equal numbers."""
        for kind in self.random.choices(("admit", "evict", "finish"), k=EVENTS):
            if kind == "admit":
                name = f"w{self.named:06}"
                self.named += 1
                self.holding[name] = self._held(name)
                yield msgspec.json.decode(self.holding[name], type=Workload)
                continue
            name = self.random.choice(list(self.holding))
            body = msgspec.json.decode(self.holding[name])
            _add_condition(body, "Evicted" if kind == "evict" else "Finished", 0)
            if kind == "evict":
                self.holding[name] = msgspec.json.encode(body)
            else:
                del self.holding[name]
            yield msgspec.convert(body, Workload)

    def _held(self, name: str) -> bytes:
        queue = f"q{self.random.randrange(BORROWERS):02}"
        flavor = self.random.choices(FLAVORS, (2, 1))[0]
        some = self.random.sample(sorted(RESOURCES), self.random.randint(1, len(RESOURCES)))
        usage = {resource: self.random.randint(1, RESOURCES[resource]) for resource in some}
        for resource, amount in usage.items():
            self.totals[flavor, resource] = self.totals.get((flavor, resource), 0) + amount
        requests = {resource: str(amount) for resource, amount in usage.items()}
        body = _workload(
            name, queue, requests, self.random.choice(PRIORITIES), self.random.randint(60, 14_400)
        )
        assignment = {
            "name": "main",
            "count": 1,
            "flavors": dict.fromkeys(some, flavor),
            "resourceUsage": requests,
        }
        body["status"] = {"admission": {"clusterQueue": queue, "podSetAssignments": [assignment]}}
        _add_condition(body, "QuotaReserved", self.random.randint(0, 7_200))
        return msgspec.json.encode(body)

    def _queues(self) -> Iterator[tuple[type[Thing], dict[str, Any]]]:
        for flavor in FLAVORS:
            yield ResourceFlavor, {"metadata": {"name": flavor}}
        for index in range(QUEUES):
            name = f"q{index:02}"
            yield (
                LocalQueue,
                {"metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": name}},
            )
            yield ClusterQueue, {"metadata": {"name": name}, "spec": self._spec()}

    def _spec(self) -> dict[str, Any]:
        flavors = [
            {
                "name": flavor,
                "resources": [
                    {"name": resource, "nominalQuota": str(self.totals[flavor, resource] // QUEUES)}
                    for resource in RESOURCES
                ],
            }
            for flavor in FLAVORS
        ]
        return {
            "cohortName": "all",
            "resourceGroups": [{"coveredResources": list(RESOURCES), "flavors": flavors}],
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
            "preemption": {
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority"},
                "withinClusterQueue": "LowerOrNewerEqualPriority",
            },
        }


def _workload(name: str, queue: str, requests: dict[str, str], priority: int, age: int) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": requests}}
    uid = f"{random.Random(name).getrandbits(128):032x}"
    return {
        "metadata": {"name": name, "namespace": "team", "uid": uid, "creationTimestamp": _ago(age)},
        "spec": {
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
            "queueName": queue,
            "priority": priority,
        },
    }


def _add_condition(body: dict[str, Any], kind: str, age: int) -> None:
    condition = {"type": kind, "status": "True", "reason": "Preempted", "lastTransitionTime": _ago(age)}
    body["status"].setdefault("conditions", []).append(condition)


def _ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
