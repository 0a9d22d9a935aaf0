"""Random load on the queues of a control plane of its own, with faults, judged by the watch history.

python -m tests.e2e.stress_quota [--seconds S] [--seed K] [--runs N [--jobs | --gangs] | --orders N | --leaders N]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import click
import msgspec

from controllers.quota.configuration import QuotaConfiguration, search_options
from hack.controlplane.plane import ControlPlane, Options
from quota.search.decision import Options as SearchOptions
from tests.e2e import quota_leaders
from tests.e2e.gang_load import OPTIONS as GANGS
from tests.e2e.gang_load import GangLoad
from tests.e2e.job_load import JobLoad
from tests.e2e.quota_load import OPTIONS, SHARING, Faults, Load
from tests.e2e.quota_orders import run_order
from tests.e2e.quota_recorder import QuotaRecorder
from tests.e2e.quota_sandbox import QUOTA, QuotaSandbox
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.quota.rest import stuck
from tests.kit.quota.rules import CHECKS

__all__ = ["OPTIONS", "Result", "on_plane", "stress"]

STEP_SECONDS: Final = 0.02
FAULTS: Final = 0.03
"""The chance of a fault in a step."""
ORDERS_AT_ONCE: Final = 5
SHARES: Final = 3
"""Every third run has fair sharing."""
AWAY_SECONDS: Final = 30.0
"""How long a leader is away."""


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    seed: int
    steps: int
    faults: int
    evictions: int
    violations: list[str]
    """Must be empty."""

    def __str__(self) -> str:
        first = (
            f"seed {self.seed}: {self.steps} steps, {self.evictions} evictions, {self.faults} faults, "
            f"{len(self.violations)} violations"
        )
        return "\n".join([first, *(f"violation: {each}" for each in self.violations)])


class AnyLoad(Protocol):
    """Users of queues, and those who make what waits in them."""

    steps: int

    def step(self) -> None:
        """One action."""

    def settle(self) -> None:
        """Nothing new happens, until all is quiet."""

    def wrong(self) -> list[str]:
        """What is not as it should be when all is quiet."""

    def judge(self) -> list[str]:
        """What was wrong with what the load itself has recorded. Asked once, at the end."""

    def remove(self) -> None:
        """Delete all."""


def stress(
    plane: ControlPlane,
    seed: int,
    seconds: float,
    *,
    restarts: bool = True,
    removes: bool = True,
    load_of: Callable[[ControlPlane, random.Random], AnyLoad] = Load,
) -> Result:
    """Load the plane for this number of seconds, and see what is wrong afterwards.

    `restarts`: the API server may start anew, too. `removes`: the load is gone in the end.
    """
    print(f"\nstress of queues for {seconds:.0f} s with seed {seed}", flush=True)
    recorder, rng = QuotaRecorder(plane.client), random.Random(seed)
    load, faults = load_of(plane, rng), Faults(plane, rng, recorder.fault, restarts=restarts)
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            load.step()
            faults.step(FAULTS)
            time.sleep(STEP_SECONDS)
        faults.end()
        load.settle()
        left = _left(recorder, load, _search(plane))
        load.settle()  # what was looked at last may just have changed
        history = recorder.history()
    finally:
        recorder.close()
    history.write(plane.layout.logs / f"history-{seed}.jsonl")
    wrong = [*(each for check in CHECKS for each in check(history)), *load.judge()]
    if removes:
        load.remove()
    return Result(seed, load.steps, faults.count, len(history.evictions()), [*wrong, *left])


def _left(recorder: QuotaRecorder, load: AnyLoad, options: SearchOptions) -> list[str]:
    """Who stays stuck, however long one waits."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    left = _stuck(recorder, load, options)
    while left and time.monotonic() < deadline:
        load.settle()
        now = _stuck(recorder, load, options)
        left = [each for each in left if each in now]
    return left


def _stuck(recorder: QuotaRecorder, load: AnyLoad, options: SearchOptions) -> list[str]:
    return stuck(recorder.history(), round(time.time() * 1_000_000), options) + load.wrong()


def _search(plane: ControlPlane) -> SearchOptions:
    """By what the plane's processes decide."""
    given = (plane.options.reprieve_settings or {})["quota"]
    settings = msgspec.convert(given, QuotaConfiguration)
    return search_options(settings, time_based=True)


@click.command()
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True, help="Of load in each run.")
@click.option("--seed", type=int, default=None, help="Decides what is done. Default: another one each time.")
@click.option(
    "--runs", type=click.IntRange(1), default=1, help="The number of runs, each on a plane of its own."
)
@click.option("--jobs", is_flag=True, help="The runs are about Jobs, with the real Job controller.")
@click.option("--gangs", is_flag=True, help="The runs are about Jobs and gangs, on few nodes.")
@click.option(
    "--orders", type=click.IntRange(0), default=0, help="In place of runs: the number of random orders."
)
@click.option(
    "--leaders", type=click.IntRange(0), default=0, help="In place of runs: how often a leader is taken away."
)
def main(
    seconds: int, seed: int | None, runs: int, jobs: bool, gangs: bool, orders: int, leaders: int
) -> None:
    """Load the queues of a control plane at random, and judge what reprieve did by the watch.

    Orders: queues and Workloads are made and deleted in a random order. Leaders: one is taken away in the middle of
    twenty preemptions, in three ways.
    """
    seed = random.randrange(1 << 32) if seed is None else seed
    if orders:
        on_plane(QUOTA, lambda plane: _orders(plane, seed, orders))
        return
    if leaders:
        on_plane(quota_leaders.OPTIONS, lambda plane: _leaders(plane, leaders))
        return
    load_of: Callable[[ControlPlane, random.Random], AnyLoad] = (
        GangLoad if gangs else JobLoad if jobs else Load
    )
    wrong = [
        each
        for each in range(seed, seed + runs)
        if not on_plane(GANGS if gangs else _options(each), _run(each, seconds, load_of))
    ]
    click.echo(f"{runs} runs, violations with the seeds {wrong}")
    sys.exit(bool(wrong))


def _options(seed: int) -> Mapping[str, Any]:
    return SHARING if seed % SHARES == 0 else OPTIONS


def _run(
    seed: int, seconds: int, load_of: Callable[[ControlPlane, random.Random], AnyLoad]
) -> Callable[[ControlPlane], bool]:
    def run(plane: ControlPlane) -> bool:
        result = stress(plane, seed, seconds, load_of=load_of)
        click.echo(result)
        return not result.violations

    return run


def _orders(plane: ControlPlane, seed: int, count: int) -> bool:
    """Some at a time. Raises what a test raises."""
    with ThreadPoolExecutor(ORDERS_AT_ONCE) as threads:
        boxes = [QuotaSandbox(plane, f"order-{each}") for each in range(seed, seed + count)]
        list(threads.map(run_order, boxes, range(seed, seed + count)))
    click.echo(f"{count} orders from seed {seed} have the same end")
    return True


def _leaders(plane: ControlPlane, count: int) -> bool:
    """Raises what a test raises."""
    for _ in range(count):
        for way in quota_leaders.WAYS:
            quota_leaders.TwentyVictims(plane, way).run(AWAY_SECONDS)
    return True


def on_plane(options: Mapping[str, Any], run: Callable[[ControlPlane], bool]) -> bool:
    """Run on a control plane with these options. Its folder stays where the run returns False."""
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="reprieve-stress-")), Options(**options))
    click.echo(f"the logs are in {plane.layout.logs}", err=True)
    with plane:
        is_good = run(plane)
    if is_good:
        plane.discard()
    return is_good


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress_quota")
