"""The cluster that `bench.page` looks at, as an API server would list it.

Half of the apps are gangs that run, with their pods anywhere. Others wait: the first hundred have members, which need
all of a node each. Namespaces of one team have queues, whose quota others have borrowed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from api.groups import POD_GROUP_LABEL
from bench.mirror import PODS_PER_APP, bound_pod, claimed, namespace_of, node, node_name
from bench.storage_objects import claim, csi_node, storage_class, volume
from hack.controlplane import objects
from hack.controlplane.client import Json

__all__ = ["ADMINISTRATOR", "KINDS_OF_READERS", "QUEUE", "RACK", "READER", "Size", "World", "namespaces_of"]

KINDS_OF_READERS: Final = 50
ADMINISTRATOR, READER = "administrator-", "reader-"
"""How tokens begin. A number follows, also in the name of the user."""
NAMESPACES_OF_READER: Final = 10
NAMESPACES: Final = 500
SCATTER: Final = 7919
"""A prime: with steps of this length one comes to all places, in no order that helps."""
WITH_MEMBERS: Final = 100
MEMBERS: Final = 8
RACK: Final = "example.com/rack"
CORE: Final = "/api/v1"
STORAGE: Final = "/apis/storage.k8s.io/v1"
GANGS: Final = "/apis/reprieve.dev/v1alpha1/podgroups"
KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
QUEUES: Final = 20
QUEUE: Final = "team"
"""The name of each LocalQueue. It is in the namespaces 0 to 19."""
WORKLOADS_OF_QUEUE: Final = 100
STAMP: Final = "2026-01-01T00:00:00Z"


class Size(NamedTuple):
    """How large the cluster is, and how long the memory of the browser is watched."""

    nodes: int
    pods: int
    """On each node."""
    seconds: int

    @classmethod
    def of(cls, text: str) -> Size:
        """NODES,PODS or NODES,PODS,SECONDS."""
        nodes, pods, *rest = (int(each) for each in text.split(","))
        return cls(nodes, pods, rest[0] if rest else 60)

    @classmethod
    def asked(cls) -> Size:
        """What REPRIEVE_BENCH_PAGE says, by default a small one."""
        return cls.of(os.environ.get("REPRIEVE_BENCH_PAGE", "200,10,20"))


def namespaces_of(kind: int) -> list[str]:
    """The only namespaces in which readers of this kind may list anything. Kind 0 may list everything everywhere."""
    first = kind * NAMESPACES_OF_READER
    return [f"namespace-{(first + step) % NAMESPACES}" for step in range(NAMESPACES_OF_READER)]


@dataclass(frozen=True)
class World:
    """All objects of a cluster."""

    size: Size

    @property
    def bound(self) -> int:
        """Pods on nodes."""
        return self.size.nodes * self.size.pods

    @property
    def waiting(self) -> int:
        """Gangs that wait."""
        return 2 * self.size.nodes

    @property
    def with_members(self) -> int:
        """Of those that wait: how many have members."""
        return min(WITH_MEMBERS, self.waiting)

    @cached_property
    def places(self) -> list[int]:
        """By pod: its node. All nodes have equally many, and no order is in it."""
        places = [index % self.size.nodes for index in range(self.bound)]
        random.Random(0).shuffle(places)
        return places

    @cached_property
    def lists(self) -> dict[str, tuple[Callable[[int, int], bytes], int]]:
        """By path: what makes the object with a number and a resource version, and how many there are."""
        nodes, claims = self.size.nodes, self.bound // 5

        def own(index: int) -> str:
            return namespace_of(claimed(index))

        apps = self.bound // PODS_PER_APP
        return {
            f"{CORE}/nodes": (node, nodes),
            f"{STORAGE}/csinodes": (lambda index, version: csi_node(node_name(index), version), nodes),
            f"{STORAGE}/storageclasses": (storage_class, 10),
            f"{CORE}/persistentvolumes": (
                lambda index, version: volume(index, version, own(index)),
                claims,
            ),
            f"{CORE}/persistentvolumeclaims": (
                lambda index, version: claim(index, version, own(index)),
                claims,
            ),
            f"{CORE}/pods": (self.pod, self.bound + self.with_members * MEMBERS),
            GANGS: (self.gang, self.waiting + (apps + 1) // 2),
            f"{KUEUE}/resourceflavors": (_flavor, 1),
            f"{KUEUE}/clusterqueues": (self._cluster_queue, QUEUES),
            f"{KUEUE}/localqueues": (_local_queue, QUEUES),
            f"{KUEUE}/workloads": (self._workload, QUEUES * self._held),
        }

    def of_namespace(self, namespace: str) -> Iterator[bytes]:
        """The pods of a namespace."""
        make, total = self.lists[f"{CORE}/pods"]
        number = int(namespace.rpartition("-")[2])
        for app in range(number, self.bound // PODS_PER_APP + 1, NAMESPACES):
            for index in range(app * PODS_PER_APP, min((app + 1) * PODS_PER_APP, self.bound)):
                yield make(index, 1)
        for index in range(self.bound, total):
            if waits_in((index - self.bound) // MEMBERS) == namespace:
                yield make(index, 1)

    # ---- pods and gangs

    def pod(self, index: int, version: int, *, moved: bool = False) -> bytes:
        """A pod: those on nodes first, then members that wait. `moved`: it is on another node than at first."""
        if index >= self.bound:
            return self._member(index - self.bound, version)
        made = bound_pod(index, version, (self.places[index] + moved * SCATTER) % self.size.nodes)
        if index // PODS_PER_APP % 2 == 0:
            made["metadata"]["labels"][POD_GROUP_LABEL] = f"app-{index // PODS_PER_APP}"
        return msgspec.json.encode(made)

    def _member(self, number: int, version: int) -> bytes:
        gang = number // MEMBERS
        made = objects.pod(
            f"wait-{gang}-{number}", waits_in(gang), cpu="60", group=wait_name(gang), priority=1000
        )
        made["spec"]["schedulerName"] = "default-scheduler"
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/{self.size.nodes} nodes are available: {self.size.nodes} Insufficient cpu.",
            "lastTransitionTime": STAMP,
        }
        made["metadata"] |= _meta(f"wait-{gang}-{number}", version, waits_in(gang))
        return msgspec.json.encode({**made, "status": {"phase": "Pending", "conditions": [condition]}})

    def gang(self, number: int, version: int) -> bytes:
        """A PodGroup: those that wait first."""
        if number < self.waiting:
            made = objects.pod_group(
                wait_name(number),
                waits_in(number),
                min_count=MEMBERS,
                topology=RACK,
                priority=1000,
            )
        else:
            app = 2 * (number - self.waiting)
            made = objects.pod_group(
                f"app-{app}", namespace_of(app * PODS_PER_APP), min_count=2, priority=app % 10 * 100
            )
        made["metadata"] |= _meta(made["metadata"]["name"], version, made["metadata"]["namespace"])
        return msgspec.json.encode(made)

    # ---- quota

    @property
    def _held(self) -> int:
        """Workloads that hold quota, for each queue."""
        return max(1, min(WORKLOADS_OF_QUEUE, self.size.nodes // 10))

    def _cluster_queue(self, index: int, version: int) -> bytes:
        """Half of the queues have borrowed what the other half does not use."""
        quota = {"name": "cpu", "nominalQuota": str(10 * self._held)}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}]
        spec = {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": groups,
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }
        return msgspec.json.encode({"metadata": _meta(f"team-{index}", version), "spec": spec})

    def _workload(self, number: int, version: int) -> bytes:
        queue = number % QUEUES // 2 * 2 + 1
        namespace, usage = f"namespace-{queue}", {"cpu": "10"}
        container = {"name": "main", "image": "none", "resources": {"requests": usage}}
        pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
        given = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": usage}
        conditions = [
            {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": STAMP}
            for kind in ("QuotaReserved", "Admitted")
        ]
        status = {
            "admission": {"clusterQueue": f"team-{queue}", "podSetAssignments": [given]},
            "conditions": conditions,
        }
        spec = {"queueName": QUEUE, "podSets": [pod_set], "priority": 0}
        meta = _meta(f"workload-{number}", version, namespace)
        return msgspec.json.encode({"metadata": meta, "spec": spec, "status": status})


def waits_in(gang: int) -> str:
    """The namespace of a gang that waits."""
    return f"namespace-{gang % NAMESPACES}"


def wait_name(gang: int) -> str:
    """The name of a gang that waits."""
    return f"wait-{gang}"


def _flavor(_: int, version: int) -> bytes:
    return msgspec.json.encode({"metadata": _meta("default", version), "spec": {}})


def _local_queue(index: int, version: int) -> bytes:
    spec: Json = {"clusterQueue": f"team-{index}"}
    return msgspec.json.encode({"metadata": _meta(QUEUE, version, f"namespace-{index}"), "spec": spec})


def _meta(name: str, version: int, namespace: str = "") -> dict[str, Any]:
    meta = {"name": name, "uid": f"{namespace}-{name}-uid", "resourceVersion": str(version)}
    meta["creationTimestamp"] = STAMP
    return {**meta, "namespace": namespace} if namespace else meta
