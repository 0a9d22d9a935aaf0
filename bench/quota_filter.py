"""What the quota plane at full load costs the filter verb of the same process.

A caller asks filter 50 times a second. In one run the process has the quota plane, and the load of `bench quota-live`
runs. In the other run `quota.mode` is Off, and the same writes are sent bare, so that the API server uses the machine
as much. SIZE is the number of Workloads.

`--lag`: the first run alone, and who kept the loop from polling for longer than 2 ms.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvloop
from rich.console import Console
from rich.table import Table

from bench import lag
from bench.metrics import quantile
from hack.controlplane import objects
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.load.measured import measure, measure_bare
from hack.load.shape import KUEUE

__all__ = ["run", "run_lag"]

SIZE: Final = int(os.environ.get("SIZE") or 3_000)
NODES: Final = 500
AIM: Final = 2.0
"""For the ratio of the 99th percentiles."""
QUANTILES: Final = (0.5, 0.9, 0.99)
MOST_NAMES: Final = 25


def run_lag(console: Console) -> bool:
    """Print who held the loop. Returns whether all calls were answered and all Workloads finished."""
    shape = KUEUE.of_size(SIZE)
    console.print(f"[bold]The loop beside quota[/]: {shape.size:,} Workloads, calls with {NODES} nodes")
    with tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder:
        file = Path(folder, "lag.json")
        with (
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            console.status("the quota plane works"),
            _plane("Enforce", [sys.executable, "-m", "bench.lag", str(file)]) as plane,
            _Caller(plane) as caller,
        ):
            runner.run(measure(plane.kubeconfig, shape, "load", processes={}, keep=True))
            calls = caller.end()
            plane.reprieve.stop()
        number, held = lag.read(file)
    late = held[lag.REST].turns
    console.print(f"{number:,} turns of the loop; {late:,} were longer than {lag.LATE_SECONDS * 1e3:g} ms")
    table = Table("in these turns", "turns", "ms in all", "CPU ms", "longest ms")
    for name, each in sorted(held.items(), key=lambda item: -item[1].seconds)[:MOST_NAMES]:
        times = (f"{each.seconds * 1e3:.0f}", f"{each.cpu * 1e3:.0f}", f"{each.longest * 1e3:.1f}")
        table.add_row(name, str(each.turns), *times)
    console.print(table)
    return bool(calls)


def run(console: Console) -> bool:
    """Print the table. Returns whether all calls were answered and all Workloads finished."""
    shape = KUEUE.of_size(SIZE)
    console.print(f"[bold]filter beside quota[/]: {shape.size:,} Workloads, calls with {NODES} nodes")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        with console.status("the quota plane works"), _plane("Enforce") as plane, _Caller(plane) as caller:
            measured = runner.run(measure(plane.kubeconfig, shape, "load", processes={}, keep=True))
            busy = caller.end()
        with (
            console.status("the same writes are sent bare"),
            _plane("Off") as plane,
            _Caller(plane) as caller,
        ):
            runner.run(
                measure_bare(
                    plane.kubeconfig, shape, "bare", patches=measured.patches, processes={}, keep=True
                )
            )
            alone = caller.end()
    table = Table("quota.mode", "calls", "p50 ms", "p90", "p99")
    for name, times in (("Enforce", busy), ("Off, the same writes sent bare", alone)):
        table.add_row(name, str(len(times)), *(f"{quantile(times, at) * 1e3:.2f}" for at in QUANTILES))
    ratios = (f"{quantile(busy, at) / quantile(alone, at):.2f}" for at in QUANTILES)
    table.add_row(f"ratio, aim {AIM:.0f} for p99", "", *ratios)
    console.print(table)
    return bool(busy and alone)


@contextmanager
def _plane(mode: str, command: Sequence[str] = ()) -> Iterator[ControlPlane]:
    """A control plane with nodes, and reprieve with the extender and this `quota.mode`. `command`: by default that of
    this environment."""
    options = Options(
        api_only=True,
        reprieve=True,
        manifests=QUOTA_FOLDERS,
        reprieve_settings={"quota": {"mode": mode}},
        reprieve_command=command,
    )
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), options) as plane,
    ):
        plane.client.create_all(objects.node(f"n{number:04}") for number in range(NODES))
        plane.start_reprieve()
        yield plane


class _Caller:
    """Calls filter while the context lasts."""

    def __init__(self, plane: ControlPlane) -> None:
        arguments = (str(plane.layout.port["reprieve"]), str(plane.directory / "extender-pki"), str(NODES))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.filter_caller", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> _Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self) -> Sequence[float]:
        """The seconds of each call. Raises RuntimeError if a call was not answered."""
        output, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError("a call of filter was not answered")
        times: list[float] = json.loads(output)
        return times
