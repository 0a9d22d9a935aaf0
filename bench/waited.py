"""A gang of kube-scheduler's own kind that has waited: how long its plan takes to be carried out.

Each node has a pod of lower priority, and one node is closed, so the gang fits nowhere. After a while that node opens,
and the gang gets a plan. The scheduler comes back to a group by its backoff only. With `planning.gates: UntilPlanned`
the gang was never tried before, and the scheduler tries it at once when the gates have gone.

REPRIEVE_BENCH_WAITED has the number of members, and the seconds that they wait, such as 25,300.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.place import NATIVE, Place
from bench.timeline import Carried, Timeline
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["AIMS", "GATED", "UNGATED", "How", "options", "run", "table"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_WAITED", "25,300")
GANG: Final = "gang"
CALLED: Final = "waited-called"
LOW, HIGH = 10, 100
LIMIT_SECONDS: Final = 600.0

How = str
"""`planning.gates`."""
GATED: Final[How] = "UntilPlanned"
UNGATED: Final[How] = "Off"
AIMS: Final[Mapping[How, float]] = {GATED: 5.0, UNGATED: 55.0}
"""Seconds from the plan to the first eviction, at most."""


@dataclass(frozen=True)
class Size:
    """How many members wait for how long."""

    members: int
    seconds: float


def options(how: How) -> Options:
    """Of the plane."""
    settings = {"planning": {"nativeGroups": "Steer", "gates": how}}
    return Options(
        reprieve=True,
        webhooks=True,
        reprieve_settings=settings,
        webhooks_settings=settings,
        feature_gates={"GenericWorkload": True},
        runtime_config={NATIVE: True},
    )


def run(console: Console) -> bool:
    """Print the seconds with gates and without. Returns whether every member was bound."""
    members, seconds = SIZE.split(",")
    size = Size(int(members), float(seconds))
    console.print(f"[bold]A gang that has waited[/]: {size.members} members, {size.seconds:g} s, steered")
    results = {}
    for how in AIMS:
        with console.status(f"gates: {how}"):
            results[how] = _measure(how, size)
    console.print(table(results))
    return all(each is not None for each in results.values())


def table(results: Mapping[How, Carried | None]) -> Table:
    """The seconds of each way. None: it was not bound."""
    shown = Table(
        "planning.gates", "plan to first eviction", "the aim", "plan to bound", "freed room stood empty"
    )
    for how, carried in results.items():
        seconds = (
            (carried.to_eviction, carried.to_bound, carried.empty) if carried is not None else (None,) * 3
        )
        first, *others = [f"{each:.1f}" if each is not None else "" for each in seconds]
        shown.add_row(how, first, f"at most {AIMS[how]:g}", *others)
    return shown


def _measure(how: How, size: Size) -> Carried | None:
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), options(how)) as plane,
    ):
        place = Place(plane.client, "waited")
        closed, *_ = nodes = place.node_names(size.members)
        place.add_nodes(nodes)
        _close(place, closed, is_closed=True)
        place.client.create_all(
            place.pod(f"low-{number}", priority=LOW, cpu="4", node_name=node)
            for number, node in enumerate(nodes)
        )
        place.wait_running()
        # A process that no scheduler has called plans for no native gang.
        place.add_nodes([CALLED])
        place.client.create(place.pod("caller", priority=HIGH, cpu="4"))
        place.wait_running()
        return _waited(place, size, closed)


def _waited(place: Place, size: Size, closed: str) -> Carried | None:
    members = [f"{GANG}-{number}" for number in range(size.members)]
    group = place.pod_group(GANG, priority=HIGH, min_count=size.members, api_version=NATIVE)
    membership = {"podGroupName": GANG}
    with Timeline(place, f"podgroups.scheduling.k8s.io:{GANG}", members, plans=True) as timeline:
        place.client.create(group)
        place.client.create_all(
            place.pod(name, priority=HIGH, cpu="4", schedulingGroup=membership) for name in members
        )
        timeline.complete()
        time.sleep(size.seconds)
        _close(place, closed, is_closed=False)
        timeline.wait_bound(LIMIT_SECONDS)
        return timeline.carried()


def _close(place: Place, node: str, *, is_closed: bool) -> None:
    place.client.patch("v1", "Node", node, {"spec": {"unschedulable": True if is_closed else None}})
