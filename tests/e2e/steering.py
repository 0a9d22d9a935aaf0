"""Gangs of kube-scheduler's own kind that reprieve steers, and what their plans were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.other_kinds import NATIVE, create, object_of
from tests.e2e.support import REPRIEVE, History, Sandbox, condition

__all__ = ["HIGH", "SEVERAL_ATTEMPTS_SECONDS", "Steering", "marks", "steered_in", "victims"]

HIGH: Final = 1000
SEVERAL_ATTEMPTS_SECONDS: Final = 3.0
"""The scheduler's backoff begins at a second."""


@dataclass
class Steering:
    """A sandbox, and what its plans were."""

    plane: ControlPlane
    sandbox: Sandbox
    plans: History

    def gang(self, name: str, members: int, minimum: int | None = None, **pod: Any) -> list[str]:
        """A native gang of high priority. Returns its pods' names: NAME-0, NAME-1 and so on."""
        policy = {"gang": {"minCount": minimum or members}}
        spec = {"schedulingPolicy": policy, "priorityClassName": self.sandbox.priority(HIGH)}
        create(self.sandbox, NATIVE, "PodGroup", name, spec)
        return self.sandbox.pods(name, members, priority=HIGH, schedulingGroup={"podGroupName": name}, **pod)

    def unit(self, name: str, *nodes: str, priority: int = 10) -> list[str]:
        """A native group that is evicted whole, with a running pod on each node. Returns the pods' names."""
        policy = {"gang": {"minCount": len(nodes)}}
        spec = {
            "schedulingPolicy": policy,
            "priorityClassName": self.sandbox.priority(priority),
            "disruptionMode": {"all": {}},
        }
        create(self.sandbox, NATIVE, "PodGroup", name, spec)
        membership = {"podGroupName": name}
        return [
            self.sandbox.pod(
                f"{name}-{number}", priority=priority, node_name=node, schedulingGroup=membership
            )
            for number, node in enumerate(nodes)
        ]

    def plan(self, name: str, phase: str) -> Json:
        """The gang's newest plan, once it has this phase."""
        return self.sandbox.wait_plan(f"podgroups.scheduling.k8s.io:{name}", phase)

    def phases(self, plan: Json) -> list[str]:
        """Those that the plan had, in order."""
        seen: list[str] = []
        for _, each in self.plans.all():
            phase = each.get("status", {}).get("phase")
            if each["metadata"]["uid"] == plan["metadata"]["uid"] and phase and seen[-1:] != [phase]:
                seen.append(phase)
        return seen

    def tried(self, name: str) -> bool:
        """Whether the scheduler has said of the group that it cannot be scheduled."""
        said = condition(object_of(self.sandbox, NATIVE, "PodGroup", name), "PodGroupInitiallyScheduled")
        return said is not None and said["status"] == "False"

    def restart(self, failpoints: str = "", *, wait: bool = True) -> None:
        """Another process of reprieve. It is slow to start on a busy machine."""
        self.plane.reprieve.kill()
        self.plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
        self.plane.start_reprieve(wait=wait)


@contextmanager
def steered_in(plane: ControlPlane, sandbox: Sandbox) -> Iterator[Steering]:
    """In this sandbox, which is removed in the end."""
    plans = History(plane.client, sandbox.namespace, version=REPRIEVE, kind="PreemptionPlan")
    steering = Steering(plane, sandbox, plans)
    if plane.reprieve.environment or not plane.is_ready("reprieve"):  # as the test before has left it
        steering.restart()
    yield steering
    plans.close()
    sandbox.remove()


def marks(sandbox: Sandbox) -> dict[str, str]:
    """By pod with a mark: who wrote it, as the API server knows its writers."""
    found: dict[str, str] = {}
    for _, pod in sandbox.history.all():
        for entry in pod["metadata"].get("managedFields", ()):
            conditions = entry["fieldsV1"].get("f:status", {}).get("f:conditions", {})
            if 'k:{"type":"DisruptionTarget"}' in conditions:
                found[pod["metadata"]["name"]] = entry["manager"]
    return found


def victims(plan: Json) -> dict[str, int]:
    """Each pod that the plan evicts, once."""
    return {pod["name"]: 1 for victim in plan["spec"]["victims"] for pod in victim["pods"]}
