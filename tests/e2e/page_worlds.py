"""Random worlds of `tests.kit.answers.worlds` on an API server, and what readers may ask about them."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from api.pauses import Pause, pauses_text
from api.published import ENFORCED, LIMITS_REACHED, PAUSES, PLANNING_MODE
from api.reached_limits import ReachedLimit, limits_text
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.objects import priority_class
from tests.e2e.served_page import OURS
from tests.kit.answers.worlds import LEVELS, MARKS, NAMESPACES, World, world
from tests.kit.observed_plans import days_of, objects_of, plan

__all__ = ["Worlds"]

LEASE: Final = ("coordination.k8s.io/v1", "Lease", "reprieve", OURS)
SERVED: Final = frozenset(
    {
        "Pod",
        "PodGroup",
        "Job",
        "ReplicaSet",
        "PodDisruptionBudget",
        "Workload",
        "LocalQueue",
        "ClusterQueue",
        "Cohort",
        "ResourceFlavor",
        "Node",
        "PreemptionPlan",
        "ClusterPreemptionPlan",
        "DispatchPlan",
        "PreemptionReport",
    }
)
"""Kinds that are put there. The volcano group is no kind of this API server."""


@dataclass
class Worlds:
    """One world after the other, while a page is looked at."""

    client: Client
    """Of an administrator."""
    uids: dict[str, set[str]] = field(default_factory=lambda: {space: set[str]() for space in NAMESPACES})
    """What the API server has made, by namespace."""
    kinds: set[str] = field(default_factory=set)
    """What was there."""
    now: World | None = None

    def __post_init__(self) -> None:
        self._writer = self.client.impersonating(REPRIEVE_USER)
        self._made: list[Json] = []

    @contextmanager
    def changing(self, seed: int, least: float) -> Iterator[None]:
        """Change the world all the time until the end of the context. `least`: how many seconds one stays."""
        end, fault = threading.Event(), list[BaseException]()

        def change() -> None:
            try:
                for number in count(seed):
                    self.show(number)
                    if end.wait(least):
                        return
            except BaseException as error:
                fault.append(error)

        thread = threading.Thread(target=change, name="changing worlds")
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()
            self.clear()
        if fault:
            raise fault[0]

    def show(self, seed: int) -> None:
        """Another world instead of the one that is there."""
        self.remove()
        made = world(seed)
        for each in _events():
            self.client.request("POST", _events_of(each["metadata"]["namespace"]), each)
        for each in [*made.objects, *_reports(seed)]:
            if each["kind"] in SERVED and not each["apiVersion"].startswith("scheduling."):
                self._put(each)
        self.client.patch(*LEASE[:3], {"metadata": {"annotations": _said()}}, OURS)
        self.now = made

    def remove(self) -> None:
        """Nothing of it is left."""
        for body in reversed(self._made):
            meta = body["metadata"]
            self._writer.delete(
                body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"), grace_seconds=0
            )
        self._made.clear()
        for space in NAMESPACES:
            self.client.request("DELETE", _events_of(space))

    def prepare(self) -> None:
        """What all worlds need."""
        for space in NAMESPACES:
            self.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
            meta = {"name": "default", "namespace": space}
            self.client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        for value in _priorities():
            self.client.apply({**priority_class(_class_of(value), value)})
        self.client.apply(
            {
                "apiVersion": LEASE[0],
                "kind": LEASE[1],
                "metadata": {"name": LEASE[2], "namespace": OURS},
                "spec": {},
            }
        )

    def clear(self) -> None:
        """Leave nothing that others could notice."""
        self.remove()
        nothing = dict.fromkeys(_said())
        self.client.patch(*LEASE[:3], {"metadata": {"annotations": nothing}}, OURS)
        for value in _priorities():
            self.client.delete("scheduling.k8s.io/v1", "PriorityClass", _class_of(value))
        self._writer.close()

    def _put(self, given: Json) -> None:
        """An object that the API server may refuse: a random one may contradict itself."""
        body = _storable(given)
        status = body.pop("status", None)
        meta = body["metadata"]
        space = meta.get("namespace")
        with suppress(ApiError):
            stored = self._writer.create(body if body["kind"] != "Node" else {**body, "status": status})
            self._made.append(body)
            self.kinds.add(body["kind"])
            if space:
                self.uids[space].add(stored["metadata"]["uid"])
            if status and body["kind"] != "Node":
                self._writer.patch(
                    body["apiVersion"], body["kind"], meta["name"], {"status": status}, space, "status"
                )


def _events_of(space: str) -> str:
    return f"/api/v1/namespaces/{space}/events"


def _priorities() -> list[int]:
    return [level + step * 11 for level in LEVELS.values() for step in range(10)]


def _class_of(value: int) -> str:
    return f"page-{value}"


def _storable(given: Json) -> Json:
    """As a client may send it."""
    body = copy.deepcopy(given)
    meta = body["metadata"]
    for made in ("uid", "creationTimestamp", "deletionTimestamp"):
        meta.pop(made, None)
    if body["kind"] == "Pod":
        _complete(body["spec"])
        body["spec"]["priorityClassName"] = _class_of(body["spec"].pop("priority"))
        body["spec"]["terminationGracePeriodSeconds"] = 0
    for pod_set in body.get("spec", {}).get("podSets", ()):
        _complete(pod_set["template"]["spec"])
    if body["kind"] in ("Job", "ReplicaSet"):
        template = body["spec"].setdefault("template", {})
        template.setdefault("metadata", {}).setdefault("labels", {})["app"] = meta["name"]
        spec = template.setdefault("spec", {"containers": [{"name": "c"}]})
        _complete(spec)
        if body["kind"] == "Job":
            spec["restartPolicy"] = "Never"
        else:
            body["spec"]["selector"] = {"matchLabels": {"app": meta["name"]}}
    return body


def _complete(spec: Json) -> None:
    for container in spec["containers"]:
        container.setdefault("image", "none")


def _reports(seed: int) -> list[Json]:
    """The account of some observed plans of all namespaces."""
    observed = [plan(number, namespace=space, pods=2) for number, space in enumerate(NAMESPACES)]
    for each, space in zip(observed, NAMESPACES, strict=True):
        each.metadata.name = f"{MARKS[space]}-counted-{seed}"
    return objects_of(*days_of(observed), *observed)


def _events() -> list[Json]:
    """What controllers and schedulers say of pods."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{MARKS[space]}-{reason.lower()}", "namespace": space},
            "involvedObject": {"kind": "Pod", "namespace": space, "name": f"{MARKS[space]}-run-0"},
            "reason": reason,
            "message": f"it is so, {MARKS[space]} says",
            "type": "Normal",
            "lastTimestamp": "2026-03-01T11:00:00Z",
        }
        for space in NAMESPACES
        for reason in ("Preempted", "FailedCreate")
    ]


def _said() -> dict[str, str]:
    """What the leader says on its Lease: about each namespace, too."""
    names = [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [*NAMESPACES]}]
    return {
        PLANNING_MODE: "Enforce",
        ENFORCED: json.dumps({"matchExpressions": names}),
        PAUSES: pauses_text([Pause(each, f"{MARKS[each]} rests") for each in NAMESPACES]),
        LIMITS_REACHED: limits_text(
            [ReachedLimit("victimsPerHourInNamespace", 1, each) for each in NAMESPACES]
        ),
    }
