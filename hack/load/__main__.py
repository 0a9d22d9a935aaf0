"""`python -m hack.load`: the load on any cluster where somebody admits Workloads, such as Kueue."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import Console

from hack.load.api import RefusedError
from hack.load.generator import STALL_SECONDS, StalledError
from hack.load.measured import measure, measure_bare, print_measured, used_table
from hack.load.shape import KUEUE, SLOW, Shape


def _pids(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    pids = {}
    for value in values:
        name, _, pid = value.partition("=")
        if not name or not pid.isdecimal():
            raise click.BadParameter(f"{value} is not NAME=PID")
        pids[name] = int(pid)
    return pids


KUBECONFIG = click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True
)
SIZE = click.option("--size", default=KUEUE.size, show_default=True, help="Number of Workloads, about.")
COHORTS = click.option("--cohorts", default=KUEUE.cohorts, show_default=True, help="Cohorts.")
QUEUES = click.option("--queues", default=KUEUE.queues, show_default=True, help="ClusterQueues in each.")
PROCESSES = click.option(
    "--process",
    "processes",
    multiple=True,
    callback=_pids,
    metavar="NAME=PID",
    help="A process on this machine whose CPU and memory are measured, such as the API server.",
)
KEEP = click.option("--keep", is_flag=True, help="Delete nothing afterwards.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Make Workloads, finish them, end their evictions, and measure what that takes."""


@main.command()
@KUBECONFIG
@SIZE
@COHORTS
@QUEUES
@PROCESSES
@KEEP
@click.option(
    "--stall",
    default=STALL_SECONDS,
    show_default=True,
    help="Give up after this many seconds without a change.",
)
@click.option(
    "--slow-owner", "slow", is_flag=True, help="Finish and end Workloads as a busy controller does."
)
@click.option(
    "--json", "output", type=click.Path(path_type=Path), metavar="FILE", help="Write the numbers there."
)
def run(
    kubeconfig: Path,
    size: int,
    cohorts: int,
    queues: int,
    processes: dict[str, int],
    keep: bool,
    stall: float,
    slow: bool,
    output: Path | None,
) -> None:
    """Run the load while somebody admits Workloads."""
    shape = KUEUE.of_size(size, cohorts=cohorts, queues=queues)
    measuring = partial(
        measure,
        kubeconfig,
        shape,
        processes=processes,
        keep=keep,
        stall_seconds=stall,
        owner=SLOW if slow else None,
    )
    measured = _run(measuring, "load")
    print_measured(Console(), measured)
    if output is not None:
        output.write_text(json.dumps(measured.plain(), indent=1))


@main.command()
@KUBECONFIG
@SIZE
@COHORTS
@QUEUES
@PROCESSES
@KEEP
@click.option("--patches", type=int, required=True, help="Status patches in all.")
def bare(
    kubeconfig: Path,
    size: int,
    cohorts: int,
    queues: int,
    processes: dict[str, int],
    keep: bool,
    patches: int,
) -> None:
    """Send as many writes as fast as possible. Nobody should manage Workloads meanwhile."""
    shape: Shape = KUEUE.of_size(size, cohorts=cohorts, queues=queues)
    sending = partial(measure_bare, kubeconfig, shape, patches=patches, processes=processes, keep=keep)
    wall, used = _run(sending, "bare")
    console = Console()
    console.print(f"{shape.size + patches:,} writes in {wall:.1f} s: {(shape.size + patches) / wall:.0f}/s")
    console.print(used_table(used, shape.size))


def _run(what: Callable[[str], Any], name: str) -> Any:
    """Run it in a place with a name of its own."""
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(what(f"{name}-{secrets.token_hex(3)}"))
    except (StalledError, RefusedError, ValueError, OSError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main(prog_name="python -m hack.load")
