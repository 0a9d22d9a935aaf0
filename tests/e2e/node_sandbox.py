"""Jobs of one test in queues, on several small nodes."""

from __future__ import annotations

from typing import Any, Final

from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import POOL, JobSandbox
from tests.e2e.support import condition, wait_for

__all__ = ["NodeSandbox"]

OURS: Final = "reprieve.dev/v1alpha1"


class NodeSandbox(JobSandbox):
    """The flavor's nodes have 8 CPUs each. Each Job has one pod."""

    def __init__(self, plane: ControlPlane, name: str, nodes: int) -> None:
        super().__init__(plane, name)
        self.client.delete("v1", "Node", self.node)
        self.node_names = [f"{self.name}-{number}" for number in range(nodes)]
        for each in self.node_names:
            self.add_node(each)
        wait_for_nodes(self.client, *self.node_names)
        self.classes = {level: f"{self.name}-{level}" for level in ("low", "middle", "high")}
        for value, each in enumerate(self.classes.values(), 1):
            self.client.create(objects.priority_class(each, value * 10))

    def add_node(self, name: str) -> None:
        taint = {"key": POOL, "value": "any", "effect": "NoSchedule"}
        self.client.create(objects.node(name, cpu="8", labels={POOL: self.pool}, taints=[taint]))

    @property
    def pool(self) -> str:
        return self.name.rpartition("-")[0]

    def one(self, name: str, queue: str, cpus: int, level: str, node: int | None = None, **pod: Any) -> str:
        """A Job of one pod. `node`: it runs there only."""
        where = {"kubernetes.io/hostname": self.node_names[node]} if node is not None else {}
        return self.job(
            name,
            queue,
            pod={"cpu": str(cpus), "priority_class": self.classes[level], "nodeSelector": where, **pod},
        )

    def until_runs(self, *jobs: str) -> None:
        def left() -> list[str]:
            return [each for each in jobs if not self.runs_on(each)]

        wait_for(lambda: not left(), what=lambda: "; ".join(map(self.told, left())))

    def runs_on(self, job: str) -> str:
        """The node of the Job's only pod; empty if it does not run."""
        found = [each for each in self.pods(job) if each["status"]["phase"] == "Running"]
        return str(found[0]["spec"]["nodeName"]) if len(found) == 1 else ""

    def says(self, job: str) -> str:
        said = condition(self.get(self.workload_of(job)), "QuotaReserved")
        return str(said["message"]) if said is not None else ""

    def plans_of(self, job: str) -> list[Json]:
        name = self.workload_of(job)
        plans = self.client.list(OURS, "PreemptionPlan", self.name)
        return [each for each in plans if each["spec"]["preemptor"]["name"] == name]
