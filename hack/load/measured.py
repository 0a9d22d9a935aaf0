"""Runs a load, measures it, and prints the result."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from hack.load.api import Api
from hack.load.bare import send_bare
from hack.load.generator import STALL_SECONDS, Load, Ran, place
from hack.load.measures import Usage, processes_used, quantile, usage_of, writes
from hack.load.needed import Preemptions
from hack.load.shape import Owner, Shape

__all__ = ["Measured", "measure", "measure_bare", "print_measured", "used_table"]

GENERATOR: Final = "load"
"""The name of this process among those that are measured."""


@dataclass
class Measured:
    """What a load took."""

    size: int
    """Workloads."""
    ran: Ran
    writes: Counter[str]
    """All writes that the API server has answered with 2xx, by `VERB resource/subresource`; empty if that is not
    known."""
    used: dict[str, Usage]
    """By process."""

    @property
    def patches(self) -> int:
        """All writes but the creations of the Workloads."""
        return self.writes.total() - self.size

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "perSecond": self.size / self.ran.wall}


async def measure(
    kubeconfig: Path,
    shape: Shape,
    name: str,
    *,
    processes: Mapping[str, int],
    keep: bool = False,
    stall_seconds: float = STALL_SECONDS,
    owner: Owner | None = None,
    preemptions: Preemptions | None = None,
) -> Measured:
    """Run the load. `processes`: pids on this machine, by name. With `keep` nothing is deleted afterwards. `owner`: see
    `Load`. `preemptions`: what follows the writes.

    Raises StalledError, RefusedError, and OSError for a pid that does not exist.
    """
    pids = {**processes, GENERATOR: os.getpid()}
    async with Api.connect(kubeconfig) as api, place(api, shape, name, keep=keep):
        before, used = await writes(api), {each: usage_of(pid) for each, pid in pids.items()}
        async with preemptions.followed(api, name) if preemptions is not None else nullcontext():
            ran = await Load(api, shape, name, stall_seconds=stall_seconds, owner=owner).run()
        after = {each: usage_of(pid) for each, pid in pids.items()}
        return Measured(shape.size, ran, await writes(api) - before, processes_used(used, after))


async def measure_bare(
    kubeconfig: Path,
    shape: Shape,
    name: str,
    *,
    patches: int,
    processes: Mapping[str, int],
    keep: bool = False,
) -> tuple[float, dict[str, Usage]]:
    """Send the same writes while nobody manages (see `send_bare`). Returns the seconds, and what processes used."""
    pids = {**processes, GENERATOR: os.getpid()}
    async with Api.connect(kubeconfig) as api, place(api, shape, name, with_queues=False, keep=keep):
        used = {each: usage_of(pid) for each, pid in pids.items()}
        wall = await send_bare(api, shape, name, patches=patches)
        return wall, processes_used(used, {each: usage_of(pid) for each, pid in pids.items()})


def print_measured(console: Console, measured: Measured) -> None:
    """Print the tables."""
    ran, size = measured.ran, measured.size
    console.print(
        f"{size:,} Workloads in {ran.wall:.1f} s: {size / ran.wall:.1f} Workloads/s, "
        f"{sum(ran.evictions.values()):,} evictions, {ran.conflicts} conflicts"
    )
    classes = Table("class", "Workloads", "p50 s to admission", "p99", "evictions")
    for name, seconds in ran.to_admission.items():
        quantiles = (f"{quantile(seconds, at):.2f}" for at in (0.5, 0.99))
        classes.add_row(name, str(len(seconds)), *quantiles, str(ran.evictions[name]))
    console.print(classes)
    kinds = Table("write", "in all", "per Workload", "by the load")
    own = {
        "POST workloads": ran.sent["create"],
        "APPLY workloads/status": ran.sent["finish"],
        "PATCH workloads/status": ran.sent["end"],
    }
    for kind, count in sorted(measured.writes.items(), key=lambda each: -each[1]):
        kinds.add_row(kind, f"{count:,}", f"{count / size:.2f}", f"{own.get(kind, 0):,}")
    total = measured.writes.total()
    kinds.add_row("all", f"{total:,}", f"{total / size:.2f}", f"{ran.sent.total():,}")
    console.print(kinds)
    console.print(used_table(measured.used, size))


def used_table(used: Mapping[str, Usage], size: int) -> Table:
    """CPU and memory of the processes."""
    table = Table("process", "CPU s", "CPU ms per Workload", "peak MiB")
    for name, usage in used.items():
        table.add_row(name, f"{usage.cpu:.1f}", f"{usage.cpu / size * 1000:.2f}", f"{usage.peak:.0f}")
    return table
