"""A cluster as the probe reads it, and what happens in it."""

from __future__ import annotations

from dataclasses import dataclass

from hack.fidelity.selectors import Json

__all__ = ["Step", "World"]


@dataclass
class Step:
    """What happens in a cluster: pods go, or a member is asked about and then placed."""

    remove: list[str]
    """Names of bound pods."""
    member: str = ""
    node: str = ""
    """Where the member is placed, whether or not it fits; empty: it is only asked about."""


@dataclass
class World:
    """A cluster, the members of a gang that look for nodes, and what happens."""

    family: str
    nodes: list[Json]
    pods: list[Json]
    """They are bound. No two have the same name."""
    members: list[Json]
    objects: dict[str, list[Json]]
    """Other objects, by the name of the list in the case (see main.go)."""
    steps: list[Step]
    configuration: Json | None = None
    """A KubeSchedulerConfiguration with one profile; None: the default."""
    topology: str = ""
    """The topology key of the gang's PodGroup; empty: the whole cluster is one domain."""

    @property
    def case(self) -> Json:
        """As the probe reads it."""
        pods = {pod["metadata"]["name"]: pod for pod in [*self.pods, *self.members]}
        steps = [
            {
                "remove": [
                    f"{pods[name]['metadata']['namespace']}/{name}" for name in step.remove if name in pods
                ],
                "pod": pods.get(step.member),
                "node": step.node,
            }
            for step in self.steps
        ]
        lists = {"nodes": self.nodes, "pods": self.pods, **self.objects}
        return {**lists, "configuration": self.configuration, "steps": steps}
