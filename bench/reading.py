"""The questions on a live control plane of 5,000 nodes and 150,000 pods, beside the same lists sent bare.

Only etcd and the API server run. A few objects are created through the API. All others are their bytes in etcd, with
other names, UIDs and nodes of the same length: so they are as the API server writes them. Bare lists are the requests
of a question, page by page, with their answers thrown away. Questions and bare lists take turns.

SIZE is the number of nodes. Each has 30 pods.
"""

from __future__ import annotations

import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from answers.reading.details import NamespaceObjects
from answers.reading.documents import Reader
from answers.reading.submissions import ClusterObjects
from bench.timing import child_cpu_seconds
from hack.controlplane import objects
from hack.controlplane.client import Client, Json
from hack.controlplane.components import HOST
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["run"]

NODES: Final = int(os.environ.get("SIZE") or 5000)
PODS_PER_NODE: Final = 30
PRIORITIES: Final = 40
GANG: Final = 8
ROUNDS: Final = 3
AIM: Final = 2.0
"""Seconds that a question may take more than its lists."""
AT_ONCE: Final = 100
"""Objects in a transaction. etcd takes 128."""
LIMIT_SECONDS: Final = 600.0


class Question(NamedTuple):
    """What is asked, and the lists that it needs."""

    arguments: tuple[str, ...]
    reader: type[Reader]


class Spent(NamedTuple):
    """Seconds of a process."""

    wall: float
    cpu: float


def run(console: Console) -> bool:
    """Print a row for each question. Returns whether all of them were answered."""
    console.print(f"[bold]Reading[/]: {NODES:,} nodes, {NODES * PODS_PER_NODE:,} pods")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder / "plane", Options(api_only=True)))
        began = time.perf_counter()
        with console.status("objects are made"):
            fill(plane)
            _warm_up(plane)
        console.print(f"[dim]the objects were there after {time.perf_counter() - began:.0f} s[/]")
        submitted = folder / "job.json"
        submitted.write_text(json.dumps(_job()))
        table = Table(
            "question",
            "bare, s",
            "the question, s",
            "more, s",
            "aim, s",
            "bare, CPU s",
            "the question, CPU s",
        )
        right = True
        for question in (
            Question(("why", "pod", "default/hero-0"), NamespaceObjects),
            Question(("why", "podgroup", "default/hero"), NamespaceObjects),
            Question(("what-if", str(submitted)), ClusterObjects),
        ):
            right &= _measure(table, plane, question)
    console.print(table)
    return right


def _measure(table: Table, plane: ControlPlane, question: Question) -> bool:
    """Add the row of the question. Returns whether it was answered."""
    bare = _bare(plane, question.reader)
    command = str(Path(sys.executable).with_name("reprieve"))
    ask = [command, *question.arguments, "--kubeconfig", str(plane.kubeconfig)]
    lists, questions, right = [], [], True
    for _ in range(ROUNDS):
        spent, ok = _spent(bare)
        lists.append(spent)
        right &= ok
        spent, ok = _spent(ask)
        questions.append(spent)
        right &= ok
    more = statistics.median(ours.wall - theirs.wall for ours, theirs in zip(questions, lists, strict=True))
    table.add_row(
        " ".join(question.arguments[:2]),
        f"{statistics.median(each.wall for each in lists):.1f}",
        f"{statistics.median(each.wall for each in questions):.1f}",
        f"{more:.1f}",
        f"{AIM:.1f}",
        f"{statistics.median(each.cpu for each in lists):.1f}",
        f"{statistics.median(each.cpu for each in questions):.1f}",
    )
    return right


def _warm_up(plane: ControlPlane) -> None:
    """Wait until the API server answers all lists. After many writes its caches are behind for a while."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while subprocess.run(_bare(plane, NamespaceObjects), stderr=subprocess.DEVNULL, check=False).returncode:
        if time.monotonic() > deadline:
            raise TimeoutError("the API server does not answer all lists")
        time.sleep(1)


def _bare(plane: ControlPlane, reader: type[Reader]) -> list[str]:
    """The command that sends the lists of the reader."""
    kinds = [(*key, reader.fields.get(key, "")) for key in reader.kinds]
    return [sys.executable, "-m", "bench.bare_lists", str(plane.kubeconfig), json.dumps(kinds)]


def _spent(arguments: list[str]) -> tuple[Spent, bool]:
    """What the process took, and whether it ended as it should: 3 says that something waits."""
    began = time.perf_counter()
    cpu, status = child_cpu_seconds(arguments)
    return Spent(time.perf_counter() - began, cpu), status in (0, 3)


def _job() -> Json:
    pod = objects.pod("x", cpu="2")["spec"] | {"restartPolicy": "Never", "priorityClassName": "high"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "asked", "namespace": "default"},
        "spec": {"parallelism": 4, "completions": 4, "template": {"spec": pod}},
    }


# ---- the objects


def fill(plane: ControlPlane) -> None:
    """Make all objects, and wait until the API server lists them."""
    client, store = plane.client, _Store(f"http://{HOST}:{plane.layout.port['etcd']}")
    account = {"name": "default", "namespace": "default"}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    client.create(objects.priority_class("high", 1000))
    for number in range(PRIORITIES):
        client.create(objects.priority_class(f"low-{number}", number))
    node = objects.node(_node(0), cpu=str(4 * PODS_PER_NODE), labels={"rack": "r"})
    uid = client.create(node)["metadata"]["uid"]
    others = ({_node(0): _node(i), uid: f"{i:08x}{uid[8:]}"} for i in range(1, NODES))
    store.put_all(store.get("minions", _node(0)), "minions", others)
    for number in range(PRIORITIES):
        _pods(plane, store, number)
    client.create(objects.pod_group("hero", min_count=GANG, priority_class="high"))
    for number in range(GANG):
        client.create(objects.pod(f"hero-{number}", cpu="2", group="hero", priority_class="high"))
    deadline = time.monotonic() + LIMIT_SECONDS
    while _count(plane, "pods") < NODES * PODS_PER_NODE + GANG or _count(plane, "nodes") < NODES:
        if time.monotonic() > deadline:
            raise TimeoutError("the API server does not list the objects")
        time.sleep(1)


def _pods(plane: ControlPlane, store: _Store, number: int) -> None:
    """All pods of one priority."""
    body = objects.pod(
        _pod(number), cpu="4", node_name=_node(number), priority_class=f"low-{number}", labels={"app": "a"}
    )
    made = plane.client.create(body)
    status: Json = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    path = f"/api/v1/namespaces/default/pods/{_pod(number)}/status"
    plane.client.request("PATCH", path, {"status": status}, "application/merge-patch+json")
    uid = made["metadata"]["uid"]
    others = range(number + PRIORITIES, NODES * PODS_PER_NODE, PRIORITIES)
    names = (
        {_pod(number): _pod(i), _node(number): _node(i % NODES), uid: f"{i:08x}{uid[8:]}"} for i in others
    )
    store.put_all(store.get("pods/default", _pod(number)), "pods/default", names)


def _node(number: int) -> str:
    return f"node-{number:05}"


def _pod(number: int) -> str:
    return f"pod-{number:06}"


def _count(plane: ControlPlane, resource: str) -> int:
    """How many objects a list has."""
    page = plane.client.request("GET", f"/api/v1/{resource}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


class _Store:
    """etcd, by its JSON gateway."""

    def __init__(self, url: str) -> None:
        self._client = Client(url)

    def get(self, folder: str, name: str) -> bytes:
        """The bytes of an object."""
        key = _encoded(f"/registry/{folder}/{name}".encode())
        answer = self._client.request("POST", "/v3/kv/range", {"key": key})
        return base64.b64decode(answer["kvs"][0]["value"])

    def put_all(self, value: bytes, folder: str, copies: Iterator[Mapping[str, str]]) -> None:
        """Write copies of the value in which some texts are others of the same length. The first text is the name."""
        puts: list[Json] = []
        for texts in copies:
            copy = value
            for old, new in texts.items():
                copy = copy.replace(old.encode(), new.encode())
            key = f"/registry/{folder}/{next(iter(texts.values()))}"
            puts.append({"requestPut": {"key": _encoded(key.encode()), "value": _encoded(copy)}})
            if len(puts) == AT_ONCE:
                self._send(puts)
                puts = []
        self._send(puts)

    def _send(self, puts: list[Json]) -> None:
        self._client.request("POST", "/v3/kv/txn", {"success": puts})


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
