"""The recordings, made on control planes of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench.gang import ALONE, OURS, Interleaved, Size, Way
from bench.place import REPRIEVE, Place
from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from hack.demo.stage import Side as Stage
from hack.demo.stage import View
from hack.pictures import recordings
from hack.pictures.recordings import GangRecording, GridRecording, GridWay, ReportRecording, Side

__all__ = ["RECORDED", "record"]

COMMAND: Final = Path(sys.executable).with_name("reprieve")
LIMIT_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 10.0
"""How long a gang that cannot run is watched."""
IN_PIECES_SECONDS: Final = 90.0
"""How long it waits in the report."""
GRID: Final = Size(500, 100)
GROUP_PODS: Final = 10
STOCK: Final = Way("kube-scheduler alone", REPRIEVE, gate=False, reprieve=False)
WAYS: Final = {"stock": STOCK, "native": ALONE, "ours": OURS}
SMALL_GRID: Final = Size(50, 10)
"""Of the report's plane."""
OBSERVER: Final = Options(
    reprieve=True,
    reprieve_settings={"planning": {"mode": "Observe"}},
    manifests=OBSERVER_FOLDERS,
    scheduler_settings={"percentageOfNodesToScore": 100},
)


def record(name: str) -> None:
    """Make a recording again. Raises KeyError if no recording has this name."""
    RECORDED[name](name)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _version(plane: ControlPlane) -> str:
    return str(plane.client.request("GET", "/version")["gitVersion"]).removeprefix("v")


# ---- gangs of three and of four


def _gang(name: str, members: int) -> None:
    with tempfile.TemporaryDirectory(prefix="reprieve-pictures-") as folder:
        sides, version = [], ""
        for title, options in {"alone": Options(), "ours": Options(reprieve=True)}.items():
            with ControlPlane(Path(folder, title), options) as plane:
                sides.append(_came(_filled(plane), members))
                version = _version(plane)
    recordings.write(name, GangRecording(_today(), version, members, *sides))


def _filled(plane: ControlPlane) -> Stage:
    stage = Stage("", plane)
    stage.fill()
    full = "the pods that fill the nodes do not run"
    wait_until(lambda: stage.look().count("batch") == 3, LIMIT_SECONDS, full.__str__)
    return stage


def _came(stage: Stage, members: int, quiet: float = QUIET_SECONDS) -> Side:
    """A gang comes. It is over if all members are bound, or if nothing has changed for a while."""
    full = _places(stage.look())
    stage.start_gang(members)
    began = changed = time.monotonic()
    view, seconds = stage.look(), None
    while time.monotonic() < changed + quiet:
        time.sleep(0.05)
        before, view = view, stage.look()
        if view != before:
            changed = time.monotonic()
        if seconds is None and view.count("train") == members:
            seconds = round(changed - began, 1)
    filled = {pod: node for pod, node in full.items() if node}
    return Side(filled, _places(view), sorted(stage.evicted), seconds, stage.why())


def _places(view: View) -> dict[str, str | None]:
    return {pod: node for pod, node in sorted(view.running.items()) if pod not in view.leaving}


# ---- the interleaved case


def _grid(name: str) -> None:
    ways, version = {}, ""
    for key, way in WAYS.items():
        with (
            tempfile.TemporaryDirectory(prefix="reprieve-pictures-") as folder,
            ControlPlane(Path(folder), way.options()) as plane,
        ):
            place = Place(plane.client, "interleaved")
            case = Interleaved(place, GRID, way.api, plans=way.reprieve)
            case.fill()
            before = _names(place)
            result = case.preempt()
            gone = before - _names(place)
            version = _version(plane)
            ways[key] = GridWay(_evicted(gone, GRID.nodes), result.bound)
            print(f"{name}: {way.name}: {len(gone)} pods evicted", flush=True)
    recordings.write(name, GridRecording(_today(), version, GRID.nodes, GRID.members, ways))


def _names(place: Place) -> set[str]:
    """Of the pods that are left."""
    return {pod["metadata"]["name"] for pod in place.pods() if not pod["metadata"].get("deletionTimestamp")}


def _evicted(gone: set[str], groups: int) -> str:
    counts = [0] * groups
    for name in gone:
        counts[int(name.rpartition("-")[0].removeprefix("g"))] += 1
    return "".join("x" if count == GROUP_PODS else str(count) for count in counts)


# ---- a report


def _report(name: str) -> None:
    """An observer sees a gang that cannot run, and then the interleaved case."""
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-pictures-") as folder,
        ControlPlane(Path(folder), OBSERVER) as plane,
    ):
        stage = _filled(plane)
        _came(stage, 4, IN_PIECES_SECONDS)
        stage.clear()
        case = Interleaved(Place(plane.client, "research"), SMALL_GRID, plans=False)
        case.fill()
        case.preempt()
        wait_until(
            lambda: _concluded(plane) == {"train", case.preemptor},
            LIMIT_SECONDS,
            "an account stays open".__str__,
        )
        said = subprocess.run(
            [COMMAND, "report", "--by", "gang", "-o", "json", "--kubeconfig", plane.kubeconfig],
            check=True,
            capture_output=True,
        )
        recordings.write(name, ReportRecording(_today(), _version(plane), json.loads(said.stdout)))


def _concluded(plane: ControlPlane) -> set[str]:
    """The gangs whose accounts are closed."""
    return {
        plan["spec"]["preemptor"]["name"]
        for plan in plane.client.list(REPRIEVE, "PreemptionPlan")
        if ((plan.get("status") or {}).get("instead") or {}).get("concluded")
    }


RECORDED: Final[dict[str, Callable[[str], None]]] = {
    "gang-of-three": lambda name: _gang(name, 3),
    "gang-of-four": lambda name: _gang(name, 4),
    "interleaved": _grid,
    "report": _report,
}
"""By name."""
