"""Gangs of kube-scheduler's own kind on a real scheduler, with an extender that answers as the test says.

The scheduler has its extenders for the life of its process. So one stub serves all tests on a plane, and knows by the
namespace of a pod whose answer it has to give.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from api.times import rfc3339
from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.plane import Options
from hack.controlplane.stub_extender import answering
from tests.e2e.other_kinds import NATIVE
from tests.e2e.support import Sandbox, condition, wait_for

__all__ = [
    "GENERIC_WORKLOAD",
    "HIGH",
    "LONGEST_BACKOFF",
    "OTHER_SCHEDULER",
    "Call",
    "Natives",
    "Stub",
    "everybody",
    "nobody",
    "words",
]

GENERIC_WORKLOAD: Final = "GenericWorkload"
SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""The condition of a PodGroup with the result of its last attempt."""
HIGH: Final = 100
"""The priority of gangs. Pods that are in their way have 10."""
LONGEST_BACKOFF: Final = 4
"""Seconds, of a single pod. That of a group is this times the square root of its members."""
OTHER_SCHEDULER: Final = "another-scheduler"
"""The name of a second profile of the same scheduler."""
PLACEMENTS: Final = "pod group is unschedulable, 0/1 placements are available, first placement status: "
"""What a scheduler with TopologyAwareWorkloadScheduling says first."""
GATES: Final = [{"name": "example.com/held"}]

Offer = Callable[[str, Sequence[str]], Sequence[str] | None]
"""Gets the name of a pod and the names of nodes, and says on which of them the pod may run; None: no answer."""


def everybody(pod: str, nodes: Sequence[str]) -> Sequence[str]:
    """An offer of all nodes."""
    return nodes


def nobody(pod: str, nodes: Sequence[str]) -> Sequence[str]:
    """An offer of no node."""
    return ()


def words(said: Json) -> str:
    """The message of a condition, as a scheduler without domains gives it."""
    message: str = said["message"]
    return message.replace(PLACEMENTS, "")


@dataclass(frozen=True)
class Call:
    """A call of filter."""

    pod: str
    nodes: tuple[str, ...]
    """Without the prefix of the sandbox."""
    at: float
    """When it came, in monotonic seconds."""
    answered: float
    """When the stub knew the answer."""


class Stub:
    """The extender of a plane."""

    def __init__(self) -> None:
        self.url = ""
        self.sandboxes: dict[str, Natives] = {}
        """By namespace. Pods of other namespaces, and pods without a group, may run on any node."""

    @classmethod
    @contextmanager
    def serving(cls) -> Iterator[Self]:
        """Serves while the context lasts."""
        stub = cls()
        with answering(stub._answer) as stub.url:
            yield stub

    @property
    def options(self) -> Options:
        """A plane with the gate on whose scheduler calls this stub, filter as ours, and comes back soon."""
        common = {"urlPrefix": self.url, "nodeCacheCapable": True}
        settings = {
            "extenders": [
                {**common, "filterVerb": "filter", "ignorable": True, "httpTimeout": "2s"},
                {**common, "preemptVerb": "preempt"},
            ],
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": LONGEST_BACKOFF,
            "profiles": [{"schedulerName": name} for name in ("default-scheduler", OTHER_SCHEDULER)],
        }
        gates, apis = {GENERIC_WORKLOAD: True}, {NATIVE: True}
        return Options(feature_gates=gates, runtime_config=apis, scheduler_settings=settings)

    def _answer(self, path: str, body: bytes) -> Mapping[str, object] | None:
        sent, at = json.loads(body), time.monotonic()
        meta = sent["Pod"]["metadata"]
        natives = self.sandboxes.get(meta["namespace"])
        if path.endswith("preempt"):
            if natives is not None:
                natives.preempt_calls.append(meta["name"])
            return {"NodeNameToMetaVictims": sent["NodeNameToMetaVictims"]}
        names = sent["NodeNames"] or []
        in_group = "schedulingGroup" in sent["Pod"]["spec"]
        offered = natives.answer(meta["name"], names, at) if natives is not None and in_group else names
        if offered is None:
            return None
        return {
            "NodeNames": offered,
            "FailedNodes": {name: "not offered" for name in names if name not in offered},
        }


@dataclass
class Natives:
    """A sandbox for native gangs. Names of nodes are without the sandbox's prefix here."""

    sandbox: Sandbox
    offer: Offer = everybody
    """What the extender answers when filter is called for a member."""
    calls: list[Call] = field(default_factory=list)
    """The calls of filter for members, in order."""
    preempt_calls: list[str] = field(default_factory=list)
    """The pods that preempt was called for, in order."""

    def answer(self, pod: str, nodes: Sequence[str], at: float) -> list[str] | None:
        """What the stub says to a call of filter. The names of nodes have the prefix."""
        short = tuple(map(self.short, nodes))
        offered = self.offer(pod, short)
        self.calls.append(Call(pod, short, at, time.monotonic()))
        return None if offered is None else [self.full(name) for name in offered]

    def full(self, node: str) -> str:
        """A node's name on the cluster."""
        return f"{self.sandbox.namespace}-{node}"

    def short(self, node: str) -> str:
        """The opposite."""
        return node.removeprefix(f"{self.sandbox.namespace}-")

    def gang(
        self, name: str, members: int, *, min_count: int | None = None, held: bool = False, **pod: Any
    ) -> list[str]:
        """A gang and its pods NAME-0, NAME-1 and so on; returns the pods' names.

        All have a gate until the scheduler knows all of them. With `held` they keep it.
        """
        created = [self.member(name, f"{name}-{number}", **pod) for number in range(members)]
        self.group(name, min_count or members)
        if not held:
            self.open(*created)
        return created

    def group(self, name: str, min_count: int, *, priority: int | None = HIGH, **spec: Any) -> Json:
        """Create a PodGroup; returns the object."""
        if priority is not None:
            spec.setdefault("priority_class", self.sandbox.priority(priority))
        body = objects.pod_group(
            name, self.sandbox.namespace, min_count=min_count, api_version=NATIVE, **spec
        )
        return self.sandbox.client.create(body)

    def member(self, group: str, name: str, *, priority: int | None = HIGH, **pod: Any) -> str:
        """Create a pod of a group, with a gate; returns its name."""
        membership = {"podGroupName": group}
        self.sandbox.pod(name, priority=priority, schedulingGroup=membership, schedulingGates=GATES, **pod)
        return name

    def open(self, *pods: str) -> None:
        """Remove the gates of pods, one after the other."""
        for pod in pods:
            self._patch(pod, {"spec": {"schedulingGates": None}})

    def nominate(self, pod: str, node: str) -> None:
        """Nominate a pod to a node; "" takes the nomination away."""
        self._patch(pod, {"status": {"nominatedNodeName": self.full(node) if node else None}}, "status")

    def add_condition(self, pod: str, **parts: str) -> None:
        """Add a condition to a pod.

        It begins now: a controller of Kubernetes takes back a DisruptionTarget that seems to be older than two minutes.
        """
        found = self.sandbox.client.get("v1", "Pod", pod, self.sandbox.namespace)
        new = {"status": "True", "lastTransitionTime": rfc3339(time.time()), **parts}
        conditions = [*found["status"].get("conditions", ()), new]
        self._patch(pod, {"status": {"conditions": conditions}}, "status")

    def object(self, group: str) -> Json:
        """A PodGroup as it is now."""
        return self.sandbox.client.get(NATIVE, "PodGroup", group, self.sandbox.namespace)

    def said(self, group: str, text: str = "") -> Json:
        """The condition of a PodGroup, once it has the text."""

        def look() -> Json | None:
            found = condition(self.object(group), SCHEDULED)
            return found if found is not None and text in found["message"] else None

        return wait_for(look, what=lambda: f"not {text!r}: {self.object(group)}\n{self.sandbox.report()}")

    def scheduled(self, group: str) -> Json | None:
        """The condition of a PodGroup that has been scheduled; None before."""
        found = condition(self.object(group), SCHEDULED)
        return found if found is not None and found["status"] == "True" else None

    def fits_nowhere(self, pod: str) -> str:
        """What the scheduler says of a pod that fits nowhere; empty if it says something else."""
        found = condition(self.sandbox.get_pod(pod) or {}, "PodScheduled") or {}
        message: str = found.get("message", "")
        return message if message.startswith("0/") else ""

    def wait_calls(self, count: int) -> list[Call]:
        """Until filter was called this often for members; returns these calls."""
        wait_for(lambda: len(self.calls) >= count, what=lambda: f"{self.calls}\n{self.sandbox.report()}")
        return self.calls[:count]

    def wait_bound(self, *pods: str) -> dict[str, str]:
        """Until these pods are bound; returns their nodes."""
        bound = self.sandbox.wait_bound(*pods)
        return {pod: self.short(bound[pod]) for pod in pods}

    def wait_awake(self, name: str, **pod: Any) -> None:
        """Until an ordinary pod is bound that is made now. Then the scheduler has seen all earlier writes to pods."""
        self.sandbox.pod(name, priority=HIGH, **pod)
        self.sandbox.wait_bound(name)

    def _patch(self, pod: str, change: Json, part: str = "") -> None:
        self.sandbox.client.patch("v1", "Pod", pod, change, self.sandbox.namespace, part)
