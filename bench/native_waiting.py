"""Gangs of kube-scheduler's own kind that fit nowhere, and ordinary pods that arrive all the time.

Every node is nearly full of pods that are more important. The gangs ask for whole nodes, so the scheduler tries them
again and again, by its backoff. The same load runs several times on one cluster: beside reprieve, and, while that does
not run, with another kube-scheduler that does not know it.

What the gangs cost when they come is not measured: the scheduler has called reprieve before, so reprieve looks at them
at once. One ordinary pod runs before they come and stays. With it the scheduler has somebody to preempt, and says the
same of the gangs from the first attempt on.

REPRIEVE_BENCH_NATIVE_WAITING has the number of nodes, of pods on each, and of gangs, such as 300,10,200.
REPRIEVE_BENCH_NATIVE_WAITING_ORDER has the runs in their order, such as alone,steered. Each may come several times.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.metrics import Samples, cpu_seconds_of, grown, quantile, reprieve_metrics, scheduler_metrics
from bench.place import NATIVE, Place
from bench.waiting import MEMBERS, PEER, PRIORITIES, Measured, Size, Waiting
from bench.watching import Bindings
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["AIM", "ALONE", "STEERED", "Run", "run", "table"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_NATIVE_WAITING", "300,10,200")
ORDER: Final = os.environ.get("REPRIEVE_BENCH_NATIVE_WAITING_ORDER", "steered,alone,alone,steered")
ALONE, STEERED = "alone", "steered"
AIM: Final = 1.1
"""The p99 of ordinary pods, as a multiple of that of kube-scheduler alone, at most."""
SETTLE_SECONDS: Final = 60.0
"""Until every gang waits for about the longest backoff."""
CALLER_SECONDS: Final = 60.0
OPTIONS: Final = Options(
    reprieve=True,
    schedulers=[PEER],
    scheduler_settings={"percentageOfNodesToScore": 100},
    reprieve_settings={"planning": {"nativeGroups": "Steer"}},
    feature_gates={"GenericWorkload": True},
    runtime_config={NATIVE: True},
)
SCHEDULERS: Final = {STEERED: ("default-scheduler", "kube-scheduler"), ALONE: (PEER, PEER)}
"""The name in the pods, and that of the process."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured of one run."""

    kind: str
    """STEERED or ALONE."""
    measured: Measured
    attempts: float
    """How often the scheduler tried a gang meanwhile."""
    cpu: dict[str, float]
    """CPU seconds meanwhile, by process."""


def run(console: Console) -> bool:
    """Print how long ordinary pods took. Returns whether each of them was bound."""
    size, order = Size.of(SIZE), ORDER.split(",")
    console.print(f"[bold]Native gangs that fit nowhere[/]: {size.nodes:,} nodes, {size.gangs:,} gangs")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, OPTIONS))
        status = stack.enter_context(console.status("the cluster fills"))
        place = Place(plane.client, "native")
        Waiting(place, size, None).fill(plane.etcd)
        runs = []
        for turn, kind in enumerate(order):
            status.update(kind)
            _have_reprieve(plane, runs=kind == STEERED)
            runs.append(_beside_gangs(plane, place, size, kind, turn))
    console.print(table(runs))
    return not any(each.measured.unbound for each in runs)


def table(runs: list[Run]) -> Table:
    """The seconds from creation to binding of the ordinary pods, and the ratio to those of kube-scheduler alone."""
    shown = Table(
        "", "ordinary pods", "not bound", "p50 s to bind", "p99", "p99, of alone", "attempts at gangs"
    )
    for title in (
        "CPU s of the scheduler",
        "of reprieve",
        "of kube-apiserver",
        "filter calls/s",
        "searches/s",
        "writes/s",
    ):
        shown.add_column(title)
    alone = _high(each for each in runs if each.kind == ALONE)
    for each in runs:
        ordinary, rates = each.measured.ordinary, each.measured.per_second
        middle, high = (quantile(ordinary, at) for at in (0.5, 0.99))
        shown.add_row(
            each.kind,
            str(len(ordinary)),
            str(each.measured.unbound),
            f"{middle:.3f}",
            f"{high:.3f}",
            f"{high / alone:.2f}",
            f"{each.attempts:.0f}",
            *(
                f"{each.cpu.get(name, 0.0):.1f}"
                for name in (SCHEDULERS[each.kind][1], "reprieve", "kube-apiserver")
            ),
            *(f"{rates[name]:.1f}" if rates else "" for name in ("filter", "search", "write")),
        )
    steered = _high(each for each in runs if each.kind == STEERED)
    shown.add_row("steered / alone, all runs", "", "", "", "", f"{steered / alone:.2f} (aim: {AIM:g})")
    return shown


def _high(runs: Iterable[Run]) -> float:
    """The p99 of all ordinary pods of these runs."""
    return quantile([seconds for each in runs for seconds in each.measured.ordinary], 0.99)


def _have_reprieve(plane: ControlPlane, *, runs: bool) -> None:
    """Start or stop it, unless that is so."""
    if runs and not plane.reprieve.running:
        plane.start_reprieve()
    elif not runs:
        plane.reprieve.stop()


def _beside_gangs(plane: ControlPlane, place: Place, size: Size, kind: str, turn: int) -> Run:
    """The load beside gangs that the scheduler of this kind of run tries."""
    scheduler, process = SCHEDULERS[kind]
    _bind_caller(place, scheduler, turn)
    gangs = [f"gang-{turn}-{number}" for number in range(size.gangs)]
    _add_gangs(place, gangs, scheduler)
    time.sleep(SETTLE_SECONDS)
    metrics = partial(reprieve_metrics, plane) if kind == STEERED else None
    before, spent = scheduler_metrics(plane, process), cpu_seconds_of(plane)
    measured = Waiting(place, size, metrics, scheduler=scheduler).measure(groups=False)
    after = cpu_seconds_of(plane)
    cpu = {name: seconds - spent.get(name, 0.0) for name, seconds in after.items()}
    attempts = _attempts(before, scheduler_metrics(plane, process))
    place.remove_pods("load=gang")
    place.remove_pods("load=caller")
    place.client.delete_all(NATIVE, "PodGroup", gangs, place.namespace)
    return Run(kind, measured, attempts, cpu)


def _bind_caller(place: Place, scheduler: str, turn: int) -> None:
    """One ordinary pod is bound, and stays. Reprieve plans for gangs of a scheduler once that has called it."""
    name = f"caller-{turn}"
    with Bindings(place.client, place.namespace, "load=caller") as bindings:
        place.client.create(
            place.pod(
                name,
                cpu="100m",
                priority=PRIORITIES["lowest"],
                labels={"load": "caller"},
                schedulerName=scheduler,
            )
        )
        bindings.wait([name], CALLER_SECONDS)


def _add_gangs(place: Place, gangs: list[str], scheduler: str) -> None:
    priority = PRIORITIES["middle"]
    place.client.create_all(
        place.pod_group(name, min_count=MEMBERS, priority=priority, api_version=NATIVE) for name in gangs
    )
    place.client.create_all(
        place.pod(
            f"{name}-{member}",
            cpu="3900m",
            priority=priority,
            labels={"load": "gang"},
            schedulerName=scheduler,
            schedulingGroup={"podGroupName": name},
        )
        for name in gangs
        for member in range(MEMBERS)
    )


def _attempts(before: Samples, after: Samples) -> float:
    return grown(before, after, "scheduler_podgroup_schedule_attempts_total")
