"""The scene with several clusters: two full ones, and a Job for which the cheaper one makes room."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hack.controlplane.client import Client, Json
from hack.controlplane.fleet import ALLOWED, Fleet, manager_options, worker_options
from hack.controlplane.plane import ControlPlane, up_together

__all__ = ["show"]

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples" / "multikueue"
REPRIEVE: Final = Path(sys.executable).with_name("reprieve")
NAMESPACE: Final = "research"
WORKERS: Final = ("alpha", "beta")
LIMIT_SECONDS: Final = 60.0
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
QUOTA: Final[Json] = {"quota": {"mode": "Enforce"}}
MANAGER: Final[Json] = {
    **QUOTA,
    "multikueue": {"allowedNetworks": list(ALLOWED), "nonPreemptingWindowSeconds": 2},
}


def show(console: Console, folder: Path) -> bool:
    """Play the scene on planes of its own in the folder. Returns whether it went as promised."""
    manager = ControlPlane(folder / "manager", manager_options(MANAGER, start_reprieve=True))
    workers = {name: ControlPlane(folder / name, worker_options(QUOTA)) for name in WORKERS}
    planes = [manager, *workers.values()]
    try:
        up_together(planes)
        fleet = Fleet(manager, workers)
        fleet.join(proxies=False)
        return _play(console, fleet)
    finally:
        for plane in planes:
            plane.down()


def _play(console: Console, fleet: Fleet) -> bool:
    manager = fleet.manager.client
    joined = _until(lambda: all(_is_joined(manager, name) for name in WORKERS))
    _apply(manager, "queues-manager")
    for plane in fleet.workers.values():
        _apply(plane.client, "queues-worker")
    _apply(fleet.workers["alpha"].client, "serve")
    _apply(fleet.workers["beta"].client, "sweep")
    full = _until(lambda: _runs(fleet, "alpha", "serve") and _runs(fleet, "beta", "sweep"))
    console.print(
        "Two worker clusters are full: [bold]serve[/] has priority 50 in alpha, [bold]sweep[/] 10 in beta."
    )
    _apply(manager, "train")
    start = time.monotonic()
    taken = _until(lambda: _runs(fleet, "beta", "train"))
    console.print(
        f"[bold]train[/] of priority 100 was submitted to the manager, and runs {time.monotonic() - start:.1f} s later:"
    )
    console.print(_picture(fleet))
    console.print("The DispatchPlan was stored before a gate opened. It compares both clusters:")
    for line in _turn(manager):
        console.print(Text(f"  {line}", style="bold"))
    shown = _until(lambda: _ready(manager, "train") == 4)
    command = ["why", "job", "train", "-n", NAMESPACE]
    console.print(Text("$ " + " ".join(["reprieve", *command]), style="bold"))
    console.file.flush()
    subprocess.run([REPRIEVE, *command, "--kubeconfig", fleet.manager.kubeconfig], check=True)
    undisturbed = _runs(fleet, "alpha", "serve")
    return joined and full and taken and shown and undisturbed


def _apply(client: Client, name: str) -> None:
    for document in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()):
        client.create(document)


def _is_joined(manager: Client, cluster: str) -> bool:
    status = manager.get(KUEUE, "MultiKueueCluster", cluster).get("status", {})
    true = {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}
    return {"Active", "reprieve.dev/PreemptionGates"} <= true


def _runs(fleet: Fleet, cluster: str, job: str) -> bool:
    return _ready(fleet.workers[cluster].client, job) == 4


def _ready(client: Client, name: str) -> int:
    """Pods that are ready of a Job that is not suspended."""
    job = client.find("batch/v1", "Job", name, NAMESPACE)
    if job is None or job["spec"].get("suspend"):
        return 0
    return int(job.get("status", {}).get("ready") or 0)


def _until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _turn(manager: Client) -> list[str]:
    lines = []
    for plan in manager.list("reprieve.dev/v1alpha1", "DispatchPlan", NAMESPACE):
        spec = plan["spec"]
        lines += [f"{each['name']}: {each['said']}" for each in spec["clusters"]]
        lines.append(f"turn {spec['number']}: {spec['reason']}")
    return lines


def _picture(fleet: Fleet) -> Table:
    table = Table("cluster", "Job", "suspended", "pods that are ready", title_justify="left")
    for name, plane in fleet.planes.items():
        for job in plane.client.list("batch/v1", "Job", NAMESPACE):
            job_name, suspended = job["metadata"]["name"], bool(job["spec"].get("suspend"))
            table.add_row(name, job_name, "yes" if suspended else "no", str(_ready(plane.client, job_name)))
    return table
