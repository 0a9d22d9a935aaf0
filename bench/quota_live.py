"""The quota controller under the shape of Kueue's own load test, on a real etcd and API server.

SIZE=0.2 (by default) takes a fifth of the 15,000 Workloads.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import orjson
from rich.console import Console
from rich.table import Table

from hack.controlplane.plane import ControlPlane, Options
from hack.load.generator import Recorded, bare_writes, run_load
from kube.client import ApiClient

__all__ = ["run"]

NAMESPACE: Final = "load"
TICKS: Final = os.sysconf("SC_CLK_TCK")
PROCESSES: Final = ("reprieve", "kube-apiserver", "etcd")


def run(console: Console) -> bool:
    """Measure and print. Returns whether all Workloads were finished."""
    share = float(os.environ.get("SIZE", "0.2"))
    options = Options(
        reprieve=True,
        api_only=True,
        reprieve_settings={"quota": {"mode": "Enforce"}},
        manifests=("crds", "kueue-crds", "base", "quota"),
    )
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder), options) as plane:
        plane.start_reprieve()
        before, began = _cpu(plane), time.monotonic()
        recorded = asyncio.run(_load(plane, share))
        used = {name: seconds - before[name] for name, seconds in _cpu(plane).items()}
        memory = _memory(plane)
        writes = _writes(plane)
        plane.reprieve.stop()
        patches = 2
        bare = asyncio.run(_bare(plane, recorded.finished, patches))
    _print(console, recorded, used, memory, writes, bare, time.monotonic() - began)
    return recorded.finished > 0


async def _load(plane: ControlPlane, share: float) -> Recorded:
    async with ApiClient.connect(plane.kubeconfig) as client:
        return await run_load(client, NAMESPACE, share)


async def _bare(plane: ControlPlane, count: int, patches: int) -> float:
    async with ApiClient.connect(plane.kubeconfig) as client:
        return await bare_writes(client, NAMESPACE, count, patches)


def _cpu(plane: ControlPlane) -> dict[str, float]:
    """CPU seconds of each process so far."""
    return {name: _times(plane.processes[name].pid) for name in PROCESSES}


def _times(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _memory(plane: ControlPlane) -> float:
    """Resident MiB of reprieve."""
    status = Path(f"/proc/{plane.reprieve.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def _writes(plane: ControlPlane) -> Counter[str]:
    """Reprieve's writes that succeeded, by what they are to."""
    counted: Counter[str] = Counter()
    for line in plane.audit_log.read_bytes().splitlines():
        entry = orjson.loads(line)
        if entry.get("stage") != "ResponseComplete" or entry["verb"] not in (
            "create",
            "patch",
            "update",
            "delete",
        ):
            continue
        ref = entry.get("objectRef", {})
        if entry.get("responseStatus", {}).get("code", 0) < 300:
            counted[f"{ref.get('resource')}/{ref.get('subresource', '')}".rstrip("/")] += 1
    return counted


def _print(
    console: Console,
    recorded: Recorded,
    used: dict[str, float],
    memory: float,
    writes: Counter[str],
    bare: float,
    _seconds: float,
) -> None:
    count = max(1, recorded.finished)
    table = Table("", "", title=f"{recorded.finished} Workloads, {recorded.evictions} evictions")
    table.add_row("wall time", f"{recorded.seconds:.1f} s, {count / recorded.seconds:.0f} Workloads/s")
    table.add_row("the same number of writes, bare", f"{bare:.1f} s ({recorded.seconds / bare:.2f} times)")
    for name, waits in recorded.waits.items():
        p50, p99 = _quantiles(waits)
        table.add_row(f"to admission, {name}", f"p50 {p50:.1f} s, p99 {p99:.1f} s")
    for name, seconds in used.items():
        table.add_row(f"CPU of {name}", f"{seconds:.1f} s, {1000 * seconds / count:.2f} ms a Workload")
    table.add_row("memory of reprieve", f"{memory:.0f} MiB")
    for name, number in writes.most_common():
        table.add_row(f"our writes: {name}", f"{number} ({number / count:.2f} a Workload)")
    for name, number in recorded.writes.items():
        table.add_row(f"the generator's writes: {name}", f"{number} ({number / count:.2f} a Workload)")
    console.print(table)


def _quantiles(values: list[float]) -> tuple[float, float]:
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    return statistics.median(values), statistics.quantiles(values, n=100)[98]
