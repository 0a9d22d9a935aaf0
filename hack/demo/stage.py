"""What is on stage: three full nodes and a gang, on a control plane of its own, and how it looks at a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane

__all__ = ["Side", "View"]

NAMESPACE = "default"
NODES = ("node-a", "node-b", "node-c")
BATCH_PRIORITY, GANG_PRIORITY = 10, 100


@dataclass(frozen=True)
class View:
    """The pods of one side at one moment: name to node (None while pending), and who is being evicted."""

    running: dict[str, str | None]
    leaving: frozenset[str]

    def count(self, prefix: str) -> int:
        """Pods of this name that are on a node."""
        return sum(node is not None for name, node in self.running.items() if name.startswith(prefix))


@dataclass
class Side:
    """One control plane with the same pods as the other."""

    title: str
    plane: ControlPlane
    gang: int = 0
    evicted: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)

    @property
    def client(self) -> Client:
        """The administrator's."""
        return self.plane.client

    def fill(self) -> None:
        """Three nodes of one GPU, each taken by a batch pod."""
        self.client.create(_priority_class("batch", BATCH_PRIORITY))
        self.client.create(_priority_class("training", GANG_PRIORITY))
        for node, letter in zip(NODES, "abc", strict=True):
            self.client.create(_node(node))
            self.client.create(_pod(f"batch-{letter}", "batch"))

    def start_gang(self, members: int) -> None:
        """A gang that needs a GPU for every member, all or nothing."""
        self.gang = members
        self.client.create(
            {
                "apiVersion": "reprieve.dev/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "train", "namespace": NAMESPACE},
                "spec": {
                    "schedulingPolicy": {"gang": {"minCount": members}},
                    "priorityClassName": "training",
                    "priority": GANG_PRIORITY,
                },
            }
        )
        for i in range(members):
            pod = _pod(f"train-{i}", "training")
            pod["metadata"]["labels"] = {"reprieve.dev/pod-group": "train"}
            self.client.create(pod)

    def look(self) -> View:
        """The pods now."""
        pods = self.client.list("v1", "Pod", NAMESPACE)
        names = {pod["metadata"]["name"] for pod in pods}
        self.evicted |= self.known - names
        self.known |= names
        leaving = {pod["metadata"]["name"] for pod in pods if pod["metadata"].get("deletionTimestamp")}
        self.evicted |= leaving
        running = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods}
        return View(running, frozenset(leaving))

    def why(self) -> str:
        """What the PodGroup's condition says; empty while it says nothing."""
        group = self.client.get("reprieve.dev/v1alpha1", "PodGroup", "train", NAMESPACE)
        return next((c["message"] for c in group.get("status", {}).get("conditions", [])), "")

    def draw(self, view: View) -> RenderableType:
        """The nodes and who is on them."""
        table = Table.grid(padding=(0, 2))
        for node in NODES:
            on_node = sorted(name for name, where in view.running.items() if where == node)
            table.add_row(Text(node, style="dim"), *(_badge(name, view) for name in on_node or [""]))
        waiting = sorted(name for name, where in view.running.items() if where is None)
        pending = Text.assemble(("pending ", "dim"), *_spaced(Text(name, style="yellow") for name in waiting))
        evicted = Text.assemble(
            ("evicted ", "dim"), *_spaced(Text(name, style="red") for name in sorted(self.evicted))
        )
        return Panel(Group(table, Text(), pending, evicted), title=self.title, title_align="left")


def _badge(name: str, view: View) -> Text:
    if not name:
        return Text("free", style="dim italic")
    if name in view.leaving:
        return Text(f" {name} ", style="white on red")
    return Text(f" {name} ", style="black on green" if name.startswith("batch") else "white on blue")


def _spaced(texts: Iterator[Text]) -> Iterator[Text]:
    for text in texts:
        yield text
        yield Text(" ")


def _node(name: str) -> Json:
    room = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    }


def _priority_class(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def _pod(name: str, priority_class: str) -> Json:
    gpu = {"nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "priorityClassName": priority_class,
            "containers": [{"name": "c", "image": "none", "resources": {"requests": gpu, "limits": gpu}}],
        },
    }
