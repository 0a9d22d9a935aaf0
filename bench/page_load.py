"""What the process of the page takes: memory, CPU and time, with readers whose rights differ."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Final

from bench.metrics import quantile
from bench.page_children import HOST, Page, Stub, page, readers
from bench.page_figures import Figure, delays
from bench.page_process import Used
from bench.page_readers import Heard
from bench.page_world import ADMINISTRATOR, KINDS_OF_READERS, QUEUE, World, wait_name, waits_in

__all__ = ["answers", "deployment", "loads", "memory_of_mirror"]

STREAMS: Final = 200
SILENT: Final = 20
PODS_A_SECOND: Final = 100
GAP: Final = 0.2
"""Seconds between two changes. Each changes several pods: so it is known which event shows which change."""
LEAST_SECONDS: Final = 10
ADMINISTRATORS: Final = 8
SLOW: Final = 60.0
ASKED: Final = 30
"""Questions of a kind. Each user may ask 30 a minute."""


@dataclass
class Asking:
    """Asks a page as several users, so that no limit of a user counts."""

    port: int
    tokens: Iterator[str] = field(
        default_factory=lambda: cycle(f"{ADMINISTRATOR}{number}" for number in range(ADMINISTRATORS))
    )

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[float, bytes]:
        """The seconds until the answer was there, and its body as it came."""
        return self._ask("GET", path, None, headers or {})

    def post(self, path: str, body: str) -> tuple[float, bytes]:
        """See `get`."""
        return self._ask("POST", path, body.encode(), {"Content-Type": "application/json"})

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[float, bytes]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=SLOW)
        began = time.perf_counter()
        headers = {**headers, "Authorization": f"Bearer {next(self.tokens)}"}
        connection.request(method, f"/api/v1/{path}", body, headers)
        answer = connection.getresponse()
        read = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:300]!r}")
        return time.perf_counter() - began, read


def memory_of_mirror(stub: Stub) -> Used:
    """What the mirror alone uses."""
    with page("mirror", stub.kubeconfig) as mirror:
        time.sleep(1.0)
        return mirror.used()


def deployment(pods: int, queue: bool = False, cpu: str = "60") -> str:
    """A Deployment of a team, whose pods are more important than those that run."""
    meta: dict[str, Any] = {"name": "submitted", "namespace": "namespace-0", "labels": {}}
    if queue:
        meta["labels"]["kueue.x-k8s.io/queue-name"] = QUEUE
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app": "submitted"}
    spec = {
        "replicas": pods,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})


def gang(pods: int) -> str:
    """A Job whose pods start together, and take all of a node each."""
    meta = {"name": "submitted", "namespace": "namespace-0"}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "60"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], "priority": 1000}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})


def answers(asking: Asking, world: World) -> list[Figure]:
    """How long questions take, while nothing changes."""
    figures = []
    why = [
        asking.get(f"why/podgroup/{waits_in(each)}/{wait_name(each)}")[0]
        for each in range(min(ASKED, world.with_members))
    ]
    figures.append(Figure("why, p95", quantile(why, 0.95), 0.5, "s"))
    size = min(64, world.size.nodes // 4)
    bodies = {
        f"what-if, p95: a Job of {size} pods": (gang(size), 10),
        "what-if: a Deployment of 1,000 pods": (deployment(1000, cpu="1"), 3),
        "what-if: the same in a queue": (deployment(1000, queue=True, cpu="1"), 1),
    }
    for what, (body, times) in bodies.items():
        taken, refused = [], 0
        for _ in range(times):
            began = time.perf_counter()
            try:
                asking.post("what-if", body)
            except RuntimeError:  # there is a limit for how long it may take
                refused += 1
            taken.append(time.perf_counter() - began)
        says = f"no answer to {refused} of {times}" if refused else ""
        figures.append(Figure(what, quantile(taken, 0.95), 1.0, "s", remark=says))
    seconds, packed = asking.get("map", {"Accept-Encoding": "gzip"})
    parts = len(json.loads(gzip.decompress(packed))["parts"]["node"])
    figures.append(Figure("map, gzipped", len(packed) / 1000, 700, "kB", remark=f"{parts:,} parts"))
    figures.append(Figure("map, the first one", seconds, None, "s"))
    return figures


def loads(stub: Stub, there: Page, world: World, mirror: Used) -> list[Figure]:
    """What many readers take, who follow what changes. The page has answered before."""
    seconds = max(LEAST_SECONDS, min(world.size.seconds, 30))
    time.sleep(2.0)
    alone = there.used()
    figures = [
        Figure(
            "memory, of the mirror's",
            alone.resident / mirror.resident,
            1.4,
            remark=f"{alone.resident / 2**20:,.0f} MiB of {mirror.resident / 2**20:,.0f} MiB",
        ),
        Figure("its highest memory, of the mirror's", alone.peak / mirror.peak, None),
    ]
    with readers(there.port, STREAMS, 0) as child:
        _changed(stub, there, child.ask, 3)
        opened = there.used()
        share = max(0, opened.resident - alone.resident) / STREAMS / 1024
        figures.append(Figure("memory of a client", share, 64, "KiB"))
        figures += _changed(stub, there, child.ask, seconds)
    what = f"the same, with what-if, and {SILENT} more clients that do not read"
    with readers(there.port, STREAMS, SILENT) as child, _asking_all_the_time(there.port):
        there.used()
        figures += _changed(stub, there, child.ask, seconds, what)
    return figures


def _changed(
    stub: Stub, there: Page, ask: Callable[[type[Heard]], Heard], seconds: int, what: str = ""
) -> list[Figure]:
    """What it takes to tell all streams what changes in these seconds."""
    ask(Heard)
    there.used()
    began = time.monotonic()
    sent = [at for at, _ in stub.change(round(PODS_A_SECOND * GAP), round(seconds / GAP), GAP)]
    time.sleep(GAP)
    used, took = there.used(), time.monotonic() - began
    time.sleep(1.5)
    heard = ask(Heard)
    late = delays([*sent, time.monotonic()], heard.at)
    events = sum(map(len, heard.at)) / len(heard.at) / took
    each = heard.count / len(heard.at) / took / 1000
    who = f"{STREAMS} streams of {KINDS_OF_READERS} kinds of readers, {PODS_A_SECOND} pods a second"
    worst = ", ".join(f"{stop * 1000:.0f}" for stop in used.stops[:5])
    prefix = "while it answers what-if, and clients do not read: " if what else ""
    return [
        Figure(f"{prefix}share of a core", used.cpu / took, None if what else 0.5, remark=what or who),
        Figure(
            f"{prefix}from the watch event to the last client, p95", 1000 * quantile(late, 0.95), 100, "ms"
        ),
        Figure(
            f"{prefix}longest stop of the loop",
            1000 * max(used.stops, default=0.0),
            20,
            "ms",
            remark=f"the longest: {worst}",
        ),
        Figure(f"{prefix}most work of the loop in one go", 1000 * used.work, None, "CPU ms"),
        Figure(f"{prefix}events for a stream, a second", events, None, "", remark=f"{each:.1f} kB a second"),
    ]


@contextmanager
def _asking_all_the_time(port: int) -> Iterator[None]:
    """Somebody asks what-if again and again while the context lasts. Refusals because of limits do not matter."""
    ends = threading.Event()

    def ask() -> None:
        asking, body = Asking(port), gang(64)
        while not ends.wait(0.05):
            try:
                asking.post("what-if", body)
            except RuntimeError:
                ends.wait(1.0)

    thread = threading.Thread(target=ask, name="asks what-if")
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
