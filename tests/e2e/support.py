"""What the scenarios are written in: a sandbox of one's own on some cluster, and short words for what happens there.

A sandbox keeps to itself also on a cluster with other users: its nodes carry a taint and a label that only its pods
tolerate and select, and every name that is not namespaced is prefixed with the namespace's.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json, Watch
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import ProcessFailedError
from tests.kit.clock import PATIENCE_SECONDS

__all__ = [
    "FOREIGN",
    "HERE",
    "REPRIEVE",
    "History",
    "PlaneFactory",
    "ReprieveFactory",
    "Sandbox",
    "SandboxFactory",
    "condition",
    "names",
    "wait_for",
    "may",
]

REPRIEVE: Final = "reprieve.dev/v1alpha1"
SANDBOX: Final = "reprieve.dev/sandbox"
POLL_SECONDS: Final = 0.05
POLL_SECONDS_MOST: Final = 0.2
POLL_GROWTH: Final = 1.2

T = TypeVar("T")

HERE: Final = Path(__file__).parent
FOREIGN: Final = os.environ.get("REPRIEVE_E2E_KUBECONFIG")
"""The kubeconfig of a cluster that is not ours, if the tests are to run on one."""

PlaneFactory = Callable[..., ControlPlane]
SandboxFactory = Callable[[ControlPlane], "Sandbox"]
ReprieveFactory = Callable[..., tuple[ControlPlane, "Sandbox"]]


def wait_for(
    look: Callable[[], T | None],
    seconds: float = PATIENCE_SECONDS,
    what: str | Callable[[], object] = "it does not happen",
) -> T:
    """Look until what is seen is true, and return it. Fails the test with `what` after the given time.

    It looks less and less often: most looks ask an API server, whose CPU time the tests need.
    """
    deadline = time.monotonic() + seconds
    pause = POLL_SECONDS
    while not (seen := look()):
        if time.monotonic() > deadline:
            pytest.fail(f"{what() if callable(what) else what} (waited {seconds} s)")
        time.sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_SECONDS_MOST)
    return seen


def names(found: Collection[Json]) -> list[str]:
    """The names of objects, sorted."""
    return sorted(body["metadata"]["name"] for body in found)


def created(body: Json) -> str:
    """When the object was created, to the second."""
    stamp: str = body["metadata"]["creationTimestamp"]
    return stamp


def condition(body: Json, kind: str) -> Json | None:
    """The condition of a type, or None."""
    conditions: list[Json] = body.get("status", {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == kind), None)


@dataclass
class History:
    """Every state that the pods of a namespace were seen in, by watching in a thread. Or objects of another kind.

    What is asked of it is answered once the watch has seen all that a list shows by then."""

    client: Client
    namespace: str
    states: list[tuple[str, Json]] = field(default_factory=list)
    """(ADDED, MODIFIED or DELETED; the pod), in order."""
    version: str = "v1"
    kind: str = "Pod"
    _watch: Watch = field(init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._watch = self.client.watch(self.version, self.kind, self.namespace)
        self._thread = threading.Thread(target=self._follow, name=f"history of {self.namespace}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._watch.close()
        self._thread.join()

    def evictions(self) -> dict[str, int]:
        """Pod name to how often it was preempted: distinct pods (UIDs) marked with DisruptionTarget and terminating."""
        marked = {
            (pod["metadata"]["name"], pod["metadata"]["uid"])
            for _, pod in self.all()
            if pod["metadata"].get("deletionTimestamp") and _is_preempted(pod)
        }
        counts: dict[str, int] = {}
        for name, _ in marked:
            counts[name] = counts.get(name, 0) + 1
        return counts

    def evicted(self) -> list[str]:
        """The names of the pods that were preempted, sorted."""
        return sorted(self.evictions())

    def deleted(self) -> list[str]:
        """The names of the pods that are gone, or were at some time, whoever deleted them."""
        return sorted({pod["metadata"]["name"] for kind, pod in self.all() if kind == "DELETED"})

    def nominations(self, name: str) -> list[str]:
        """The values that a pod's nominatedNodeName had, in order; "" for none."""
        seen: list[str] = []
        for _, pod in self.all():
            nominated = pod.get("status", {}).get("nominatedNodeName", "")
            if pod["metadata"]["name"] == name and seen[-1:] != [nominated]:
                seen.append(nominated)
        return seen

    def all(self) -> list[tuple[str, Json]]:
        """`states` up to now."""
        wait_for(self._has_seen_all, what="the watch does not show what a list does")
        return list(self.states)

    def _has_seen_all(self) -> bool:
        """Whether the last state of every pod is at least as new as in a list, and no other pod is left."""
        there = _versions(self.client.list(self.version, self.kind, self.namespace))
        last = {pod["metadata"]["uid"]: (kind, pod) for kind, pod in list(self.states)}
        left = _versions(pod for kind, pod in last.values() if kind != "DELETED")
        gone = last.keys() - left.keys()
        return left.keys() <= there.keys() and all(
            uid in gone or left.get(uid, 0) >= version for uid, version in there.items()
        )

    def _follow(self) -> None:
        for event in self._watch:
            self.states.append((event["type"], event["object"]))


def _versions(pods: Iterable[Json]) -> dict[str, int]:
    """UID to resourceVersion, a number that grows with every write."""
    return {pod["metadata"]["uid"]: int(pod["metadata"]["resourceVersion"]) for pod in pods}


def _is_preempted(pod: Json) -> bool:
    target = condition(pod, "DisruptionTarget")
    # The scheduler's patch has only what differs from a mark of ours. If that is withdrawn first, no reason is left.
    return target is not None and target.get("reason") == "PreemptionByScheduler"


class Sandbox:
    """A namespace, with nodes and priority classes that belong to it. What is in it goes with `remove`."""

    def __init__(self, client: Client, namespace: str, plane: ControlPlane | None = None) -> None:
        self.client = client
        self.namespace = namespace
        self.plane = plane
        """Whose processes a test may stop; None on a cluster that is not ours."""
        self._nodes: list[str] = []
        self._classes: dict[tuple[int, str], str] = {}
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        wait_for(
            lambda: client.find("v1", "ServiceAccount", "default", namespace),
            what="no default service account",
        )
        self.history = History(client, namespace)

    def node(
        self, name: str, *, wait: bool = True, labels: Mapping[str, str] | None = None, **node: Any
    ) -> str:
        """Create a node (see objects.node) and wait until it can be used; returns its name on the cluster."""
        full = f"{self.namespace}-{name}"
        taint = {"key": SANDBOX, "value": self.namespace, "effect": "NoSchedule"}
        node["taints"] = [taint, *node.get("taints", ())]
        body = objects.node(full, labels={SANDBOX: self.namespace, **(labels or {})}, **node)
        body["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
        self._nodes.append(full)
        self.client.create(body)
        if wait:
            self.wait_nodes(full)
        return full

    def nodes(self, count: int, **node: Any) -> list[str]:
        """Create nodes n0, n1 and so on that are alike."""
        created = [self.node(f"n{number}", wait=False, **node) for number in range(count)]
        self.wait_nodes(*created)
        return created

    def wait_nodes(self, *created: str) -> None:
        """Until KWOK plays them. Skips the test on a cluster that is not ours and where nobody simulates nodes."""
        try:
            wait_for_nodes(self.client, *created, seconds=PATIENCE_SECONDS)
        except ProcessFailedError as error:
            if self.plane is not None:
                raise
            pytest.skip(f"KWOK does not run on this cluster: {error}")

    def priority(self, value: int, policy: str = "PreemptLowerPriority") -> str:
        """The name of a PriorityClass of this value."""
        key = value, policy
        if key not in self._classes:
            text = str(value).replace("-", "minus-")
            self._classes[key] = f"{self.namespace}-{text}{'-never' if policy == 'Never' else ''}"
            self.client.create(objects.priority_class(self._classes[key], value, policy=policy))
            probe = objects.pod("probe", self.namespace, priority_class=self._classes[key])
            wait_for(
                lambda: self.client.admits(probe), what="the admission plugin does not learn of the class"
            )
        return self._classes[key]

    def pod(self, name: str, *, priority: int | None = None, **pod: Any) -> str:
        """Create a pod (see objects.pod); returns its name."""
        self.client.create(self.pod_body(name, priority=priority, **pod))
        return name

    def pod_body(self, name: str, *, priority: int | None = None, **pod: Any) -> Json:
        """A pod for this sandbox's nodes."""
        if priority is not None:
            pod["priority_class"] = self.priority(priority)
        pod["nodeSelector"] = {SANDBOX: self.namespace, **pod.get("nodeSelector", {})}
        pod["tolerations"] = [{"key": SANDBOX, "operator": "Exists"}, *pod.get("tolerations", ())]
        return objects.pod(name, self.namespace, **pod)

    def pods(self, prefix: str, count: int, **pod: Any) -> list[str]:
        """Create pods PREFIX-0, PREFIX-1 and so on that are alike."""
        return [self.pod(f"{prefix}-{number}", **pod) for number in range(count)]

    def group(self, name: str, *, priority: int | None = None, **group: Any) -> str:
        """Create a PodGroup (see objects.pod_group); returns its name."""
        if priority is not None:
            group["priority_class"] = self.priority(priority)
        self.client.create(objects.pod_group(name, self.namespace, **group))
        return name

    def gang(
        self,
        name: str,
        members: int,
        *,
        min_count: int | None = None,
        priority: int | None = None,
        mode: str | None = None,
        topology: str | None = None,
        **pod: Any,
    ) -> list[str]:
        """Create a gang and its pods NAME-0, NAME-1 and so on; returns the pods' names."""
        self.group(name, min_count=min_count or members, priority=priority, mode=mode, topology=topology)
        return self.pods(name, members, priority=priority, group=name, **pod)

    def claim(self, name: str = "claim") -> dict[str, Any]:
        """Create a ResourceClaim that asks for no device, and give what a pod's spec has to say to use it.

        It is a thing that the search does not model.
        """
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {},
        }
        self.client.create(claim)
        return {"resourceClaims": [{"name": name, "resourceClaimName": name}]}

    def filler(self, prefix: str, node: str, count: int, *, priority: int = 10, **pod: Any) -> list[str]:
        """Bound, running pods on a node, to be in the way."""
        created = self.pods(prefix, count, priority=priority, node_name=node, **pod)
        self.wait_running(*created)
        return created

    def full_nodes(self, count: int) -> list[str]:
        """Nodes of one CPU, each taken by a pod of priority 10: low-K-0 on node K."""
        nodes = self.nodes(count, cpu="1")
        for number, node in enumerate(nodes):
            self.filler(f"low-{number}", node, 1)
        return nodes

    def get_pod(self, name: str) -> Json | None:
        """The pod, or None."""
        return self.client.find("v1", "Pod", name, self.namespace)

    def list_pods(self) -> list[Json]:
        """All pods of the namespace."""
        return self.client.list("v1", "Pod", self.namespace)

    def delete_pod(self, name: str) -> None:
        """Delete at once."""
        self.client.delete("v1", "Pod", name, self.namespace, grace_seconds=0)

    def job(self, name: str, *, priority: int | None = None, group: str | None = None, **spec: Any) -> str:
        """Create a Job whose pods ask for one CPU; `spec` are fields of its spec. Returns its name."""
        pod = self.pod_body("template", priority=priority, group=group, restartPolicy="Never")
        template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
        meta = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
        self.client.create({**body, "spec": {"template": template, **spec}})
        return name

    def end_pod(self, name: str, phase: str) -> None:
        """The pod has Succeeded or Failed."""
        self.client.patch("v1", "Pod", name, {"status": {"phase": phase}}, self.namespace, "status")

    def delete_group(self, name: str) -> None:
        """Delete the PodGroup object, not its pods."""
        self.client.delete(REPRIEVE, "PodGroup", name, self.namespace)

    def release(self, name: str) -> None:
        """Take the finalizers off a pod that was made to linger by one."""
        self._release("v1", "Pod", name)

    def _release(self, version: str, kind: str, name: str) -> None:
        try:
            self.client.patch(version, kind, name, {"metadata": {"finalizers": None}}, self.namespace)
        except ApiError as error:
            if error.status != 404:
                raise

    def bound(self) -> dict[str, str]:
        """Pod name to node name, of the pods that are bound and not terminating."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.list_pods()
            if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        }

    def wait_bound(self, *pods: str, seconds: float = PATIENCE_SECONDS) -> dict[str, str]:
        """Until all are bound; returns all that are bound, with their nodes."""
        return wait_for(
            lambda: bound if set(pods) <= (bound := self.bound()).keys() else None,
            seconds,
            lambda: f"not bound: {sorted(set(pods) - self.bound().keys())}\n{self.report()}",
        )

    def wait_running(self, *pods: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until all run."""

        def running() -> bool:
            phases = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in self.list_pods()}
            return all(phases.get(name) == "Running" for name in pods)

        wait_for(running, seconds, lambda: f"not all of {pods} run\n{self.report()}")

    def wait_gone(self, *pods: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until none of them is left."""
        wait_for(
            lambda: not set(pods) & set(names(self.list_pods())),
            seconds,
            lambda: f"still there\n{self.report()}",
        )

    def watch_quietly(self, seconds: float, *pods: str) -> None:
        """Fail the test if anybody is evicted or any of these pods is bound within this time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert not self.history.evicted(), self.report()
            assert not set(pods) & self.bound().keys(), self.report()
            time.sleep(0.5)

    def plans(self, preemptor: str | None = None) -> list[Json]:
        """The PreemptionPlans of the namespace, of one preemptor if named, oldest first, to the second."""
        found = self.client.list(REPRIEVE, "PreemptionPlan", self.namespace)
        found = [plan for plan in found if preemptor in (None, plan["spec"]["preemptor"]["name"])]
        return sorted(found, key=lambda plan: (created(plan), plan["metadata"]["name"]))

    def wait_plan(self, preemptor: str, phase: str | None = None, seconds: float = PATIENCE_SECONDS) -> Json:
        """The newest plan of a preemptor, once it has the phase. Plans of one second are equally new."""

        def newest() -> Json | None:
            found = self.plans(preemptor)
            newest = [each for each in found if created(each) == created(found[-1])]
            return next(
                (each for each in newest if phase in (None, each.get("status", {}).get("phase"))), None
            )

        return wait_for(newest, seconds, lambda: f"no plan of {preemptor} is {phase}\n{self.report()}")

    def wait_condition(
        self, kind: str, name: str, of_type: str, status: str, seconds: float = PATIENCE_SECONDS
    ) -> Json:
        """A condition of a PodGroup or Pod, once it has the status."""
        version = REPRIEVE if kind == "PodGroup" else "v1"

        def look() -> Json | None:
            found = condition(self.client.get(version, kind, name, self.namespace), of_type)
            return found if found is not None and found["status"] == status else None

        return (
            wait_for(look, seconds, lambda: f"{kind} {name} is not {of_type}={status}\n{self.report()}") or {}
        )

    def wait_reason(self, kind: str, name: str, of_type: str, reason: str) -> Json:
        """A condition of a PodGroup or Pod, once it has the reason."""
        version = REPRIEVE if kind == "PodGroup" else "v1"

        def look() -> Json | None:
            found = condition(self.client.get(version, kind, name, self.namespace), of_type)
            return found if found is not None and found["reason"] == reason else None

        return wait_for(
            look, what=lambda: f"{kind} {name} has no {of_type} of reason {reason}\n{self.report()}"
        )

    def events(self, reason: str | None = None, name: str | None = None) -> list[Json]:
        """Events of the namespace by reason and by the name of what they regard."""
        found = self.client.list("events.k8s.io/v1", "Event", self.namespace)
        return [
            event
            for event in found
            if reason in (None, event["reason"]) and name in (None, event.get("regarding", {}).get("name"))
        ]

    def report(self) -> str:
        """How things stand, for the message of a failed test."""
        lines = [f"bound: {self.bound()}", f"evicted: {self.history.evictions()}"]
        for pod in self.list_pods():
            scheduled = condition(pod, "PodScheduled") or {}
            nominated = pod["status"].get("nominatedNodeName")
            if "nodeName" not in pod["spec"]:
                lines.append(
                    f"{pod['metadata']['name']}: {scheduled.get('message')} (nominated: {nominated})"
                )
        for plan in self.plans():
            status = plan.get("status", {})
            conditions = [
                (each["type"], each["status"], each.get("reason")) for each in status.get("conditions", ())
            ]
            lines.append(f"{plan['metadata']['name']}, {created(plan)}: {status.get('phase')} {conditions}")
        return "\n".join(lines)

    def remove(self) -> None:
        """Delete pods, groups, nodes and classes, and wait for the pods. On a cluster that is not ours, the namespace
        goes, too, and takes its time: its controller asks for objects of each kind there is."""
        self._empty()
        if self.plane is None:
            self.client.delete("v1", "Namespace", self.namespace)

    def clear(self) -> None:
        """The same, and the plans, where no reprieve runs that would take their finalizers off. The namespace stays.

        It would take five seconds to go, and eight more if something in it had a finalizer. Whoever writes to it
        meanwhile is forbidden to, which the audit would count.
        """
        self._empty()
        for name in names(self.plans()):
            self._release(REPRIEVE, "PreemptionPlan", name)
            self.client.delete(REPRIEVE, "PreemptionPlan", name, self.namespace)

    def _empty(self) -> None:
        self.history.close()
        for job in self.client.list("batch/v1", "Job", self.namespace):
            self.client.delete("batch/v1", "Job", job["metadata"]["name"], self.namespace)
        for pod in self.list_pods():
            if pod["metadata"].get("finalizers"):
                self.release(pod["metadata"]["name"])
            self.delete_pod(pod["metadata"]["name"])
        for group in self.client.list(REPRIEVE, "PodGroup", self.namespace):
            self.delete_group(group["metadata"]["name"])
        wait_for(lambda: not self.list_pods(), PATIENCE_SECONDS, lambda: f"pods remain\n{self.report()}")
        for name in self._nodes:
            self.client.delete("v1", "Node", name)
        for name in self._classes.values():
            self.client.delete("scheduling.k8s.io/v1", "PriorityClass", name)


def may(client: Client, verb: str, resource: str) -> bool:
    """Whether whoever the client is has a right in the whole cluster, of the core group (`pods/status` is one, too). It
    is not tried: the audit counts what is refused."""
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "resource": name, "subresource": subresource}
    body = {"spec": {"resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = client.request(
        "POST", path, {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", **body}
    )
    return bool(answer["status"]["allowed"])
