"""Worlds on a real control plane, with an extender that offers what the plan says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Queue
from typing import Final, Self

from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from hack.controlplane.stub_extender import answering
from hack.fidelity.steered.judging import Result, broken, relation
from hack.fidelity.steered.planned import Planned, plan_for
from hack.fidelity.steered.world import GANG, NATIVE, OURS, SLOT, VALUES, Place, World, class_of
from hack.fidelity.steered.worlds import NODES

__all__ = ["Stage"]

SLOTS: Final = 6
"""Worlds at a time. Each has a namespace and nodes of its own, and budgets and groups are of a namespace."""
SECONDS: Final = 60.0
"""Within which a gang is bound, or turned down."""
PAUSE: Final = 0.2
PARALLEL: Final = 4
"""Requests at a time for one world."""
SCHEDULED: Final = "PodGroupInitiallyScheduled"
PREEMPTING: Final = "found a placement for podgroup"
CONTROLLERS: Final = ("node-lifecycle-controller", "serviceaccount-controller")
"""No other one: nobody counts budgets or collects pods."""
KINDS: Final = (("v1", "Pod"), (NATIVE, "PodGroup"), (OURS, "PodGroup"), ("policy/v1", "PodDisruptionBudget"))

Offers = Mapping[str, str] | None
"""By member: its node. Who is not named is held. None: every member may run everywhere."""


class Stage:
    """A control plane with nodes for several worlds."""

    def __init__(self, client: Client, offers: dict[str, Offers]) -> None:
        self._client, self._offers = client, offers
        self._numbers = count()
        self._free: Queue[str] = Queue()

    @classmethod
    @contextmanager
    def standing(cls, folder: Path) -> Iterator[Self]:
        """Runs while the context lasts. Raises BinariesError."""
        offers: dict[str, Offers] = {}
        with (
            answering(lambda _, body: answer(offers, json.loads(body))) as url,
            ControlPlane(folder, _options(url)) as plane,
        ):
            stage = cls(plane.client, offers)
            stage._build()
            plane.processes["kwok"].stop()  # it would say when pods start
            yield stage

    def run(self, worlds: Sequence[World]) -> Iterator[Result]:
        """The result of each world, in order."""
        with ThreadPoolExecutor(SLOTS) as pool:
            yield from pool.map(self._run, worlds)

    def _build(self) -> None:
        client, names = self._client, [f"slot-{number}" for number in range(SLOTS)]
        client.create_all(objects.priority_class(class_of(value), value) for value in VALUES)
        nodes = [Place(name).node(number) for name in names for number in range(NODES)]
        client.create_all(objects.node(name, labels={SLOT: name.rpartition("-n")[0]}) for name in nodes)
        for name in names:
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            meta = {"name": "default", "namespace": name}
            client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
            self._free.put(name)
        wait_for_nodes(client, *nodes)
        wait_until(self._lists_all, SECONDS, "the API server does not list every kind".__str__)

    def _lists_all(self) -> bool:
        """Whether every kind can be listed. Those of new CRDs cannot at first (status 429)."""
        try:
            for version, kind in KINDS:
                self._client.list(version, kind)
        except ApiError:
            return False
        return True

    def _run(self, world: World) -> Result:
        namespace = self._free.get()
        scene = _Scene(self._client, Place(namespace, f"w{next(self._numbers)}-"), world)
        try:
            scene.build()
            return self._judge(scene)
        finally:
            self._offers[namespace] = {}
            scene.clean()
            self._free.put(namespace)

    def _judge(self, scene: _Scene) -> Result:
        planned = scene.plan()
        if not planned.places:
            return self._infeasible(scene, planned)
        if not planned.steered:
            return Result(scene.world, f"driven: {planned.spec.evictor_reason}")
        return self._steered(scene, planned)

    def _steered(self, scene: _Scene, planned: Planned) -> Result:
        world, place = scene.world, scene.place
        offers = self._offers[place.namespace] = planned.offers
        scene.nominate(offers)
        scene.open()
        faults = scene.wait_bound(offers)
        evicted = scene.evicted()
        mine, theirs = ({place.short(name) for name in each} for each in (planned.victims, evicted))
        how = relation(world, mine, theirs, no_dearer=planned.no_dearer(evicted))
        faults += [f"a part of {name} is evicted" for name in broken(world, theirs)]
        if how == "other":
            faults.append(f"the plan evicts {sorted(mine)}, the scheduler {sorted(theirs)}")
        kind = (
            "steered, free room" if not planned.victims else f"steered, {planned.spec.evictor_reason}: {how}"
        )
        return Result(world, kind, tuple(faults), len(evicted))

    def _infeasible(self, scene: _Scene, planned: Planned) -> Result:
        """Nobody is evicted. If the scheduler may evict all that we may, it finds no placement either."""
        world = scene.world
        same = not any(each.kind == "ours" for each in world.groups) and not any(
            each.daemon for each in world.pods
        )
        known = planned.spec.outcome == "Unschedulable" and not planned.spec.not_modelled
        is_open = same and known
        self._offers[scene.place.namespace] = None if is_open else {}
        scene.open()
        faults = scene.wait_turned_down()
        faults += [f"{scene.place.short(name)} is evicted" for name in sorted(scene.evicted())]
        how = "all nodes offered" if is_open else "held"
        return Result(world, f"infeasible ({planned.spec.outcome}), {how}", tuple(faults))


def answer(offers: Mapping[str, Offers], sent: Json) -> Mapping[str, object]:
    """What the extender says to a call of filter. `offers`: by namespace."""
    meta, names = sent["Pod"]["metadata"], sent["NodeNames"] or []
    offered = offers.get(meta["namespace"], {})
    passing = names if offered is None else [name for name in names if name == offered.get(meta["name"])]
    return {
        "NodeNames": passing,
        "FailedNodes": {name: "not offered" for name in names if name not in passing},
    }


def _options(url: str) -> Options:
    extender = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "30s"}
    return Options(
        feature_gates={"GenericWorkload": True},
        runtime_config={NATIVE: True},
        controllers=CONTROLLERS,
        scheduler_settings={
            "extenders": [extender],
            "percentageOfNodesToScore": 100,
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 1,
        },
    )


class _Scene:
    """One world on the plane."""

    def __init__(self, client: Client, place: Place, world: World) -> None:
        self.place, self.world = place, world
        self._client = client
        self._before: set[str] = set()
        """The pods that ran and did not terminate."""

    def build(self) -> None:
        """Create all objects. Members have gates."""
        client, place, world = self._client, self.place, self.world
        for body in place.groups(world):
            client.create(body)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for each in world.budgets:
            self._create(*place.budget(each, now))
        with ThreadPoolExecutor(PARALLEL) as pool:
            jobs = [pool.submit(self._patch, "Node", place.node(number), place.capacity(world, number), "status")
                    for number in range(len(world.nodes))]  # fmt: skip
            jobs += [pool.submit(self._create, *place.running(world, pod)) for pod in world.pods]
            jobs += [pool.submit(self._create, body, None) for body in place.waiting(world)]
            for job in jobs:
                job.result()
        for pod in world.pods:
            if pod.terminating:
                client.delete("v1", "Pod", place.full(pod.name), place.namespace, grace_seconds=0)
        for other in world.nominated:
            self._nominate(place.full(other.name), place.node(other.node))
        self._before = {place.full(pod.name) for pod in world.pods if not pod.terminating}

    def plan(self) -> Planned:
        """What we plan for the gang."""
        client, place = self._client, self.place
        found = [("v1", "Node", client.list("v1", "Node", labels=f"{SLOT}={place.namespace}"))]
        classes = "scheduling.k8s.io/v1", "PriorityClass"
        found += [(*classes, client.list(*classes))]
        found += [(version, kind, client.list(version, kind, place.namespace)) for version, kind in KINDS]
        bodies = [
            {**body, "apiVersion": version, "kind": kind} for version, kind, some in found for body in some
        ]
        return plan_for(bodies, place.namespace, place.full(GANG))

    def nominate(self, offers: Mapping[str, str]) -> None:
        """Nominate members to their nodes."""
        for pod, node in offers.items():
            self._nominate(pod, node)

    def open(self) -> None:
        """Take the gates off the members."""
        for each in self.world.members:
            self._patch("Pod", self.place.full(each.name), {"spec": {"schedulingGates": None}})

    def wait_bound(self, offers: Mapping[str, str]) -> list[str]:
        """Until the planned members are bound to their nodes. Returns what is wrong."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            bound = {
                name: node for name, pod in self._pods().items() if (node := pod["spec"].get("nodeName"))
            }
            if offers.keys() <= bound.keys():
                return [
                    f"{self.place.short(name)} is not bound to {node}"
                    for name, node in offers.items()
                    if bound[name] != node
                ]
            if PREEMPTING in self._said():
                self._release()
            time.sleep(PAUSE)
        return [f"it is not bound: {self._said()}"]

    def wait_turned_down(self) -> list[str]:
        """Until an attempt has failed. Returns what is wrong."""
        until = time.monotonic() + SECONDS
        while not (said := self._said()) and time.monotonic() < until:
            time.sleep(PAUSE)
        members = {self.place.full(each.name) for each in self.world.members}
        bound = [
            name for name, pod in self._pods().items() if name in members and pod["spec"].get("nodeName")
        ]
        faults = [f"{len(bound)} members are bound"] if bound else []
        if not said or PREEMPTING in said:
            faults.append(f"it is not turned down: {said or 'there is no condition'}")
        return faults

    def evicted(self) -> frozenset[str]:
        """The pods that have been evicted since the world was built."""
        left = {name for name, pod in self._pods().items() if "deletionTimestamp" not in pod["metadata"]}
        return frozenset(self._before - left)

    def clean(self) -> None:
        """Remove everything but the nodes."""
        self._release()
        for version, kind in KINDS:
            path = path_of(version, kind, self.place.namespace)
            self._client.request(
                "DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
            )
        until = time.monotonic() + SECONDS
        while self._pods():
            if time.monotonic() > until:
                raise TimeoutError(f"pods are left in {self.place.namespace}: {sorted(self._pods())}")
            time.sleep(PAUSE)

    def _create(self, body: Json, status: Json | None) -> None:
        made = self._client.create(body)
        if status is not None:
            self._patch(body["kind"], made["metadata"]["name"], status, "status")

    def _nominate(self, pod: str, node: str) -> None:
        self._patch("Pod", pod, {"status": {"nominatedNodeName": node}}, "status")

    def _patch(self, kind: str, name: str, change: Json, part: str = "") -> None:
        version = "policy/v1" if kind == "PodDisruptionBudget" else "v1"
        namespace = None if kind == "Node" else self.place.namespace
        self._client.patch(version, kind, name, change, namespace, part)

    def _pods(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in self._client.list("v1", "Pod", self.place.namespace)}

    def _said(self) -> str:
        """What the scheduler says of its last attempt that failed."""
        group = self._client.get(NATIVE, "PodGroup", self.place.full(GANG), self.place.namespace)
        found = [
            each for each in group.get("status", {}).get("conditions") or () if each["type"] == SCHEDULED
        ]
        return found[0]["message"] if found and found[0]["status"] == "False" else ""

    def _release(self) -> None:
        """Let the pods go that have terminated all the time."""
        for pod in self.world.pods:
            if pod.terminating:
                try:
                    self._patch("Pod", self.place.full(pod.name), {"metadata": {"finalizers": None}})
                except ApiError as error:
                    if error.status != 404:
                        raise
