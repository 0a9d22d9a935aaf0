"""The quota plane on a real API server: the shape of Kueue's own load test, and the same writes sent bare.

Only etcd, the API server, reprieve (quota.mode Enforce) and the load run. Then reprieve ends, and as many writes are
sent by the load alone. SIZE is the number of Workloads.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import uvloop
from rich.console import Console

from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.load.generator import StalledError
from hack.load.measured import measure, measure_bare, print_measured, used_table
from hack.load.shape import KUEUE

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or KUEUE.size)
SETTINGS: Final[dict[str, Any]] = {
    "extender": None,
    "planning": {"mode": "Off"},
    "quota": {"mode": "Enforce"},
}
SERVERS: Final = ("kube-apiserver", "etcd")
RATIO: Final = 1.4
"""The aim for the wall time, in wall times of the bare writes."""


def run(console: Console) -> bool:
    """Print the tables. Returns whether every Workload has finished."""
    shape = KUEUE.of_size(SIZE)
    console.print(
        f"[bold]Quota, live[/]: {shape.size:,} Workloads in {shape.cohorts * shape.queues} ClusterQueues"
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        options = Options(api_only=True, manifests=QUOTA_FOLDERS, reprieve_settings=SETTINGS)
        plane = stack.enter_context(ControlPlane(folder, options))
        plane.start_reprieve()
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        servers = {name: plane.processes[name].pid for name in SERVERS}
        with console.status("the load runs"):
            try:
                measured = runner.run(
                    measure(
                        plane.kubeconfig,
                        shape,
                        "load",
                        processes={"reprieve": plane.reprieve.pid, **servers},
                        keep=True,
                    )
                )
            except StalledError as error:
                console.print(f"[red]stalled[/]: {error}")
                return False
        print_measured(console, measured)
        plane.reprieve.stop()
        with console.status("the same writes are sent bare"):
            wall, used = runner.run(
                measure_bare(
                    plane.kubeconfig, shape, "bare", patches=measured.patches, processes=servers, keep=True
                )
            )
    console.print(
        f"the same writes sent bare: {wall:.1f} s; ours / bare {measured.ran.wall / wall:.2f}, aim {RATIO}"
    )
    console.print(used_table(used, shape.size))
    return True
