"""The quota plane on a real API server: the shape of Kueue's own load test, and the same writes sent bare.

Only etcd, the API server, reprieve (quota.mode Enforce) and the load run. Then reprieve ends, and as many writes are
sent by the load alone. SIZE is the number of Workloads. ROWS leaves rows out:

- load: in this environment
- image: the same in an environment that has what the image has
- slow: with owners that finish and end Workloads as a busy controller does. It is said of each preemption whether the
  newest state before its write needed it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import uvloop
from rich.console import Console

from bench.image_environment import command_of, environment
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.load.generator import StalledError
from hack.load.measured import Measured, measure, measure_bare, print_measured, used_table
from hack.load.needed import Judged, Preemptions, judge
from hack.load.shape import KUEUE, SLOW, Owner

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or KUEUE.size)
ROWS: Final = (os.environ.get("ROWS") or "load,image,slow").split(",")
SHAPE: Final = KUEUE.of_size(SIZE)
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
    console.print(
        f"[bold]Quota, live[/]: {SHAPE.size:,} Workloads in {SHAPE.cohorts * SHAPE.queues} ClusterQueues"
    )
    rows = {"load": _load, "image": _image, "slow": _slow}
    try:
        for name in ROWS:
            rows[name](console)
    except StalledError as error:
        console.print(f"[red]stalled[/]: {error}")
        return False
    return True


def _load(console: Console) -> None:
    with _Row() as row:
        measured = row.measured(console)
        print_measured(console, measured)
        row.plane.reprieve.stop()
        with console.status("the same writes are sent bare"):
            wall, used = row.runner.run(
                measure_bare(
                    row.plane.kubeconfig,
                    SHAPE,
                    "bare",
                    patches=measured.patches,
                    processes=row.servers,
                    keep=True,
                )
            )
    console.print(
        f"the same writes sent bare: {wall:.1f} s; ours / bare {measured.ran.wall / wall:.2f}, aim {RATIO}"
    )
    console.print(used_table(used, SHAPE.size))


def _image(console: Console) -> None:
    with tempfile.TemporaryDirectory(prefix="reprieve-image-") as folder:
        with console.status("an environment is made that has what the image has"):
            python, loop = environment(Path(folder))
        console.print(f"[bold]In the environment of the image[/], whose loop is {loop}")
        with _Row(command_of(python)) as row:
            print_measured(console, row.measured(console))


def _slow(console: Console) -> None:
    console.print(
        f"[bold]Slow owners[/]: {SLOW.at_once} works at a time, {SLOW.seconds:g} s each before its write"
    )
    with _Row() as row:
        preemptions = Preemptions()
        print_measured(console, row.measured(console, SLOW, preemptions))
    console.print(_said(judge(preemptions.seen, SHAPE)))


def _said(judged: Judged) -> str:
    """What is printed of the preemptions."""
    all_ = judged.needed + len(judged.needless)
    text = f"{all_} preemptions; {len(judged.needless)} were not needed by the newest state before the write"
    if judged.needless:
        times = sorted(round(each * 1000) for each in judged.needless)
        text += f", for that long (ms): {', '.join(map(str, times))}"
    return text


class _Row:
    """A control plane with reprieve, and a loop for the load."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        """`command`: of reprieve, by default that of this environment."""
        self._command = command
        self._stack = ExitStack()

    def __enter__(self) -> _Row:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
            options = Options(
                api_only=True,
                manifests=QUOTA_FOLDERS,
                reprieve_settings=SETTINGS,
                reprieve_command=self._command,
            )
            self.plane = stack.enter_context(ControlPlane(folder, options))
            self.plane.start_reprieve()
            self.runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
            self.servers = {name: self.plane.processes[name].pid for name in SERVERS}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def measured(
        self, console: Console, owner: Owner | None = None, preemptions: Preemptions | None = None
    ) -> Measured:
        """Run the load. Raises StalledError."""
        processes = {"reprieve": self.plane.reprieve.pid, **self.servers}
        with console.status("the load runs"):
            return self.runner.run(
                measure(
                    self.plane.kubeconfig,
                    SHAPE,
                    "load",
                    processes=processes,
                    keep=True,
                    owner=owner,
                    preemptions=preemptions,
                )
            )
