"""`reprieve plan` from a dump of 5,000 nodes and 150,000 pods, beside `orjson.loads` of the same file.

In the first dump the pods are alike, in the second one most of them differ: see `bench.dump_classes`. Each row is a
process of its own, and so is what is beside it: all CPU seconds count, from the start to the end. What loads the file
makes no search for garbage, as reprieve does none.

To write a dump as `kubectl get -o json` does: python -m bench.dump PATH [classes].
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from bench import dump_classes
from bench.decisions import RACKS, running
from bench.timing import child_cpu_seconds
from hack.controlplane import objects
from hack.controlplane.client import Json

__all__ = ["dump", "run"]

CONDITIONS: Final = [
    {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for kind in ("Ready", "PodScheduled")
]
"""What makes a pod about as long as in a cluster."""
ROUNDS: Final = 3
LOADING: Final = """
import gc, sys, time, orjson
gc.disable()
data = open(sys.argv[1], "rb").read()
began = time.process_time()
loaded = orjson.loads(data)
print(time.process_time() - began)
"""
DIFFER: Final = "classes"
"""The argument for the dump in which most pods differ."""


class Shape(NamedTuple):
    """A dump, and how many times as long as `orjson.loads` a plan of it may take; None: there is no aim."""

    title: str
    items: Iterable[Json]
    aim: float | None


def run(console: Console) -> bool:
    """Print a row for each dump. Returns whether every plan evicts somebody."""
    table = Table(
        "pods", "file, MB", "orjson.loads, CPU s", "plan, CPU s", "ratio", "aim", title="Plans from files"
    )
    right = True
    shapes = Shape("alike", _alike(), None), Shape("of 100,000 classes", _of_classes(), 6.0)
    with tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder:
        for shape in shapes:
            path = Path(folder, "dump.json")
            with console.status("the dump is written"):
                _write(path, shape.items)
            right &= _measure(table, shape, path)
    console.print(table)
    return right


def _measure(table: Table, shape: Shape, path: Path) -> bool:
    """Add the row. Both take turns, because a busy machine makes both slower."""
    command = [
        str(Path(sys.executable).with_name("reprieve")),
        "plan",
        "-f",
        str(path),
        "--for",
        "default/hero",
    ]
    loads, plans, right = list[float](), list[float](), True
    for _ in range(ROUNDS):
        loaded = subprocess.run(
            [sys.executable, "-c", LOADING, str(path)], stdout=subprocess.PIPE, check=True
        )
        loads.append(float(loaded.stdout))
        seconds, ended = child_cpu_seconds(command)
        plans.append(seconds)
        right &= ended == 0
    load, plan = statistics.median(loads), statistics.median(plans)
    table.add_row(
        shape.title,
        f"{path.stat().st_size / 1e6:.0f}",
        f"{load:.2f}",
        f"{plan:.2f}",
        f"{plan / load:.1f}",
        "" if shape.aim is None else f"{shape.aim:.0f}",
    )
    return right


def dump(path: Path, nodes: int = RACKS.nodes, pods_per_node: int = RACKS.pods_per_node) -> None:
    """Write the dump with pods that are alike. With fewer nodes there are fewer racks, and the gang is smaller."""
    _write(path, _alike(nodes, pods_per_node))


def _alike(nodes: int = RACKS.nodes, pods_per_node: int = RACKS.pods_per_node) -> Iterator[Json]:
    share = nodes / RACKS.nodes
    racks, gang = (max(1, round(share * each)) for each in (RACKS.racks, RACKS.gang))
    case = replace(RACKS, nodes=nodes, pods_per_node=pods_per_node, racks=racks, gang=gang)
    dice = random.Random(0)
    for i in range(case.nodes):
        labels = {"rack": f"r{i % case.racks}"}
        yield objects.node(f"n{i:05}", cpu=str(4 * case.pods_per_node), labels=labels)
    for i in range(case.nodes * case.pods_per_node):
        pod = running(case, i, dice)
        pod["status"]["conditions"] = CONDITIONS
        yield pod
    yield objects.pod_group("hero", min_count=case.gang, topology=case.topology, priority=1000)
    for i in range(case.gang):
        yield objects.pod(f"hero-{i:04}", cpu="2", group="hero", priority=1000)


def _of_classes() -> Iterator[Json]:
    return dump_classes.items(RACKS.nodes, RACKS.pods_per_node, RACKS.racks, RACKS.gang)


def _write(path: Path, items: Iterable[Json]) -> None:
    """Write the items as a List, one by one."""
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        file.write(b'{"apiVersion":"v1","kind":"List","items":[')
        for number, item in enumerate(items):
            file.write(b"," + encode(item) if number else encode(item))
        file.write(b"]}")


if __name__ == "__main__":
    _write(Path(sys.argv[1]), _of_classes() if sys.argv[2:] == [DIFFER] else _alike())
