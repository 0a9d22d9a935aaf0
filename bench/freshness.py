"""How long a new leader looks before its first write, on a real API server (`runtime/mirror/freshness.py`).

The cluster is quiet, which is the worst case: no event tells the watches that they are new. So every object is listed,
page by page, as metadata only, and compared with the mirror. The pods have as much metadata as real ones.

REPRIEVE_BENCH_PODS has the numbers of pods, with commas.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

import structlog
from rich.console import Console
from rich.table import Table

from api.clock import SYSTEM_CLOCK
from hack.controlplane import objects
from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from kube.client import ApiClient
from runtime.mirror.freshness import catch_up
from runtime.mirror.views import Views
from runtime.mirror.watched_tables import WatchedTables

__all__ = ["run"]

SIZES: Final = os.environ.get("REPRIEVE_BENCH_PODS", "2000,20000")
METADATA_BYTES: Final = 1500
"""Added to each pod as an annotation: what a kubelet and controllers leave in managedFields."""
ROUNDS: Final = 5


def run(console: Console) -> bool:
    """Print the table."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    console.print("[bold]A new leader looks first[/]: a quiet cluster, a real API server")
    table = Table("pods", "median s", "longest s", "CPU s of reprieve")
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), Options(api_only=True)) as plane,
    ):
        # No controller creates it on this plane, and admission of pods wants it.
        meta = {"name": "default", "namespace": "default"}
        plane.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        there = 0
        for size in map(int, SIZES.split(",")):
            with console.status(f"{size:,} pods"):
                _create(plane.client, range(there, size))
                there = max(there, size)
                walls, processor = asyncio.run(_measure(plane.kubeconfig))
            table.add_row(
                f"{size:,}",
                f"{statistics.median(walls):.2f}",
                f"{max(walls):.2f}",
                f"{processor / ROUNDS:.2f}",
            )
    console.print(table)
    return True


def _create(client: Client, numbers: range) -> None:
    annotations = {"example.com/metadata": "x" * METADATA_BYTES}
    client.create_all(objects.pod(f"pod-{number:06}", annotations=annotations) for number in numbers)


async def _measure(kubeconfig: Path) -> tuple[list[float], float]:
    """The seconds of each round, and the CPU seconds of all."""
    async with ApiClient.connect(kubeconfig) as client:
        views = Views(client)
        mirror = WatchedTables(views)
        running = asyncio.create_task(views.run())
        try:
            await mirror.wait_synced()
            walls, processor = [], time.process_time()
            for _ in range(ROUNDS):
                began = time.monotonic()
                await catch_up(client, mirror.views, began, SYSTEM_CLOCK)
                walls.append(time.monotonic() - began)
            return walls, time.process_time() - processor
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
