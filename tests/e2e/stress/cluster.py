"""What the load has made and not yet removed, as the load itself remembers it."""

from __future__ import annotations

import http.client
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.stress.refusals import LABEL, NODES, policies

__all__ = [
    "API_SERVER",
    "FINALIZER",
    "GATED",
    "HOMES",
    "PRIORITIES",
    "RACKS",
    "REPRIEVE",
    "SECOND_SCHEDULER",
    "TAINT",
    "Cluster",
    "Gang",
    "Owned",
    "Training",
]

REPRIEVE: Final = "reprieve.dev/v1alpha1"
SECOND_SCHEDULER: Final = "second-scheduler"
"""The name of a kube-scheduler that does not know reprieve."""
PRIORITIES: Final = (0, 10, 50, 100, 500)
FINALIZER: Final = "stress.example.com/stuck"
TAINT: Final = "stress.example.com/tainted"
HOMES: Final = ("a", "b")
GATED: Final = 0.4
RACKS: Final = 3
COUNT: Final = 6
EXPECTED: Final = frozenset({403, 404, 409, 422, 429, 500, 503, 504})
"""What the API server answers if the object, or its namespace, has just gone or changed, or if it starts or ends."""
API_SERVER: Final = "kube-apiserver"


@dataclass(frozen=True)
class Gang:
    """A PodGroup with the names of its pods, if nobody else creates them."""

    namespace: str
    name: str
    pods: tuple[str, ...]
    job: bool = False
    version: str = REPRIEVE
    """The API version of the group."""


@dataclass(frozen=True)
class Owned:
    """An object other than a gang that is removed by its name."""

    version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True)
class Training:
    """A PyTorchJob and its pods, which the load creates in place of its controller."""

    body: Json
    pods: tuple[Json, ...]
    """Without their owner, whose UID is not known before."""


@dataclass
class Cluster:
    """The cluster under load. Every list is in the order of creation."""

    plane: ControlPlane
    rng: random.Random
    gangs: list[Gang] = field(default_factory=list)
    owned: list[Owned] = field(default_factory=list)
    training: dict[tuple[str, str], Training] = field(default_factory=dict)
    """PyTorchJobs by namespace and name."""
    stuck: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Pods that may not be deleted or marked."""
    nodes: list[str] = field(default_factory=list)
    gated: float = GATED
    """The part of the gangs whose pods have our scheduling gate, as the webhook adds it."""
    namespaces: list[str] = field(default_factory=lambda: list(HOMES))
    later: dict[int, list[Callable[[], object]]] = field(default_factory=dict)
    """What is to be done at a step to come."""
    step: int = 0
    paused: set[str] = field(default_factory=set)
    """The processes of reprieve that are stopped by a signal."""
    _count: int = 0

    @property
    def client(self) -> Client:
        """The administrator's."""
        return self.plane.client

    def prepare(self) -> None:
        """Namespaces, classes, nodes and admission policies."""
        for name in self.namespaces:
            self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for value in PRIORITIES:
            self.client.create(objects.priority_class(f"p{value}", value))
        for body in policies():
            self.client.create(body)
        for _ in range(COUNT):
            self.add_node()

    def name(self, prefix: str) -> str:
        """A name that nothing has had before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def add_node(self) -> None:
        """Another node of two to four CPUs, in one of the racks."""
        name = self.name("n")
        labels = {"rack": f"r{self.rng.randrange(RACKS)}"}
        self.create(objects.node(name, cpu=str(self.rng.randint(2, 4)), pods=20, labels=labels))
        self.nodes.append(name)

    def in_steps(self, most: int, what: Callable[[], object]) -> None:
        """Do it after 1 to `most` steps."""
        self.later.setdefault(self.step + self.rng.randint(1, most), []).append(what)

    def running(self) -> list[str]:
        """The processes of reprieve that run and are not stopped."""
        plane = self.plane
        return [
            name
            for name in plane.layout.replicas
            if name not in self.paused and plane.processes[name].running
        ]

    def start_api_server(self) -> None:
        """The API server runs again, if it was stopped. It is ready a little later."""
        process = self.plane.processes[API_SERVER]
        if not process.running:
            process.start()

    def restart(self, name: str) -> None:
        """A process of reprieve runs again, if it was killed or stopped."""
        process = self.plane.processes[name]
        if name in self.paused:
            process.resume()
            self.paused.remove(name)
        elif not process.running:
            self.plane.start_reprieve(name, wait=False)

    def clear(self) -> None:
        """Take every obstacle away: reprieve runs, nothing sticks or is refused, every node takes pods."""
        self.later.clear()
        self.start_api_server()
        self.plane.wait_api_server()
        for name in self.plane.layout.replicas:
            self.restart(name)
        for proxy in (self.plane.service, *self.plane.networks.values()):
            if proxy is not None:
                proxy.disturb("Reset")  # what was lost in a black hole does not come back
                proxy.disturb("Pass")
        for pod in self.client.list("v1", "Pod"):
            if FINALIZER in (pod["metadata"].get("finalizers") or ()):
                self.set_finalizers((pod["metadata"]["namespace"], pod["metadata"]["name"]), None)
            if LABEL in (pod["metadata"].get("labels") or {}):
                self.refuse((pod["metadata"]["namespace"], pod["metadata"]["name"]), None)
        self.client.patch("v1", "ConfigMap", NODES, {"data": None}, "default")
        for name in self.nodes:
            self.patch_node(name, {"unschedulable": None, "taints": None})
        for name in self.plane.layout.replicas:
            self.plane.wait_reprieve(name)

    # ---- requests; what is not there any longer is no error

    def create(self, body: Json) -> None:
        """Create an object."""
        self._try(lambda: self.client.create(body))

    def patch(
        self, version: str, kind: str, where: tuple[str, str | None], body: Json, sub: str = ""
    ) -> None:
        """Merge into the object that is called (name, namespace)."""
        self._try(lambda: self.client.patch(version, kind, where[0], body, where[1], sub))

    def delete(self, version: str, kind: str, name: str, namespace: str | None = None) -> None:
        """Delete an object."""
        self._try(lambda: self.client.delete(version, kind, name, namespace))

    def delete_gang(self, gang: Gang) -> None:
        """The group and its pods."""
        self.delete(gang.version, "PodGroup", gang.name, gang.namespace)
        if gang.job:
            self.delete("batch/v1", "Job", gang.name, gang.namespace)
        for pod in gang.pods:
            self.delete("v1", "Pod", pod, gang.namespace)

    def pods_of_all(self) -> list[tuple[str, str]]:
        """(namespace, name) of every pod that the load has created itself."""
        single = [(each.namespace, each.name) for each in self.owned if each.kind == "Pod"]
        return single + [(gang.namespace, pod) for gang in self.gangs for pod in gang.pods]

    def set_finalizers(self, pod: tuple[str, str], finalizers: list[str] | None) -> None:
        """Of a pod: whether it stays when it is deleted."""
        self.patch("v1", "Pod", (pod[1], pod[0]), {"metadata": {"finalizers": finalizers}})

    def refuse(self, pod: tuple[str, str], what: str | None) -> None:
        """Of a pod: what the API server refuses to those who preempt."""
        self.patch("v1", "Pod", (pod[1], pod[0]), {"metadata": {"labels": {LABEL: what}}})

    def refuse_bindings(self, node: str, *, refused: bool) -> None:
        """Whether the API server refuses to bind pods to the node."""
        self.patch("v1", "ConfigMap", (NODES, "default"), {"data": {node: "refused" if refused else None}})

    def patch_node(self, name: str, spec: Mapping[str, object]) -> None:
        """Change a node's spec."""
        self.patch("v1", "Node", (name, None), {"spec": dict(spec)})

    def _try(self, request: Callable[[], object]) -> None:
        try:
            request()
        except ApiError as error:
            if error.status not in EXPECTED:
                raise
        except (OSError, http.client.HTTPException):
            return  # a busy machine, or the API server starts anew; the request may have been carried out
