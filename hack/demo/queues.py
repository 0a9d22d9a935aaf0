"""The scene with queues: a Job borrows, loses its quota to the queue that owns it, and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hack.controlplane.client import Client, Json

__all__ = ["show"]

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples" / "jobs"
NAMESPACE: Final = "campus"
LIMIT_SECONDS: Final = 60.0
KUEUE: Final = "kueue.x-k8s.io/v1beta2"


def show(console: Console, client: Client) -> bool:
    """Play the scene. Returns whether it went as promised. The nodes have at least 10 CPUs together."""
    for name in ("setup", "genome"):
        _apply(client, name)
    borrowed = _until(lambda: _runs(client, "genome", 6))
    console.print(
        "Two teams have quota for 4 CPUs each. [bold]genome[/] of biology needs 6, and borrows 2 of physics:"
    )
    console.print(_picture(client))
    _apply(client, "simulation")
    reclaimed = _until(lambda: _runs(client, "simulation", 4) and _is_stopped(client, "genome"))
    console.print("[bold]simulation[/] of physics needs its 4 CPUs. genome is suspended, and waits:")
    console.print(_picture(client))
    console.print("The plan that was stored before says why:")
    console.print(Text(f"  {_why(client)}", style="bold"))
    client.delete("batch/v1", "Job", "simulation", NAMESPACE)
    back = _until(lambda: _runs(client, "genome", 6))
    console.print("simulation has ended, and genome runs again, as its user wrote it:")
    console.print(_picture(client))
    return borrowed and reclaimed and back


def _apply(client: Client, name: str) -> None:
    for document in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()):
        client.create(document)


def _job(client: Client, name: str) -> Json:
    return client.get("batch/v1", "Job", name, NAMESPACE)


def _runs(client: Client, name: str, pods: int) -> bool:
    job = _job(client, name)
    return not job["spec"].get("suspend") and job.get("status", {}).get("ready") == pods


def _is_stopped(client: Client, name: str) -> bool:
    job = _job(client, name)
    status = job.get("status", {})
    return bool(job["spec"].get("suspend")) and not status.get("active") and not status.get("terminating")


def _until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _why(client: Client) -> str:
    plans = client.list("reprieve.dev/v1alpha1", "PreemptionPlan", NAMESPACE)
    found = [
        f"{plan['spec']['preemptor']['name']} preempts {victim.get('name', 'another')} "
        f"by {victim['quota']['reason']} ({victim['quota']['path']})"
        for plan in plans
        for victim in plan["spec"].get("victims", [])
    ]
    return "; ".join(found)


def _picture(client: Client) -> Table:
    table = Table("Job", "queue", "suspended", "pods that run", "its Workload says", title_justify="left")
    says = {}
    for each in client.list(KUEUE, "Workload", NAMESPACE):
        owner = each["metadata"]["ownerReferences"][0]["name"]
        conditions = {item["type"]: item for item in each.get("status", {}).get("conditions", [])}
        kind = "Admitted" if conditions.get("Admitted", {}).get("status") == "True" else "QuotaReserved"
        found = conditions.get(kind, {})
        says[owner] = f"{kind}={found.get('status', '')} {found.get('reason', '')}"
    for job in client.list("batch/v1", "Job", NAMESPACE):
        meta, status = job["metadata"], job.get("status", {})
        table.add_row(
            meta["name"],
            meta["labels"]["kueue.x-k8s.io/queue-name"],
            "yes" if job["spec"].get("suspend") else "no",
            str(status.get("ready") or 0),
            says.get(meta["name"], ""),
        )
    return table
