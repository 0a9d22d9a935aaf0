"""Measures the mirror at 5,000 nodes and 150,000 pods: memory, a full list, an event and a snapshot, beside the
budget. One pod in five has a claim with a volume. A second process fills tables kind by kind, and says what each takes.

A stub in place of the API server hands out JSON bytes as a real one sends them, with managed fields. So the times are
the mirror's own: decoding and applying, without the network. It runs in its own process.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import structlog
from rich.console import Console
from rich.table import Table

from api.core import Node, Pod
from api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from bench.storage_objects import claim, claim_name, csi_node, storage_class, volume
from kube.client import ApiClient
from nodes.state.tables import Tables
from runtime.mirror.views import Views
from runtime.mirror.watched_tables import WatchedTables

__all__ = ["run"]

NODES, PODS, EVENTS, PAGE = 5_000, 150_000, 30_000, 500
PODS_PER_APP = 30
PODS_PER_CLAIM = 5
STORAGE: Final = "/apis/storage.k8s.io/v1"
BY_KIND: Final = "by-kind"
PIECE: Final = 64 << 10


class Measured(msgspec.Struct):
    """Times are in CPU seconds of the process, `resident` and `peak` in bytes. `pod_bytes`: of an average pod."""

    list_seconds: float
    event_seconds: float
    snapshot_seconds: float
    resident: int
    peak: int
    pod_bytes: int


def run(console: Console) -> bool:
    """Measure in a new process and print. The budgets are printed beside the figures; none of them fails the run."""
    console.print(f"[bold]The mirror[/]: {NODES:,} nodes, {PODS:,} pods")
    with console.status("listing, then watching"):
        measured = msgspec.json.decode(asyncio.run(_in_a_process()), type=Measured)
        kinds = msgspec.json.decode(asyncio.run(_in_a_process(BY_KIND)), type=dict[str, tuple[int, int]])
    rows = [
        ("resident memory", f"{measured.resident / 2**20:,.0f} MiB", "1,024 MiB", measured.resident < 2**30),
        ("full list", f"{measured.list_seconds:.1f} s", "60 s", measured.list_seconds < 60),
        ("event", f"{measured.event_seconds * 1e6:.0f} µs", "100 µs", measured.event_seconds < 100e-6),
        ("snapshot", f"{measured.snapshot_seconds * 1e3:.1f} ms", "3 ms", measured.snapshot_seconds < 3e-3),
    ]
    table = Table("", "measured", "budget", "", box=None)
    for what, value, budget, within in rows:
        table.add_row(what, value, budget, "[green]within[/]" if within else "[red]over[/]")
    console.print(table)
    by_kind = Table("kind", "objects", "memory", box=None)
    for kind, (count, held) in kinds.items():
        by_kind.add_row(kind, f"{count:,}", f"{held / 2**20:.1f} MiB")
    console.print(by_kind)
    console.print(
        f"[dim]peak {measured.peak / 2**20:,.0f} MiB; pods of {measured.pod_bytes:,} bytes of JSON[/]"
    )
    return True


async def _in_a_process(*arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.mirror", *arguments, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the measuring process ended with {process.returncode}")
    return output


class StubApiServer:
    """Serves lists of synthetic nodes and pods, empty lists of all other kinds, and one watch of pods with events."""

    cluster = ""

    def __init__(self) -> None:
        self.own_seconds = 0.0
        """The time it took to make the answers."""
        self.pod_bytes = 0
        self.events_sent = asyncio.Event()
        self.go = asyncio.Event()

    async def request(self, _: str, path: str, *, query: Mapping[str, str], seconds: float) -> bytes:
        """A page of a list."""
        began = time.process_time()
        make, total = LISTS.get(path, (node, 0))
        start = int(query.get("continue", "0"))
        end = min(start + PAGE, total)
        items = b",".join(make(index, 1) for index in range(start, end))
        token = str(end) if end < total else ""
        head = msgspec.json.encode({"resourceVersion": "1000000", "continue": token})
        body = b'{"metadata":' + head + b',"items":[' + items + b"]}"
        if make is pod and not start:
            self.pod_bytes = len(items) // PAGE
        self.own_seconds += time.process_time() - began
        return body

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], read_seconds: float
    ) -> AsyncIterator[StubApiServer]:
        """The stream of a watch."""
        yield self if path == "/api/v1/pods" else StubApiServer()

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The bytes of the stream. One pod in three moves; the others only change a condition."""
        await self.go.wait()
        spread = [(7919 * number) % PODS for number in range(EVENTS)]
        lines = b"".join(
            b'{"type":"MODIFIED","object":' + pod(index, 2 + number, moved=number % 3 == 0) + b"}\n"
            for number, index in enumerate(spread)
        )
        self.began = time.process_time()
        for start in range(0, len(lines), PIECE):
            yield lines[start : start + PIECE]
        self.event_seconds = (time.process_time() - self.began) / EVENTS
        self.events_sent.set()
        await asyncio.Event().wait()


MANAGED: Final[list[dict[str, Any]]] = [
    {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {f"f:field-{number}": {".": {}, "f:value": {}} for number in range(20)}},
    }
    for manager in ("kube-controller-manager", "kubelet")
]


def node_name(index: int) -> str:
    """The name of a node."""
    return f"node-{index:05}.example.internal"


def node(index: int, version: int) -> bytes:
    """A node as JSON."""
    name = node_name(index)
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{index % 3}",
        "example.com/rack": f"rack-{index // 40}",
    }
    capacity = {"cpu": "64", "memory": "263856748Ki", "ephemeral-storage": "1843230Mi", "pods": "110"}
    return msgspec.json.encode(
        {
            "metadata": {
                "name": name,
                "uid": f"node-{index}",
                "resourceVersion": str(version),
                "labels": labels,
            },
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {"allocatable": capacity, "capacity": capacity},
        }
    )


def pod(index: int, version: int, *, moved: bool = False) -> bytes:
    """A bound pod as JSON."""
    return msgspec.json.encode(bound_pod(index, version, (index + moved) % NODES))


def bound_pod(index: int, version: int, place: int) -> dict[str, Any]:
    """A pod that is bound to the node in this place. One pod in five belongs to an app whose pods have labels of their
    own, as in stateful sets."""
    app = index // PODS_PER_APP
    labels = {
        "app": f"app-{app}",
        "pod-template-hash": f"{app * 2654435761 % 2**32:x}",
        "team": f"team-{app % 40}",
    }
    if index % 5 == 0:
        labels["apps.kubernetes.io/pod-index"] = str(index % PODS_PER_APP)
    container: dict[str, Any] = {
        "name": "main",
        "image": f"registry.example.com/app-{app}:1.0",
        "env": [{"name": f"SETTING_{number}", "value": "some value or other"} for number in range(8)],
        "resources": {"requests": {"cpu": f"{100 + app % 20 * 50}m", "memory": f"{128 + app % 8 * 64}Mi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/token"}],
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    metadata = {
        "name": f"app-{app}-{index:06}-x7k2p",
        "namespace": namespace_of(index),
        "uid": f"6f1c7a52-0000-4000-8000-{index:012}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
        "managedFields": MANAGED,
    }
    spec: dict[str, Any] = {
        "nodeName": node_name(place),
        "priority": app % 10 * 100,
        "schedulerName": "default-scheduler",
        "containers": [container],
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{what}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for what in ("not-ready", "unreachable")
        ],
        "volumes": [{"name": "token", "projected": {"sources": []}}],
    }
    if index % PODS_PER_CLAIM == 0:
        source = {"claimName": claim_name(index // PODS_PER_CLAIM)}
        spec["volumes"].append({"name": "data", "persistentVolumeClaim": source})
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:03Z", "conditions": conditions}
    return {"metadata": metadata, "spec": spec, "status": status}


def claimed(index: int) -> int:
    """The pod that has this claim."""
    return index * PODS_PER_CLAIM


def namespace_of(index: int) -> str:
    """The namespace of a pod."""
    return f"namespace-{index // PODS_PER_APP % 500}"


LISTS: Final[dict[str, tuple[Callable[[int, int], bytes], int]]] = {
    "/api/v1/nodes": (node, NODES),
    f"{STORAGE}/csinodes": (lambda index, version: csi_node(node_name(index), version), NODES),
    f"{STORAGE}/storageclasses": (storage_class, 10),
    "/api/v1/persistentvolumes": (
        lambda index, version: volume(index, version, namespace_of(claimed(index))),
        PODS // PODS_PER_CLAIM,
    ),
    "/api/v1/persistentvolumeclaims": (
        lambda index, version: claim(index, version, namespace_of(claimed(index))),
        PODS // PODS_PER_CLAIM,
    ),
    "/api/v1/pods": (pod, PODS),
}
"""By path: what makes an object, and how many there are."""
KINDS: Final[dict[str, tuple[type[Any], Callable[[Tables, Any], object]]]] = {
    "/api/v1/nodes": (Node, Tables.upsert_node),
    f"{STORAGE}/csinodes": (CSINode, Tables.upsert_storage),
    f"{STORAGE}/storageclasses": (StorageClass, Tables.upsert_storage),
    "/api/v1/persistentvolumes": (PersistentVolume, Tables.upsert_storage),
    "/api/v1/persistentvolumeclaims": (PersistentVolumeClaim, Tables.upsert_storage),
    "/api/v1/pods": (Pod, Tables.upsert_pod),
}
"""By path: the kind, and how the tables take it."""


def by_kind() -> dict[str, tuple[int, int]]:
    """The number of objects of each kind, and the bytes by which tables grow with them. The kinds come one by one."""
    tables, found = Tables(), {}
    for path, (make, total) in LISTS.items():
        struct, store = KINDS[path]
        before = memory()["VmRSS"]
        for index in range(total):
            store(tables, msgspec.json.decode(make(index, 1), type=struct))
        tables.settle()
        found[struct.__name__] = total, memory()["VmRSS"] - before
    return found


def memory(pid: int | str = "self") -> dict[str, int]:
    """VmRSS and VmHWM of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmRSS", "VmHWM")))
    return {name.rstrip(":"): int(kibibytes) << 10 for name, kibibytes, _ in fields}


async def measure() -> Measured:
    """Measure once in this process."""
    stub = StubApiServer()
    views = Views(cast(ApiClient, stub))
    mirror = WatchedTables(views)
    began = time.process_time()
    task = asyncio.create_task(views.run())
    await mirror.wait_synced()
    listed = time.process_time() - began - stub.own_seconds
    stub.go.set()
    await stub.events_sent.wait()
    snapshots = []
    for _ in range(7):
        began = time.process_time()
        mirror.tables.snapshot()
        snapshots.append(time.process_time() - began)
    now = memory()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return Measured(
        list_seconds=listed,
        event_seconds=stub.event_seconds,
        snapshot_seconds=sorted(snapshots)[len(snapshots) // 2],
        resident=now["VmRSS"],
        peak=now["VmHWM"],
        pod_bytes=stub.pod_bytes,
    )


if __name__ == "__main__":
    # `serve` also loads these, so the memory is that of the real process.
    import kubernetes_asyncio.client  # noqa: F401 - loaded for its weight

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    answer = by_kind() if BY_KIND in sys.argv else asyncio.run(measure())
    sys.stdout.buffer.write(msgspec.json.encode(answer))
