"""The admission server: reviews per second beside a handler that allows everything, and the time it adds to an apply.

Listener and load run in a process each, with open TLS connections. Every figure is the median of several rounds. In a
round the two listeners take turns, because other programs on the machine slow down either of them for a while.
"""

from __future__ import annotations

import ssl
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.listener import listening
from bench.load import Request, load
from bench.webhook_listener import Kind
from bench.webhook_objects import NAMESPACE, REVIEWS, workload
from hack.controlplane.client import Client
from hack.controlplane.pki import Authority
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["run"]

ROUNDS: Final = 9
REQUESTS: Final = {1: 1_000, 32: 3_000}
"""The number of connections, and the number of requests in a round."""
WARM_UP: Final = 300
APPLIED: Final = 1_000
ALLOWED: Final = b'"allowed":true'
UNASKED: Final = "kube-system"
"""A namespace that the webhooks are not asked about."""


@dataclass(frozen=True)
class Round:
    """The result of one round."""

    per_second: float
    p50: float
    p99: float
    """In milliseconds."""


def run(console: Console) -> bool:
    """Print the tables. Returns whether every review was answered, and every Workload applied."""
    _reviews(console)
    _applies(console)
    return True


def _reviews(console: Console) -> None:
    table = Table(
        *("review", "bytes", "connections", "reviews/s", "empty/s", "empty / ours"),
        *("p50 ms", "p99 ms", "empty p50 ms", "empty p99 ms"),
        title="Reviews, TLS",
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        authority = Authority(folder, "bench")
        pair = authority.server("server", ["127.0.0.1"])
        certificate = folder / "both.pem"
        certificate.write_bytes(pair.certificate.read_bytes() + pair.key.read_bytes())
        context = ssl.create_default_context(cafile=authority.pair.certificate)
        ports = {kind: stack.enter_context(_listener(kind, certificate)) for kind in ("ours", "empty")}
        for (path, title), body in REVIEWS.items():
            request = Request(f"{path}?timeout=5s", body, ALLOWED)
            for connections, requests in REQUESTS.items():
                rounds: dict[str, list[Round]] = {kind: [] for kind in ports}
                for port in ports.values():
                    load(port, context, request, connections, WARM_UP)
                for _ in range(ROUNDS):
                    for kind, port in ports.items():
                        seconds, times = load(port, context, request, connections, requests)
                        rounds[kind].append(_round(seconds, times))
                table.add_row(title, f"{len(body):,}", str(connections), *_cells(rounds))
    console.print(table)


@contextmanager
def _listener(kind: Kind, certificate: Path) -> Iterator[int]:
    """Runs a listener while the context lasts, and gives its port."""
    with listening("bench.webhook_listener", kind, str(certificate)) as listener:
        yield listener.port


def _round(seconds: float, times: list[float]) -> Round:
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    return Round(len(times) / seconds, float(p50), float(p99))


def _cells(rounds: dict[str, list[Round]]) -> list[str]:
    ours, empty = rounds["ours"], rounds["empty"]
    pairs = zip(ours, empty, strict=True)
    speeds = (statistics.median(each.per_second for each in some) for some in (ours, empty))
    latencies = (
        statistics.median(figures)
        for some in (ours, empty)
        for figures in ([each.p50 for each in some], [each.p99 for each in some])
    )
    ratio = statistics.median(b.per_second / a.per_second for a, b in pairs)
    return [*(f"{each:,.0f}" for each in speeds), f"{ratio:.2f}", *(f"{each:.2f}" for each in latencies)]


def _applies(console: Console) -> None:
    """Server-side applies, in turn in a namespace that the webhook is asked about, and in one that it is not asked
    about."""
    table = Table("apply of a Workload", "p50 ms", "p99 ms", title=f"{APPLIED:,} Workloads applied, each way")
    times: dict[str, list[float]] = {NAMESPACE: [], UNASKED: []}
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), Options(api_only=True, webhooks=True)) as plane,
    ):
        for index in range(-20, APPLIED):
            for namespace, some in times.items():
                seconds = _applied(plane.client, f"w{index + 20:04}", namespace)
                if index >= 0:
                    some.append(seconds)
    results = {
        namespace: [float(each) for each in np.percentile(some, (50, 99)) * 1e3]
        for namespace, some in times.items()
    }
    for title, namespace in (("with the webhook", NAMESPACE), ("without", UNASKED)):
        table.add_row(title, *(f"{each:.2f}" for each in results[namespace]))
    pairs = zip(results[NAMESPACE], results[UNASKED], strict=True)
    table.add_row("with / without", *(f"{ours / without:.2f}" for ours, without in pairs))
    console.print(table)


def _applied(client: Client, name: str, namespace: str) -> float:
    body = workload(name, namespace)
    start = time.perf_counter()
    client.apply(body)
    return time.perf_counter() - start
