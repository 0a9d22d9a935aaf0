"""Two full worker clusters, and Jobs of high priority that come at once: evictions, and when the last Job runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from api.times import parse_rfc3339
from bench.dispatch_fleet import KUEUE, LIMIT_SECONDS, Box, configure, join, started, wait
from hack.controlplane.client import Json
from hack.controlplane.fleet import ALLOWED, Fleet

__all__ = ["ALL_ORDERS", "run_turns"]

WORKERS: Final = ("alpha", "beta")
HIGH: Final = 100
EQUAL: Final = "all victims are equal"
UNEQUAL: Final = "half of 0 and half of 5 in one cluster, all of 1 in the other"
LEAST_DISRUPTION: Final = "LeastDisruption"
ALL_ORDERS: Final = (LEAST_DISRUPTION, "FirstComeFirstServed", "feature off")
MOST_SUM: Final = 30
"""The aim of LeastDisruption for the sum of priorities, of 50 Jobs."""


@dataclass(frozen=True)
class Outcome:
    """What one run took."""

    evictions: int
    priority_sum: int
    pod_seconds: float
    """Work that is lost."""
    seconds: float
    """Until the last Job runs."""
    jobs: int
    """That run in the end."""


def run_turns(console: Console, count: int, orders: Sequence[str]) -> bool:
    """Print the tables. Returns whether all Jobs run in the end. `orders`: of ALL_ORDERS."""
    results: dict[str, dict[str, Outcome]] = {}
    console.print(f"[bold]Preemption in one of two clusters[/]: {count} Jobs of one pod")
    with started(WORKERS) as fleet, console.status("planes start") as status:
        join(fleet)
        for order in orders:
            status.update(order)
            settings: dict[str, Any] = {"allowedNetworks": list(ALLOWED)}
            if order in ALL_ORDERS[:2]:
                settings["order"] = order
            gates = {"MultiKueueOrchestratedPreemption": order in ALL_ORDERS[:2]}
            configure(fleet, multikueue=settings, featureGates=gates)
            for number, (case, priorities) in enumerate(_cases(count).items()):
                name = f"t{ALL_ORDERS.index(order)}{number}"
                results.setdefault(case, {})[order] = _measure(fleet, name, priorities, count)
    for case, outcomes in results.items():
        console.print(_table(case, outcomes, count))
    return all(each.jobs == count for outcomes in results.values() for each in outcomes.values())


def _cases(count: int) -> dict[str, dict[str, Sequence[int]]]:
    """By case: the priorities of those that run in each worker."""
    half = count // 2
    return {
        EQUAL: dict.fromkeys(WORKERS, [1] * count),
        UNEQUAL: {"alpha": [0] * half + [5] * (count - half), "beta": [1] * count},
    }


def _least(case: str, count: int) -> int:
    priorities = sorted(each for some in _cases(count)[case].values() for each in some)
    return sum(priorities[:count])


def _measure(fleet: Fleet, name: str, priorities: Mapping[str, Sequence[int]], count: int) -> Outcome:
    box = Box(fleet, name, quota=count)
    for cluster, values in priorities.items():
        client = fleet.workers[cluster].client
        for value in sorted(set(values)):
            names = [f"low{value}-{number}" for number in range(values.count(value))]
            box.create(client, names, dispatched=False, priority=value)
        wait(lambda cluster=cluster: len(box.running(cluster)) == count, f"{cluster} is not full")  # type: ignore[misc]  # bound by its default
    began = time.monotonic()
    box.create(
        fleet.manager.client, [f"high{number}" for number in range(count)], dispatched=True, priority=HIGH
    )
    seconds = _wait_running(box, count, began)
    time.sleep(2)  # what was begun in vain
    victims = [each for cluster in WORKERS for each in _victims(box, cluster)]
    outcome = Outcome(
        len(victims),
        sum(each["spec"].get("priority", 0) for each in victims),
        sum(map(_lost, victims)),
        seconds,
        _run(box),
    )
    box.clear()
    return outcome


def _wait_running(box: Box, count: int, began: float) -> float:
    while _run(box) < count and time.monotonic() - began < LIMIT_SECONDS:
        time.sleep(0.2)
    return time.monotonic() - began


def _run(box: Box) -> int:
    found = [pod for cluster in WORKERS for pod in box.running(cluster)]
    return sum(pod["metadata"]["labels"].get("job-name", "").startswith("high") for pod in found)


def _victims(box: Box, cluster: str) -> list[Json]:
    """Workloads of the worker's own users that were evicted, one for each eviction."""
    found = box.fleet.workers[cluster].client.list(KUEUE, "Workload", box.name)
    return [
        each
        for each in found
        if each["metadata"].get("ownerReferences", [{}])[0].get("name", "").startswith("low")
        for _ in range(_evictions(each))
    ]


def _evictions(workload: Json) -> int:
    stats = workload.get("status", {}).get("schedulingStats", {}).get("evictions") or ()
    return sum(each.get("count", 1) for each in stats)


def _lost(victim: Json) -> float:
    """From its creation to its last eviction. It ran from the beginning."""
    conditions = {each["type"]: each for each in victim["status"].get("conditions") or ()}
    end = conditions.get("Evicted", conditions.get("Requeued"))
    if end is None:
        return 0.0
    return parse_rfc3339(end["lastTransitionTime"]) - parse_rfc3339(victim["metadata"]["creationTimestamp"])


def _table(case: str, outcomes: Mapping[str, Outcome], count: int) -> Table:
    table = Table(case, "evictions", "sum of priorities", "pod-seconds lost", "seconds until the last runs")
    for order, each in outcomes.items():
        table.add_row(
            order,
            str(each.evictions),
            str(each.priority_sum),
            f"{each.pod_seconds:.0f}",
            f"{each.seconds:.1f}",
        )
    table.add_row("the least possible", str(count), str(_least(case, count)))
    if case == UNEQUAL:
        table.add_row(f"aim of {LEAST_DISRUPTION}", str(count), f"{MOST_SUM}")
    return table
