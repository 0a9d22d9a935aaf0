"""How much memory the quota plane needs: 50,000 Workloads in 1,000 ClusterQueues.

They are there before reprieve starts, which lists them all. Four of the fifty Workloads of each ClusterQueue get quota.
SIZE is the number of Workloads.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.metrics import reprieve_metrics
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.load.measures import usage_of
from hack.load.objects import local_queue_names, queues, workload
from hack.load.shape import Class, Shape

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or 50_000)
EACH: Final = 50
"""Workloads of a ClusterQueue."""
FIT: Final = 4
IN_COHORT: Final = 10
NAME: Final = "load"
LIMIT_SECONDS: Final = 1200.0
SETTLE_SECONDS: Final = 15.0
AIM: Final = 1024
"""MiB."""
OPTIONS: Final = Options(
    api_only=True,
    manifests=QUOTA_FOLDERS,
    reprieve_settings={"extender": None, "planning": {"mode": "Off"}, "quota": {"mode": "Enforce"}},
)
ADMITTED: Final = "kueue_admitted_workloads_total"


def run(console: Console) -> bool:
    """Print the peak. Returns whether all that fits was admitted."""
    of = Class("all", EACH, cpu=1, seconds=0.0, priority=0, interval=0.0)
    shape = Shape(max(1, SIZE // EACH // IN_COHORT), IN_COHORT, (of,), cpu=FIT)
    names = local_queue_names(shape)
    console.print(f"[bold]Memory of quota[/]: {shape.size:,} Workloads in {len(names):,} ClusterQueues")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, OPTIONS))
        stack.enter_context(console.status("Workloads come"))
        plane.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
        plane.client.create_all(queues(shape, NAME))
        plane.client.create_all(
            workload(f"{name}-{number}", NAME, name, of) for name in names for number in range(EACH)
        )
        began = time.monotonic()
        plane.start_reprieve()
        ready = time.monotonic() - began
        admitted = _wait_admitted(plane, len(names) * FIT)
        time.sleep(SETTLE_SECONDS)
        usage = usage_of(plane.reprieve.pid)
    console.print(
        f"ready after {ready:.1f} s, {admitted:,} admitted after {time.monotonic() - began - SETTLE_SECONDS:.0f} s, "
        f"{usage.cpu:.0f} s of CPU, at most {usage.peak:.0f} MiB, aim {AIM}"
    )
    return admitted == len(names) * FIT


def _wait_admitted(plane: ControlPlane, wanted: int) -> int:
    """How many were admitted, once these are, or the time is over."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while (admitted := _admitted(plane)) < wanted and time.monotonic() < deadline:
        time.sleep(1.0)
    return admitted


def _admitted(plane: ControlPlane) -> int:
    return round(sum(value for (name, _), value in reprieve_metrics(plane).items() if name == ADMITTED))
