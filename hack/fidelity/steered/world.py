"""A cluster of nodes, pods and groups, and a native gang that preempts in it: as data, and as manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from api.groups import SCHEDULING_GATE
from hack.controlplane import objects
from hack.controlplane.client import Json

__all__ = [
    "GANG",
    "HOSTNAME",
    "NATIVE",
    "OTHERS_GATE",
    "OURS",
    "PRIORITY",
    "SLOT",
    "VALUES",
    "Budget",
    "Group",
    "Kind",
    "Member",
    "Nominated",
    "Place",
    "Running",
    "World",
    "class_of",
    "smaller",
]

NATIVE: Final = "scheduling.k8s.io/v1beta1"
OURS: Final = "reprieve.dev/v1alpha1"
HOSTNAME: Final = "kubernetes.io/hostname"
SLOT: Final = "example.com/slot"
"""The label of a node with the namespace of the worlds that have it."""
GANG: Final = "gang"
PRIORITY: Final = 100
"""Of the gang."""
VALUES: Final = (0, 1, 5, PRIORITY, 200)
"""Of the PriorityClasses that worlds use."""
OTHERS_GATE: Final = "example.com/waits"
"""Keeps pods waiting that only hold a nomination."""
DAEMON: Final = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "name": "daemon",
    "uid": "daemon",
    "controller": True,
}

Kind = Literal["all", "single", "basic", "ours"]
"""Native gangs in both disruption modes, native groups without a gang, and our groups in `all` mode."""


@dataclass(frozen=True)
class Running:
    """A pod on a node. Requests are CPUs and GiB."""

    name: str
    node: int
    cpu: int
    memory: int
    priority: int
    start: int | None
    """Minutes; None: it has not started."""
    app: str = ""
    group: str = ""
    port: int = 0
    terminating: bool = False
    daemon: bool = False


@dataclass(frozen=True)
class Group:
    """A group of running pods."""

    name: str
    kind: Kind
    priority: int


@dataclass(frozen=True)
class Budget:
    """It selects the pods of one app; of every app if that is empty."""

    name: str
    app: str
    allowed: int
    disrupted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Member:
    """A pod of the gang."""

    name: str
    cpu: int
    memory: int
    port: int = 0
    apart: str = ""
    """It runs on no node with a pod of this app."""


@dataclass(frozen=True)
class Nominated:
    """A pod that waits, and that is nominated to a node."""

    name: str
    node: int
    cpu: int
    memory: int
    priority: int


@dataclass(frozen=True)
class World:
    """All objects. Names are without the prefix of a `Place`."""

    seed: int
    nodes: tuple[tuple[int, int], ...]
    """CPUs and GiB."""
    pods: tuple[Running, ...]
    groups: tuple[Group, ...]
    budgets: tuple[Budget, ...]
    members: tuple[Member, ...]
    minimum: int
    """The gang's minCount."""
    nominated: tuple[Nominated, ...] = ()

    def kind_of(self, pod: Running) -> Kind | None:
        """The kind of the pod's group; None if it has none."""
        return next((each.kind for each in self.groups if each.name == pod.group), None)

    def units(self) -> list[tuple[Running, ...]]:
        """Pods that are evicted together: native `all` groups, groups of ours, and single pods."""
        whole: dict[str, list[Running]] = {}
        for pod in self.pods:
            key = pod.group if self.kind_of(pod) in ("all", "ours") else f"/{pod.name}"
            whole.setdefault(key, []).append(pod)
        return [tuple(pods) for pods in whole.values()]


def class_of(value: int) -> str:
    """The name of the PriorityClass of this value."""
    return f"steered-{value}"


@dataclass(frozen=True)
class Place:
    """A namespace with nodes of its own, in which one world is at a time. The prefix makes names of objects unique."""

    namespace: str
    prefix: str = ""

    def node(self, number: int) -> str:
        """The name of a node, which stays from world to world."""
        return f"{self.namespace}-n{number}"

    def full(self, name: str) -> str:
        """The name of any other object."""
        return f"{self.prefix}{name}"

    def short(self, name: str) -> str:
        """The opposite."""
        return name.removeprefix(self.prefix)

    def capacity(self, world: World, number: int) -> Json:
        """The status of a node."""
        cpu, memory = world.nodes[number]
        amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
        return {"status": {"capacity": amounts, "allocatable": amounts}}

    def groups(self, world: World) -> Iterator[Json]:
        """The PodGroups, that of the gang too."""
        yield self._group(GANG, PRIORITY, min_count=world.minimum, mode="single", api_version=NATIVE)
        for each in world.groups:
            size = sum(pod.group == each.name for pod in world.pods)
            mode = None if each.kind == "basic" else "single" if each.kind == "single" else "all"
            yield self._group(
                each.name,
                each.priority,
                min_count=None if each.kind == "basic" else max(1, size),
                mode=mode,
                api_version=OURS if each.kind == "ours" else NATIVE,
            )

    def _group(self, name: str, priority: int, **group: Any) -> Json:
        return objects.pod_group(self.full(name), self.namespace, priority_class=class_of(priority), **group)

    def running(self, world: World, pod: Running) -> tuple[Json, Json | None]:
        """A pod that runs, and its status; None if it has not started."""
        kind = world.kind_of(pod)
        spec: Json = (
            {"schedulingGroup": {"podGroupName": self.full(pod.group)}} if kind and kind != "ours" else {}
        )
        body = self._pod(
            pod.name, pod.cpu, pod.memory, pod.priority, pod.port,
            node_name=self.node(pod.node),
            group=self.full(pod.group) if kind == "ours" else None,
            labels={"app": pod.app} if pod.app else {},
            finalizers=["example.com/lingers"] if pod.terminating else (),
            **spec,
        )  # fmt: skip
        if pod.daemon:
            body["metadata"]["ownerReferences"] = [DAEMON]
        if pod.start is None:
            return body, None
        since = f"2026-01-01T00:{pod.start:02}:00Z"
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
        return body, {"status": {"phase": "Running", "startTime": since, "conditions": [ready]}}

    def waiting(self, world: World) -> Iterator[Json]:
        """The members of the gang, and the pods that are nominated. All have a gate."""
        for each in world.members:
            spec: Json = {"schedulingGroup": {"podGroupName": self.full(GANG)}}
            if each.apart:
                term = {"labelSelector": {"matchLabels": {"app": each.apart}}, "topologyKey": HOSTNAME}
                spec["affinity"] = {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                }
            gates = [{"name": SCHEDULING_GATE}]
            yield self._pod(
                each.name, each.cpu, each.memory, PRIORITY, each.port,
                schedulingGates=gates, nodeSelector={SLOT: self.namespace}, **spec,
            )  # fmt: skip
        for other in world.nominated:
            gates = [{"name": OTHERS_GATE}]
            yield self._pod(other.name, other.cpu, other.memory, other.priority, schedulingGates=gates)

    def _pod(self, name: str, cpu: int, memory: int, priority: int, port: int = 0, **pod: Any) -> Json:
        body = objects.pod(
            self.full(name),
            self.namespace,
            cpu=str(cpu) if cpu else None,
            requests={"memory": f"{memory}Gi"} if memory else {},
            priority_class=class_of(priority),
            **pod,
        )
        if port:
            body["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
        return body

    def budget(self, each: Budget, now: str) -> tuple[Json, Json]:
        """A PodDisruptionBudget, and its status, which no controller writes here."""
        body = objects.pod_disruption_budget(self.full(each.name), self.namespace, {}, min_available=0)
        body["spec"]["selector"] = {"matchLabels": {"app": each.app}} if each.app else {}
        counts = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, "observedGeneration": 1}
        disrupted = {self.full(name): now for name in each.disrupted}
        return body, {"status": {"disruptionsAllowed": each.allowed, "disruptedPods": disrupted, **counts}}


def smaller(world: World) -> Iterator[World]:
    """The world without some of its things: many first, then fewer."""
    for field in ("pods", "groups", "budgets", "nominated"):
        things = getattr(world, field)
        size = len(things)
        while size:
            for start in range(0, len(things), size):
                yield _whole(replace(world, **{field: things[:start] + things[start + size :]}))
            size //= 2
    for place in range(len(world.members)):
        members = world.members[:place] + world.members[place + 1 :]
        if members:
            yield replace(world, members=members, minimum=min(world.minimum, len(members)))


def _whole(world: World) -> World:
    """The world, in which pods of a group that is gone are pods without a group."""
    names = {each.name for each in world.groups}
    pods = tuple(each if each.group in names else replace(each, group="") for each in world.pods)
    return replace(world, pods=pods)
