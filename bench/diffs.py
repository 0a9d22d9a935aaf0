"""`reprieve diff` of a node on a large cluster: what waits is decided about twice, each as if it were the only one.

SIZE is the number of nodes. Each has 20 pods.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from answers.diff import diff
from answers.reading.changes import Changed, NowAndThen
from answers.reading.documents import JsonDocument
from quota.search.decision import Options

__all__ = ["run"]

Json = dict[str, Any]

NODES: Final = int(os.environ.get("SIZE") or 2000)
PODS_PER_NODE: Final = 20
WAITING: Final = 500
MEMBERS: Final = 4
YEAR: Final = datetime(2026, 1, 1, tzinfo=UTC)
AIM: Final = 30.0
"""CPU seconds for the answer, reading aside."""


class Crowd(NamedTuple):
    """What waits, beside a cluster that is full."""

    title: str
    gangs: bool
    shapes: int
    """How many of the 500 differ in what they request. All have labels of their own."""
    added: str = "32"
    """The CPUs of the node that is added. All that waits fits on it alone, or nothing if they are few."""
    uneven: bool = False
    """Whether the pods that run have requests and ages of their own."""


CROWDS: Final = (
    Crowd("pods, each of its own shape", gangs=False, shapes=WAITING),
    Crowd("pods of 20 shapes", gangs=False, shapes=20),
    Crowd("gangs of 20 shapes", gangs=True, shapes=20),
    Crowd("gangs that all differ", gangs=True, shapes=WAITING),
    Crowd("the same, and the node is too small", gangs=True, shapes=WAITING, added="1"),
    Crowd("the same, pods of all sizes and ages", gangs=True, shapes=WAITING, added="1", uneven=True),
)


def run(console: Console) -> bool:
    """Print a row for each crowd. Returns whether all got an answer."""
    table = Table(
        *("500 that wait", "read, s", "answer, s", "of CPU", f"aim {AIM:.0f} s", "fates that change"),
        title=f"diff of one node: {NODES:,} nodes, {NODES * PODS_PER_NODE:,} pods",
    )
    for crowd in CROWDS:
        changed = Changed("team")
        changed.add(JsonDocument(json.dumps(_node("extra", crowd.added)).encode()), "the change")
        worlds, began = NowAndThen(0, changed), time.perf_counter()
        for number, body in enumerate(_objects(crowd)):
            worlds.add(JsonDocument(json.dumps(body).encode()), f"object {number}")
        now, then = worlds.pictures()
        read, began, spent = time.perf_counter() - began, time.perf_counter(), time.process_time()
        answer = diff(now, then, worlds.changes(), Options())
        took, spent = time.perf_counter() - began, time.process_time() - spent
        met = "met" if spent < AIM else "missed"
        table.add_row(
            crowd.title, f"{read:.1f}", f"{took:.1f}", f"{spent:.1f}", met, str(len(answer.changes))
        )
    console.print(table)
    return True


def _objects(crowd: Crowd) -> Iterator[Json]:
    random = Random(1)
    for number in range(NODES):
        yield _node(f"n{number}")
    for number in range(NODES * PODS_PER_NODE):
        spec = {"nodeName": f"n{number % NODES}", "priority": random.choice((0, 10, 20, 50, 100, 1000))}
        milli = random.randint(1200, 2000) if crowd.uneven else 1600
        since = random.randrange(10**7) if crowd.uneven else 0
        yield _pod(f"p{number}", {"app": f"a{number % 50}"}, milli, spec, since)
    for number in range(WAITING):
        milli = 4000 + number % crowd.shapes * 8
        if not crowd.gangs:
            yield _pod(f"w{number}", {"app": f"w{number}"}, milli, {"priority": 60})
            continue
        yield {
            "apiVersion": "reprieve.dev/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"g{number}", "namespace": "team"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": MEMBERS}}, "priority": 60},
        }
        for member in range(MEMBERS):
            labels = {"reprieve.dev/pod-group": f"g{number}"}
            yield _pod(f"w{number}-{member}", labels, milli, {"priority": 60})


def _node(name: str, processors: str = "32") -> Json:
    status = {"allocatable": {"cpu": processors, "memory": "256Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _pod(name: str, labels: Json, milli: int, spec: Json, since: int = 0) -> Json:
    """`since`: seconds after the start of the year, when it started."""
    requests = {"cpu": f"{milli}m", "memory": "8Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}], **spec},
        "status": {
            "phase": "Running" if "nodeName" in spec else "Pending",
            "startTime": (YEAR + timedelta(seconds=since)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }
