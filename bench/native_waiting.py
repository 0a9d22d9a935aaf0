"""Gangs of kube-scheduler's own kind that fit nowhere, and ordinary pods that arrive all the time.

Every node is nearly full of pods that are more important. The gangs ask for whole nodes, so the scheduler tries them
again and again, by its backoff. The same load runs on one cluster twice: beside reprieve, and then, when that has
ended, with another kube-scheduler that does not know it.

REPRIEVE_BENCH_NATIVE_WAITING has the number of nodes, of pods on each, and of gangs, such as 300,10,200.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.metrics import quantile, reprieve_metrics
from bench.place import Place
from bench.waiting import MEMBERS, PEER, PRIORITIES, Measured, Size, Waiting
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["AIM", "ALONE", "STEERED", "run", "table"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_NATIVE_WAITING", "300,10,200")
NATIVE_API: Final = "scheduling.k8s.io/v1beta1"
ALONE, STEERED = "kube-scheduler alone", "steered"
AIM: Final = 1.1
"""The p99 of ordinary pods, as a multiple of that of kube-scheduler alone, at most."""
SETTLE_SECONDS: Final = 60.0
"""Until every gang waits for about the longest backoff."""
OPTIONS: Final = Options(
    reprieve=True,
    schedulers=[PEER],
    scheduler_settings={"percentageOfNodesToScore": 100},
    reprieve_settings={"planning": {"nativeGroups": "Steer"}},
    feature_gates={"GenericWorkload": True},
    runtime_config={NATIVE_API: True},
)


def run(console: Console) -> bool:
    """Print how long ordinary pods took. Returns whether each of them was bound."""
    size = Size.of(SIZE)
    console.print(f"[bold]Native gangs that fit nowhere[/]: {size.nodes:,} nodes, {size.gangs:,} gangs")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, OPTIONS))
        status = stack.enter_context(console.status("the cluster fills"))
        place = Place(plane.client, "native")
        ours = Waiting(place, size, partial(reprieve_metrics, plane))
        ours.fill()
        status.update(STEERED)
        measured = {STEERED: _beside_gangs(place, size, ours, "default-scheduler")}
        plane.reprieve.stop()
        status.update(ALONE)
        measured[ALONE] = _beside_gangs(place, size, Waiting(place, size, None, scheduler=PEER), PEER)
    console.print(table(measured))
    return not any(each.unbound for each in measured.values())


def table(measured: Mapping[str, Measured]) -> Table:
    """The seconds from creation to binding of the ordinary pods, and the ratio to those of kube-scheduler alone."""
    shown = Table("", "ordinary pods", "not bound", "p50 s to bind", "p99", "p99, of alone", "the aim")
    alone = quantile(measured[ALONE].ordinary, 0.99)
    for name, each in measured.items():
        middle, high = (quantile(each.ordinary, at) for at in (0.5, 0.99))
        aim = "" if name == ALONE else f"at most {AIM:g}"
        ratio = f"{high / alone:.2f}"
        shown.add_row(
            name, str(len(each.ordinary)), str(each.unbound), f"{middle:.3f}", f"{high:.3f}", ratio, aim
        )
    return shown


def _beside_gangs(place: Place, size: Size, load: Waiting, scheduler: str) -> Measured:
    """The load beside gangs that this scheduler tries."""
    gangs = [f"gang-{scheduler}-{number}" for number in range(size.gangs)]
    priority = PRIORITIES["middle"]
    place.client.create_all(
        place.pod_group(name, min_count=MEMBERS, priority=priority, api_version=NATIVE_API) for name in gangs
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
    time.sleep(SETTLE_SECONDS)
    measured = load.measure(groups=False)
    place.remove_pods("load=gang")
    place.client.delete_all(NATIVE_API, "PodGroup", gangs, place.namespace)
    return measured
