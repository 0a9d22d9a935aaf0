"""The time that a decision takes from a snapshot, beside the time to copy the columns that it reads (same run)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from rich.console import Console
from rich.table import Table

from api.core import Node, Pod
from api.groups import PodGroup
from hack.controlplane import objects
from hack.controlplane.client import Json
from nodes.search.decision import decide_group
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables

__all__ = ["run"]

ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """A full cluster, and a gang that needs a part of it."""

    title: str
    nodes: int
    racks: int
    pods_per_node: int
    group_size: int
    """The number of pods in an `all` group, on neighbouring nodes. 1 means single pods."""
    gang: int
    topology: str | None = None


CASES = (
    Case("interleaved groups, gang of 100", 500, 1, 10, 10, 100),
    Case("1,000 nodes, 10,000 pods, gang of 64 per rack of 100", 1000, 10, 10, 1, 64, "rack"),
    Case("5,000 nodes, 20,000 pods, gang of 500", 5000, 8, 4, 1, 500),
    Case("5,000 nodes, 150,000 pods, gang of 1,000", 5000, 8, 30, 10, 1000),
    Case("5,000 nodes, 150,000 pods, gang of 256 per zone", 5000, 8, 30, 10, 256, "rack"),
)


def run(console: Console) -> bool:
    """Print a row for each case. Returns whether every gang was placed."""
    table = Table("decision", "outcome", "victims", "pods", "seconds", "x snapshot", title="Decisions")
    placed = True
    for case in CASES:
        snapshot, copying = _cluster(case)
        spec = decide_group(snapshot, "default", "hero")
        placed &= spec.outcome == "Preempts"
        seconds = _median(lambda snapshot=snapshot: decide_group(snapshot, "default", "hero"))  # type: ignore[misc] # a default of a lambda has no type
        pods = sum(len(victim.pods) for victim in spec.victims)
        table.add_row(
            case.title,
            spec.outcome,
            str(len(spec.victims)),
            str(pods),
            f"{seconds:.3f}",
            f"{seconds / copying:.0f}",
        )
    console.print(table)
    return placed


def _median(act: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _cluster(case: Case) -> tuple[Snapshot, float]:
    tables = Tables()
    for i in range(case.nodes):
        name = f"n{i:04}"
        node = objects.node(name, cpu=str(4 * case.pods_per_node), labels={"rack": f"r{i % case.racks}"})
        tables.upsert_node(msgspec.convert(node, Node))
    groups = case.nodes * case.pods_per_node // case.group_size
    for g in range(groups if case.group_size > 1 else 0):
        body = objects.pod_group(f"g{g:05}", min_count=1, mode="all", priority=g % 50)
        tables.upsert_group(msgspec.convert(body, PodGroup))
    for i in range(case.nodes * case.pods_per_node):
        tables.upsert_pod(msgspec.convert(_running(case, i), Pod))
    _gang(tables, case)
    return tables.snapshot(), _median(tables.snapshot)


def _running(case: Case, i: int) -> Json:
    group, member = divmod(i, case.group_size)
    node = (case.group_size * group + member) % case.nodes
    pod = objects.pod(
        f"p{i:06}",
        cpu="4",
        node_name=f"n{node:04}",
        group=f"g{group:05}" if case.group_size > 1 else None,
        priority=group % 50,
    )
    pod["metadata"]["uid"] = f"uid-{i:06}"
    pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T{i % 24:02}:{i % 60:02}:00Z"}
    return pod


def _gang(tables: Tables, case: Case) -> None:
    body = objects.pod_group("hero", min_count=case.gang, topology=case.topology, priority=1000)
    tables.upsert_group(msgspec.convert(body, PodGroup))
    for i in range(case.gang):
        pod = objects.pod(f"hero-{i:04}", cpu=str(3.6 * case.pods_per_node), group="hero", priority=1000)
        pod["metadata"]["uid"] = f"hero-{i:04}"
        tables.upsert_pod(msgspec.convert(pod, Pod))
