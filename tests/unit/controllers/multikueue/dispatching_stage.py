"""A manager and its worker clusters in memory, for what acts: each API server is a few dictionaries, and writes are
seen at once."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, Final, cast

import msgspec
import orjson

from api.clock import Clock
from api.meta import ObjectMeta
from api.multikueue import CONTROLLER_NAME
from api.times import rfc3339
from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.acting.gathering import Gathering
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.acting.originals import Originals
from controllers.multikueue.clusters.client import Line, WorkerClient
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.clusters.connection import Connection, Session
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.probe import Probed
from controllers.multikueue.clusters.seeing import Seeing
from controllers.multikueue.metrics import forget
from kube.client import ApiClient
from kube.sender import Sender
from runtime.mirror.views import View
from runtime.terms.term import Term
from tests.kit.apiserver import Api, Written
from tests.kit.clock import ManualClock
from tests.kit.views import unconnected

__all__ = [
    "CHECK",
    "JOBS",
    "KEY",
    "RESERVED",
    "TURNS",
    "WORKLOADS",
    "Followed",
    "Stage",
    "condition",
    "job",
    "workload",
]

Json = dict[str, Any]

CHECK: Final = "clusters"
KEY: Final = "n/w"
RESERVED: Final = "2026-01-01T00:00:00Z"
WORKLOADS: Final = "/apis/kueue.x-k8s.io/v1beta2/workloads"
JOBS: Final = "/apis/batch/v1/jobs"
TURNS: Final = "/apis/reprieve.dev/v1alpha1/dispatchplans"
GROUPS: Final = "/apis/reprieve.dev/v1alpha1/podgroups"
TEMPLATE: Final[Json] = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> Json:
    """A condition of a Workload."""
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": RESERVED,
    }


def workload(name: str = "w", **status: Any) -> Json:
    """A Workload that holds quota and has the check. `status`: more fields, or others."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j", "controller": True}
    check = {"name": CHECK, "state": "Pending", "message": "", "lastTransitionTime": RESERVED}
    given = {
        "conditions": [condition("QuotaReserved")],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1}]},
        "admissionChecks": [check],
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"uid-{name}",
            "generation": 1,
            "ownerReferences": [owner],
        },
        "spec": {
            "queueName": "q",
            "priority": 10,
            "active": True,
            "podSets": [{"name": "main", "count": 1, "template": TEMPLATE}],
        },
        "status": given | status,
    }


def job(**spec: Any) -> Json:
    """The Job that owns it."""
    given = {
        "suspend": True,
        "managedBy": CONTROLLER_NAME,
        "parallelism": 1,
        "completions": 1,
        "template": TEMPLATE,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "uid-j"},
        "spec": given | spec,
        "status": {},
    }


class Followed(Api):
    """An API server whose objects are seen at once by views."""

    def __init__(self, cluster: str, log: list[tuple[str, str, str]]) -> None:
        """`log` gets cluster, method and path of each write."""
        super().__init__()
        self.cluster = cluster
        self._log = log
        self._views: list[tuple[View[Any], dict[str, Json]]] = []

    def follow(self, view: View[Any]) -> None:
        """The view shows what there is, from now on."""
        view.replaced(set(), "")
        self.of(view.resource.path)
        self._views.append((view, {}))

    def put(self, path: str, *values: Json) -> None:
        """See `Api.put`."""
        super().put(path, *values)
        self._show()

    def remove(self, path: str, name: str) -> None:
        """The object is gone."""
        del self.of(path)[name]
        self._show()

    def wrote(self, written: Written) -> None:
        """See `Api.wrote`."""
        super().wrote(written)
        self._log.append((self.cluster, written.method, written.path))
        self._show()

    def _show(self) -> None:
        for view, shown in self._views:
            now = self.of(view.resource.path)
            for name in shown.keys() - now.keys():
                meta = shown.pop(name)["metadata"]
                view.delete(ObjectMeta(name, meta["namespace"], meta["uid"], self.next_version()))
            for name, value in now.items():
                if shown.get(name) != value:
                    shown[name] = deepcopy(value)
                    item = msgspec.json.decode(orjson.dumps(value), type=view.resource.type)
                    view.upsert(item, listed=False)


class Fleet:
    """The connections, as `Clusters` has them."""

    def __init__(self, connections: dict[str, Connection]) -> None:
        self.connections = connections
        self.configured: tuple[str, ...] | None = tuple(connections)
        """Those of the check's config; None if it is not known."""

    def get(self, name: str) -> Connection | None:
        """See `Clusters.get`."""
        return self.connections.get(name)

    def is_check(self, name: str) -> bool:
        """See `Clusters.is_check`."""
        return name == CHECK

    def config_of(self, _check: str) -> tuple[str, ...] | None:
        """See `Clusters.config_of`."""
        return self.configured

    def __iter__(self) -> Iterator[Connection]:
        return iter(self.connections.values())


class Stage:
    """All of them. Every worker cluster is connected, and honours gates."""

    def __init__(self, *names: str, clock: Clock | None = None) -> None:
        self.log: list[tuple[str, str, str]] = []
        """Cluster (empty: the manager's), method and path of each write."""
        self.clock = clock or ManualClock()
        self.term = Term(1, self.clock, holder="manager-1")
        self.hooks = Hooks()
        self.here = Followed("", self.log)
        self.mirrors = Mirrors(unconnected())
        for view in self.mirrors.views:
            self.here.follow(view)
        self.client = cast(ApiClient, self.here)
        self.workers = {name: Followed(name, self.log) for name in names}
        self.fleet = Fleet({name: self._connected(name) for name in names})
        self.clusters = cast(Clusters, self.fleet)
        self.identity = Identity("uid-manager", "origin", "manager-1/1", 900.0)
        self.originals, self.gates = Originals(self.client, self.clock), OpenGates(self.clock)

    def sender(self) -> Sender:
        """For writes here. It tries once."""
        return Sender(self.client, attempts=1, fence=self.term)

    def gathering(self) -> Gathering:
        """What is seen."""
        return Gathering(self.mirrors, self.clusters, self.originals, self.gates, self.identity, self.clock)

    def _connected(self, name: str) -> Connection:
        api = self.workers[name]
        connection = Connection(name, 900.0, self.hooks, self.clock)
        connection.probed = Probed(True, "Honoured", "")
        client = cast(WorkerClient, api)
        seeing = Seeing(client, "origin", self.hooks, self.clock)
        for view in seeing.views:
            api.follow(view)
        line = cast(Line, SimpleNamespace(is_prompt=True))
        connection.adopt(Session(line, client, Sender(client, attempts=1, fence=self.term), seeing))
        return connection

    # ---- what others do

    def comes(self, name: str) -> None:
        """There is another worker cluster, and the check names it."""
        self.workers[name] = Followed(name, self.log)
        self.fleet.connections[name] = self._connected(name)
        self.fleet.configured = tuple(self.fleet.connections)
        self.hooks.clusters.changed(name)

    def goes(self, name: str) -> None:
        """The MultiKueueCluster is gone, and the check no longer names it."""
        self.fleet.connections.pop(name).ended()
        self.fleet.configured = tuple(self.fleet.connections)
        del self.workers[name]
        self.hooks.clusters.changed(name)
        forget(name)

    def submit(self, **status: Any) -> None:
        """The Workload and its Job are here."""
        self.here.put(JOBS, job())
        self.here.put(WORKLOADS, workload(**status))

    def change(self, cluster: str, path: str, name: str, *conditions: Json, **status: Any) -> None:
        """Somebody writes the status of an object. Conditions of the same type are replaced."""
        api = self.workers[cluster] if cluster else self.here
        found = api.of(path)[name]
        kinds = {each["type"] for each in conditions}
        before = found.get("status") or {}
        kept = [each for each in before.get("conditions", ()) if each["type"] not in kinds]
        found["status"] = {**before, **status}
        if conditions:
            found["status"]["conditions"] = [*kept, *conditions]
        api.put(path, found)

    def copy(self, cluster: str) -> Json | None:
        """The copy there."""
        return self.workers[cluster].of(WORKLOADS).get("w")

    def gate(self, cluster: str) -> str:
        """The position of the copy's gate."""
        copy = self.copy(cluster) or {}
        states = copy.get("status", {}).get("preemptionGates") or [{"position": "Missing"}]
        return str(states[0]["position"])

    def closed(self) -> list[Json]:
        """The gate as a quota controller writes it first."""
        time = rfc3339(self.clock.wall())
        return [{"name": "kueue.x-k8s.io/multikueue", "position": "Closed", "lastTransitionTime": time}]
