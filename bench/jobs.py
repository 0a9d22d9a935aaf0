"""Jobs through queues on a real control plane, beside the same Jobs without queues.

One-pod Jobs come all at once. Thirty ClusterQueues share quota in five Cohorts, so most Jobs wait. KWOK plays the
nodes, and the load ends each pod that runs. First the same Jobs run without a queue: kube-scheduler places what there
is room for. SIZE is the number of Jobs.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from api.integration import QUEUE_NAME_LABEL
from bench.place import PLACE, Place
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.load.api import Api
from hack.load.measures import Usage, processes_used, usage_of, writes

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or 2000)
COHORTS, QUEUES = 5, 6
QUOTA: Final = 4
"""CPUs, of each ClusterQueue. A Job asks for one."""
NODES: Final = 10
NODE_CPUS: Final = COHORTS * QUEUES * QUOTA // NODES
STALL_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.25
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
SETTINGS: Final[dict[str, Any]] = {
    "extender": None,
    "planning": {"mode": "Off"},
    "quota": {"mode": "Enforce"},
}
PROCESSES: Final = ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True)
class Measured:
    """What one run took."""

    wall: float
    used: Mapping[str, Usage]
    writes: Counter[str]


def run(console: Console) -> bool:
    """Print the tables. Returns whether every Job has finished."""
    console.print(f"[bold]Jobs in queues[/]: {SIZE:,} Jobs of one pod in {COHORTS * QUEUES} ClusterQueues")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        options = Options(
            reprieve=True, start_reprieve=False, manifests=QUOTA_FOLDERS, reprieve_settings=SETTINGS
        )
        plane = stack.enter_context(ControlPlane(folder, options))
        status = stack.enter_context(console.status("Jobs without queues"))
        try:
            stock = _measure(plane, "stock", queued=False)
            status.update("Jobs in queues")
            plane.start_reprieve()
            queued = _measure(plane, "queued", queued=True)
        except TimeoutError as error:
            console.print(f"[red]stalled[/]: {error}")
            return False
    console.print(_table(stock, queued))
    console.print(f"wall time in queues / without: {queued.wall / stock.wall:.2f}")
    return True


def _measure(plane: ControlPlane, name: str, *, queued: bool) -> Measured:
    """Run the Jobs. Raises TimeoutError if they come to a standstill."""
    place = Place(plane.client, name)
    place.add_nodes(place.node_names(NODES), cpu=str(NODE_CPUS))
    if queued:
        _make_queues(plane.client, name)
    names = [*PROCESSES, *(["reprieve"] if queued else [])]
    pids = {each: plane.processes[each].pid for each in names}
    before, used = _writes(plane), {each: usage_of(pid) for each, pid in pids.items()}
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as ender:
        ending = ender.submit(_end_pods, plane.client, name)
        plane.client.create_all(_job(place, number, queued=queued) for number in range(SIZE))
        ending.result()
    wall = time.monotonic() - begun
    after = {each: usage_of(pid) for each, pid in pids.items()}
    return Measured(wall, processes_used(used, after), _writes(plane) - before)


def _writes(plane: ControlPlane) -> Counter[str]:
    async def read() -> Counter[str]:
        async with Api.connect(plane.kubeconfig) as api:
            return await writes(api)

    return asyncio.run(read())


def _make_queues(client: Client, name: str) -> None:
    client.create({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}})
    quota = {"name": "cpu", "nominalQuota": QUOTA}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": [quota]}]}
    for number in range(COHORTS * QUEUES):
        spec = {
            "cohortName": f"{name}-{number % COHORTS}",
            "namespaceSelector": {},
            "resourceGroups": [group],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }
        queue = f"{name}-{number}"
        client.create(
            {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": queue}, "spec": spec}
        )
        meta = {"name": _queue(number), "namespace": name}
        spec = {"clusterQueue": queue}
        client.create({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": spec})


def _queue(number: int) -> str:
    return f"q{number % (COHORTS * QUEUES)}"


def _job(place: Place, number: int, *, queued: bool) -> Json:
    labels = {QUEUE_NAME_LABEL: _queue(number)} if queued else {}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "nodeSelector": {PLACE: place.namespace},
        "tolerations": [{"key": PLACE, "operator": "Exists"}],
    }
    meta = {"name": f"j{number:05}", "namespace": place.namespace, "labels": labels}
    # A Job in a queue is created suspended, as the webhook does it.
    spec = {"suspend": queued, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _end_pods(client: Client, namespace: str) -> None:
    """End every pod that runs, until all Jobs are complete. Raises TimeoutError."""
    ended: set[str] = set()
    complete, since = 0, time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        while complete < SIZE:
            pods = client.list("v1", "Pod", namespace, fields="status.phase=Running")
            names = {each["metadata"]["name"] for each in pods} - ended
            list(threads.map(lambda name: _end(client, namespace, name), names))
            ended |= names
            now = len(ended)
            if now > complete:
                complete, since = now, time.monotonic()
            elif time.monotonic() - since > STALL_SECONDS:
                raise TimeoutError(f"{complete} of {SIZE} pods have ended")
            time.sleep(LOOK_SECONDS)


def _end(client: Client, namespace: str, name: str) -> None:
    try:
        client.patch("v1", "Pod", name, {"status": {"phase": "Succeeded"}}, namespace, "status")
    except ApiError as error:
        if error.status != 404:
            raise


def _table(stock: Measured, queued: Measured) -> Table:
    table = Table("", "without queues", "in queues")
    table.add_row("Jobs/s", *(f"{SIZE / each.wall:.1f}" for each in (stock, queued)))
    table.add_row("writes a Job", *(f"{each.writes.total() / SIZE:.1f}" for each in (stock, queued)))
    for name in (*PROCESSES, "reprieve"):
        table.add_row(f"{name}, CPU ms a Job", *(_cpu(each, name) for each in (stock, queued)))
    kinds = sorted({*stock.writes, *queued.writes}, key=lambda kind: -queued.writes[kind])
    for kind in kinds:
        table.add_row(kind, *(f"{each.writes[kind] / SIZE:.2f}" for each in (stock, queued)))
    return table


def _cpu(measured: Measured, name: str) -> str:
    used = measured.used.get(name)
    return f"{used.cpu / SIZE * 1000:.1f}" if used is not None else ""
