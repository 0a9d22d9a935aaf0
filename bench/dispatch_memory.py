"""What the manager keeps of many Workloads with copies in many clusters, and what an event of a copy takes.

In one process, without control planes: events as a watch brings them go through the views into the stores, and each is
followed by a decision. SIZE is the number of Workloads.
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import msgspec
import orjson
from rich.console import Console
from rich.table import Table

from api.clock import SYSTEM_CLOCK
from api.dispatch import DispatchPlan
from api.jobs import TemplatedJob, TemplatedJobSpec
from api.meta import ObjectMeta
from api.multikueue import CONTROLLER_NAME, FENCED_BY, MULTIKUEUE_GATE
from api.plans import PREEMPTOR_KIND
from api.times import rfc3339
from api.workloads import Workload
from controllers.multikueue.acting.deciding import Deciding
from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.acting.gathering import Gathering
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.acting.originals import Originals
from controllers.multikueue.acting.turn_bodies import plan_of
from controllers.multikueue.clusters.client import Line
from controllers.multikueue.clusters.connection import Connection, Session
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.objects import CopyObject, CostObject
from controllers.multikueue.clusters.probe import Probed
from controllers.multikueue.clusters.seeing import Seeing
from controllers.multikueue.kinds.bodies import copy_body
from controllers.multikueue.life.decision import GiveTurn
from controllers.multikueue.life.seen import Mark, Settings
from hack.controlplane.client import Json
from hack.load.measures import quantile
from kube.envelopes import Event
from runtime.mirror.views import Views

__all__ = ["run_memory"]

CLUSTERS: Final = 20
CHECK: Final = "clusters"
IDENTITY: Final = Identity("manager-uid", "multikueue", "bench/1", 900.0)
SECOND: Final = 1_000_000
SETTINGS: Final = Settings(True, True, 5 * SECOND, 300 * SECOND, None)
EVENTS: Final = 20_000
BATCH: Final = 500
"""Of events. Their lines are made before."""
AIM_MIB: Final = 1024
AIM_US: Final = 200
GATED: Final = (
    "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 4 more needed. "
    "Preemption is gated by kueue.x-k8s.io/multikueue"
)


def run_memory(console: Console, count: int) -> bool:
    """Print the table. Returns whether a decision was made about every Workload."""
    console.print(f"[bold]Memory of the manager[/]: {count:,} Workloads with copies in {CLUSTERS} clusters")
    world = asyncio.run(_fill(count))
    gc.collect()
    resident = _resident() - world.before
    gc.freeze()  # as a process does that has listed everything
    used, walls = 0.0, list[float]()
    for batch in range(0, EVENTS, BATCH):
        each_used, each_walls = _events(world, _lines(range(batch, batch + BATCH), count))
        used, walls = used + each_used, walls + each_walls
    table = Table("", "measured", "aim")
    table.add_row("resident MiB", f"{resident:.0f}", str(AIM_MIB))
    table.add_row("bytes a copy, with its cost", f"{resident * 2**20 / count / CLUSTERS:.0f}", "")
    table.add_row("an event of a copy, CPU µs", f"{used / EVENTS * 1e6:.0f}", str(AIM_US))
    for name, at in (("p50", 0.5), ("p99", 0.99)):
        table.add_row(f"an event of a copy, {name} µs", f"{quantile(walls, at) * 1e6:.0f}", "")
    console.print(table)
    return world.decided >= count + EVENTS


class _Reader:
    """A client that reads one Workload."""

    cluster = "manager"

    def __init__(self) -> None:
        self.body = b""

    async def request(self, _method: str, _path: str, **_options: object) -> bytes:
        return self.body


class _Clusters:
    """All connections, in one config."""

    def __init__(self, connections: list[Connection]) -> None:
        self._connections = {each.name: each for each in connections}
        self._names = tuple(self._connections)

    def get(self, name: str) -> Connection | None:
        return self._connections.get(name)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._connections.values())

    def config_of(self, _check: str) -> tuple[str, ...]:
        return self._names

    def is_check(self, name: str) -> bool:
        return name == CHECK


class _World:
    """The manager's memory."""

    def __init__(self) -> None:
        self.before = _resident()
        self.decided = 0
        hooks = Hooks()
        self.seeings: list[Seeing] = []
        connections = [self._connection(f"cluster-{number:02}", hooks) for number in range(CLUSTERS)]
        self._all = connections
        self.reader = _Reader()
        self.mirrors = Mirrors(Views(cast(Any, self.reader)))
        self.originals = Originals(cast(Any, self.reader), SYSTEM_CLOCK)
        self.gates = OpenGates(SYSTEM_CLOCK)
        clusters = cast(Any, _Clusters(connections))
        gathering = Gathering(self.mirrors, clusters, self.originals, self.gates, IDENTITY, SYSTEM_CLOCK)
        self.deciding = Deciding(gathering, SETTINGS, self._note, SYSTEM_CLOCK)
        self._listening = hooks.workloads.told(self._changed)
        self._listening.__enter__()
        self.copies = msgspec.json.Decoder(Event[CopyObject])
        self.costs = msgspec.json.Decoder(Event[CostObject])

    def _connection(self, name: str, hooks: Hooks) -> Connection:
        client = cast(Any, SimpleNamespace(cluster=name))
        seeing = Seeing(client, IDENTITY.origin, hooks, SYSTEM_CLOCK)
        line = cast(Line, SimpleNamespace(is_prompt=True))
        made = Connection(name, IDENTITY.lost_seconds, hooks, SYSTEM_CLOCK)
        made.probed = Probed(True, "Honoured", "")
        made.adopt(Session(line, client, cast(Any, None), seeing))
        self.seeings.append(seeing)
        return made

    def heard(self) -> None:
        """All clusters have answered just now."""
        for each in self._all:
            each.heard()

    def _changed(self, cluster: str, key: str) -> None:
        self.gates.saw(key, cluster, self.seeings[int(cluster[-2:])].copies.get(key))
        self.deciding.changed(key)

    def _note(self, *_made: object) -> None:
        self.decided += 1


async def _fill(count: int) -> _World:
    world = _World()
    for number in range(count):
        world.heard()
        body = _workload(number)
        world.reader.body = orjson.dumps(body)
        workload = msgspec.json.decode(world.reader.body, type=Workload)
        world.mirrors.workload_view.upsert(workload, listed=False)
        world.mirrors.job_view.upsert(_job(number), listed=False)
        await world.originals.workload(workload.metadata, _attempt(number))
        for cluster, seeing in enumerate(world.seeings):
            event = world.costs.decode(_line(_plan(number, cluster)))
            seeing.costs.upsert(event.object)
            seeing.copy_view.upsert(
                world.copies.decode(_copy_line(body, number, cluster, 1)).object, listed=False
            )
        key = f"n/w{number:05}"
        seen, decision = world.deciding.current(key)
        assert isinstance(decision.here, GiveTurn)
        plan = plan_of(seen, workload, decision.here, by_cost=True)
        world.mirrors.turn_view.upsert(
            msgspec.json.decode(msgspec.json.encode(plan), type=DispatchPlan), listed=False
        )
        world.deciding.changed(key)
        world.deciding.current(key)
        world.deciding.look.take()
        world.deciding.look.done(key)
    return world


def _events(world: _World, lines: Sequence[tuple[int, bytes]]) -> tuple[float, list[float]]:
    """CPU seconds of all these events of copies, and wall seconds of each: decode, store, decide."""
    walls = []
    world.heard()
    began = time.process_time()
    for cluster, line in lines:
        start = time.perf_counter()
        event = world.copies.decode(line)
        world.seeings[cluster].copy_view.upsert(event.object, listed=False)
        key = world.deciding.look.take()
        assert key is not None
        world.deciding.current(key, anew=True)
        world.deciding.look.forget(key)
        world.deciding.look.done(key)
        walls.append(time.perf_counter() - start)
    return time.process_time() - began, walls


def _lines(numbers: range, count: int) -> list[tuple[int, bytes]]:
    """The cluster and the line of each event."""
    return [
        (each % CLUSTERS, _copy_line(_workload(each % count), each % count, each % CLUSTERS, each + 2))
        for each in numbers
    ]


# ---- objects


def _attempt(number: int) -> str:
    return rfc3339(1_790_000_000 + number)


def _workload(number: int) -> Json:
    meta = {
        "name": f"w{number:05}",
        "namespace": "n",
        "uid": f"11111111-1111-4111-8111-{number:012}",
        "resourceVersion": str(number + 1),
        "generation": 1,
        "creationTimestamp": _attempt(number),
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": f"j{number}",
                "uid": f"j{number}",
                "controller": True,
            }
        ],
    }
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "command": ["python", "-m", "train", "--steps", str(number)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"memory": "16Gi"}},
        "env": [{"name": f"SETTING_{at}", "value": "x" * 20} for at in range(10)],
    }
    template = {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    reserved = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "Quota reserved in ClusterQueue q",
        "lastTransitionTime": _attempt(number),
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": meta,
        "spec": {
            "active": True,
            "queueName": "q",
            "priority": 100,
            "podSets": [{"name": "main", "count": 4, "template": template}],
        },
        "status": {
            "conditions": [reserved],
            "admission": {"clusterQueue": "q", "podSetAssignments": []},
            "admissionChecks": [
                {"name": CHECK, "state": "Pending", "message": "", "lastTransitionTime": _attempt(number)}
            ],
        },
    }


def _job(number: int) -> TemplatedJob:
    meta = ObjectMeta(f"j{number}", "n", f"j{number}", resource_version=str(number + 1))
    return TemplatedJob(meta, TemplatedJobSpec(suspend=True, managed_by=CONTROLLER_NAME))


def _copy_line(workload: Json, number: int, cluster: int, version: int) -> bytes:
    mark = Mark(IDENTITY.manager, workload["metadata"]["uid"], _attempt(number))
    body = copy_body(workload, mark, IDENTITY.origin, has_gate=True)
    body["metadata"] |= {
        "uid": f"{cluster:08}-2222-4222-8222-{number:012}",
        "resourceVersion": str(number * 1_000 + version + 10),
        "creationTimestamp": _attempt(number),
        "managedFields": [
            {"manager": "reprieve", "fieldsV1": {"f:status": {f"f:{at}": {} for at in range(60)}}}
        ],
    }
    said = {"lastTransitionTime": _attempt(number), "message": f"{GATED} {cluster} {version}"}
    body["metadata"]["annotations"][FENCED_BY] = IDENTITY.term
    body["status"] = {
        "conditions": [
            {"type": "QuotaReserved", "status": "False", "reason": "AdmissionGated", **said},
            {"type": "BlockedOnPreemptionGates", "status": "True", "reason": "PreemptionGated", **said},
        ],
        "preemptionGates": [
            {"name": MULTIKUEUE_GATE, "position": "Closed", "lastTransitionTime": _attempt(number)}
        ],
    }
    return _line(body)


def _plan(number: int, cluster: int) -> Json:
    uid = f"{cluster:08}-3333-4333-8333-{number:012}"
    meta = {"name": f"p{number}", "namespace": "n", "uid": uid, "labels": {PREEMPTOR_KIND: "Workload"}}
    preemptor = {
        "kind": "Workload",
        "namespace": "n",
        "name": f"w{number:05}",
        "quota": {"clusterQueue": "q"},
    }
    cost = {
        "highestVictimPriority": 5,
        "prioritySum": number,
        "workloads": 4,
        "pods": 16,
        "podSeconds": number,
    }
    spec = {"preemptor": preemptor, "cost": cost}
    return {"metadata": meta | {"resourceVersion": "1"}, "spec": spec, "status": {"phase": "Proposed"}}


def _line(body: Json) -> bytes:
    return orjson.dumps({"type": "MODIFIED", "object": body})


def _resident() -> float:
    """MiB of this process."""
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found is not None else float("nan")
