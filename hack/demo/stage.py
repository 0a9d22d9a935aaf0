"""The scene of the demo: three full nodes and a gang, each side on its own control plane."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hack.controlplane import objects
from hack.controlplane.client import Client, Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane

__all__ = ["Side", "View"]

NAMESPACE = "default"
NODES = ("node-a", "node-b", "node-c")
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class View:
    """The pods of one side at one moment: node by pod name (None while pending), and the pods that
    are being evicted."""

    running: dict[str, str | None]
    leaving: frozenset[str]

    def count(self, prefix: str) -> int:
        """The number of pods on a node whose names begin with this prefix."""
        return sum(node is not None for name, node in self.running.items() if name.startswith(prefix))


@dataclass
class Side:
    """One control plane. Both sides have the same pods."""

    title: str
    plane: ControlPlane
    evicted: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)

    @property
    def client(self) -> Client:
        """A client with the administrator's rights."""
        return self.plane.client

    def fill(self) -> None:
        """Create three nodes with one GPU, each taken by a batch pod."""
        if not self.client.list("v1", "Node"):
            self.client.create(objects.priority_class("batch", 10))
            self.client.create(objects.priority_class("training", 100))
            self.client.create_all(_node(node) for node in NODES)
            wait_for_nodes(self.client, *NODES)
        self.client.create_all(_pod(f"batch-{letter}", "batch") for letter in "abc")

    def clear(self) -> None:
        """Delete all pods."""
        self.client.delete("reprieve.dev/v1alpha1", "PodGroup", "train", NAMESPACE)
        for pod in self.client.list("v1", "Pod", NAMESPACE):
            self.client.delete("v1", "Pod", pod["metadata"]["name"], NAMESPACE)
        while self.client.list("v1", "Pod", NAMESPACE):
            time.sleep(0.1)
        self.known, self.evicted = set(), set()

    def start_gang(self, members: int) -> None:
        """Create a gang whose members need one GPU each. All of them must run, or none."""
        self.client.create(objects.pod_group("train", min_count=members, priority_class="training"))
        for i in range(members):
            self.client.create(_pod(f"train-{i}", "training", group="train"))

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
        """The message of the PodGroup's condition; "" while there is none."""
        group = self.client.get("reprieve.dev/v1alpha1", "PodGroup", "train", NAMESPACE)
        return next((c["message"] for c in group.get("status", {}).get("conditions", [])), "")

    def draw(self, view: View) -> RenderableType:
        """A picture of the nodes and their pods."""
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
    node = objects.node(name)
    node["status"]["capacity"][GPU] = "1"
    return node


def _pod(name: str, priority_class: str, group: str | None = None) -> Json:
    pod = objects.pod(name, NAMESPACE, priority_class=priority_class, group=group, requests={GPU: "1"})
    pod["spec"]["containers"][0]["resources"]["limits"] = {GPU: "1"}
    return pod
