"""A manager and its worker clusters for the bench, and a namespace with a queue in each of them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from api.integration import QUEUE_NAME_LABEL
from api.multikueue import CONTROLLER_NAME
from hack.controlplane.client import Client, Json
from hack.controlplane.fleet import ALLOWED, CHECK, Fleet, manager_options, worker_options
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane, up_together
from hack.load.api import Api
from hack.load.measures import Usage, usage_of, writes

__all__ = [
    "BATCH",
    "KUEUE",
    "LIMIT_SECONDS",
    "MANAGER",
    "QUEUE",
    "Box",
    "all_writes",
    "configure",
    "job_body",
    "join",
    "started",
    "used_by_reprieve",
    "wait",
]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
BATCH: Final = "batch/v1"
MANAGER: Final = "manager"
QUEUE: Final = "q"
GATES: Final = "reprieve.dev/PreemptionGates"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
QUOTA: Final[Json] = {"quota": {"mode": "Enforce"}}
MULTIKUEUE: Final[Json] = {"allowedNetworks": list(ALLOWED)}
LIMIT_SECONDS: Final = 600.0
NODE_CPUS: Final = "2000"


def wait(look: Callable[[], bool], what: str, *, every: float = 0.1) -> None:
    """Wait until it is so. Raises TimeoutError."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(every)


@contextmanager
def started(names: Sequence[str], settings: Mapping[str, object] | None = None) -> Iterator[Fleet]:
    """Planes of a manager and of worker clusters with these names. The workers' reprieve runs, the manager's does not.

    `settings`: of the manager's section `multikueue`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        section = {"multikueue": MULTIKUEUE | dict(settings or {})}
        planes = {
            name: ControlPlane(
                folder / name, manager_options(QUOTA | section) if name == MANAGER else worker_options(QUOTA)
            )
            for name in (MANAGER, *names)
        }
        for plane in planes.values():
            stack.callback(plane.down)
        up_together(list(planes.values()))
        yield Fleet(planes[MANAGER], {name: planes[name] for name in names})


def join(fleet: Fleet, *, proxies: bool = False) -> None:
    """The manager knows its workers, and starts. Returns when it is connected to all. `proxies`: it reaches
    them through proxies."""
    fleet.join(proxies=proxies, cpu=NODE_CPUS)
    for name, plane in fleet.workers.items():
        wait_for_nodes(plane.client, name)
    fleet.manager.start_reprieve()
    connected(fleet)


def configure(fleet: Fleet, **changes: object) -> None:
    """Start the manager anew with other settings."""
    fleet.manager.reprieve.stop()
    file = fleet.manager.directory / "reprieve.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | changes))
    for name in fleet.workers:
        fleet.manager.client.patch(KUEUE, "MultiKueueCluster", name, {"status": None}, subresource="status")
    fleet.manager.start_reprieve()
    connected(fleet)


def connected(fleet: Fleet) -> None:
    """Wait until the manager is connected to all workers, and knows that they honour gates. Raises TimeoutError."""

    def look() -> bool:
        return all({"Active", GATES} <= _true(fleet.manager.client, name) for name in fleet.workers)

    wait(look, "the manager is not connected to all its workers")


def _true(client: Client, name: str) -> set[str]:
    found = client.get(KUEUE, "MultiKueueCluster", name).get("status", {}).get("conditions") or ()
    return {each["type"] for each in found if each["status"] == "True"}


def all_writes(fleet: Fleet) -> dict[str, Counter[str]]:
    """What the API server of each cluster was asked to write so far (see `hack.load.measures.writes`)."""

    async def read(kubeconfig: Path) -> Counter[str]:
        async with Api.connect(kubeconfig) as api:
            return await writes(api)

    return {name: asyncio.run(read(plane.kubeconfig)) for name, plane in fleet.planes.items()}


def used_by_reprieve(fleet: Fleet) -> dict[str, Usage]:
    """What reprieve has used so far in each cluster."""
    return {name: usage_of(plane.reprieve.pid) for name, plane in fleet.planes.items()}


def job_body(namespace: str, name: str, *, dispatched: bool, priority_class: str = "") -> Json:
    """A Job of one pod with one CPU. It is created suspended, as the webhook does it. `dispatched`: worker clusters
    may run it."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    labels = {QUEUE_NAME_LABEL: QUEUE} | ({PRIORITY_CLASS: priority_class} if priority_class else {})
    spec: Json = {"suspend": True, "template": {"spec": pod}}
    if dispatched:
        spec["managedBy"] = CONTROLLER_NAME
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": spec}


class Box:
    """A namespace and a queue of the same names in every cluster. The manager's queue has the check of all workers."""

    def __init__(self, fleet: Fleet, name: str, *, quota: int) -> None:
        """`quota`: CPUs of each worker. The manager has enough for all."""
        self.fleet, self.name = fleet, name
        for cluster, plane in fleet.planes.items():
            _make(plane.client, name, quota if cluster != MANAGER else quota * 100, cluster == MANAGER)
        fleet.let_in(name)
        for plane in fleet.workers.values():
            wait(partial(_has_account, plane.client, name), "there is no service account")

    def priority(self, client: Client, value: int) -> str:
        """The name of a WorkloadPriorityClass, which is made where it is needed."""
        body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": value}
        name = f"{self.name}-p{value}"
        client.apply({**body, "metadata": {"name": name}})
        return name

    def create(self, client: Client, names: Iterable[str], *, dispatched: bool, priority: int = 0) -> None:
        """Create Jobs."""
        class_ = self.priority(client, priority) if priority else ""
        client.create_all(
            [job_body(self.name, each, dispatched=dispatched, priority_class=class_) for each in names], 16
        )

    def running(self, cluster: str, labels: str = "") -> list[Json]:
        """The pods that run in a worker."""
        client = self.fleet.workers[cluster].client
        return client.list("v1", "Pod", self.name, labels=labels, fields="status.phase=Running")

    def end_pods(self) -> None:
        """All pods that run succeed."""
        for name, plane in self.fleet.workers.items():
            for pod in self.running(name):
                body = {"status": {"phase": "Succeeded"}}
                plane.client.patch("v1", "Pod", pod["metadata"]["name"], body, self.name, "status")

    def count(self, cluster: str, kind: str) -> int:
        """How many objects of a kind are in a cluster."""
        version = BATCH if kind == "Job" else KUEUE
        return len(self.fleet.planes[cluster].client.list(version, kind, self.name))

    def finished(self, cluster: str) -> int:
        """How many Workloads of a cluster are Finished."""
        found = self.fleet.planes[cluster].client.list(KUEUE, "Workload", self.name)
        return sum(is_true(each, "Finished") for each in found)

    def clear(self) -> None:
        """Delete all Jobs. Returns when no Workload is left in any cluster."""
        for plane in self.fleet.planes.values():
            jobs = plane.client.list(BATCH, "Job", self.name)
            plane.client.delete_all(BATCH, "Job", [each["metadata"]["name"] for each in jobs], self.name)
        clusters = self.fleet.planes
        wait(
            lambda: not any(self.count(each, "Workload") for each in clusters),
            "Workloads are left",
            every=0.5,
        )


def is_true(workload: Json, kind: str) -> bool:
    """Whether a condition of a Workload is True."""
    found = workload.get("status", {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in found)


def _has_account(client: Client, namespace: str) -> bool:
    return client.find("v1", "ServiceAccount", "default", namespace) is not None


def _make(client: Client, name: str, quota: int, has_check: bool) -> None:
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    meta: Json = {"name": name}
    client.create({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta, "spec": {}})
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    spec: dict[str, Any] = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    if has_check:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
    client.create({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": meta, "spec": spec})
    local = {"clusterQueue": name}
    meta = {"name": QUEUE, "namespace": name}
    client.create({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": local})
