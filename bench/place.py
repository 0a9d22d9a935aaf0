"""Where a load runs: a part of a cluster that belongs to it alone, also on a cluster with other users.

Its nodes have a taint and a label that only its pods tolerate and select. KWOK plays them. Every name that has no
namespace begins with the place's name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from api.groups import POD_GROUP_LABEL
from hack.controlplane import objects
from hack.controlplane.client import Client, Json, path_of
from hack.controlplane.nodes import wait_for_nodes

__all__ = ["NATIVE", "PLACE", "REPRIEVE", "Place", "gangs_in_pieces"]

REPRIEVE: Final = "reprieve.dev/v1alpha1"
NATIVE: Final = "scheduling.k8s.io/v1beta1"
"""API versions of groups: ours, and kube-scheduler's own."""
PLACE: Final = "reprieve.dev/load"
FAKE: Final = {"kwok.x-k8s.io/node": "fake"}
LIMIT_SECONDS: Final = 600.0
PLAY_SECONDS: Final = 600.0
PLAY_ALL: Final = 3600.0
"""150,000 pods take KWOK a quarter of an hour."""


class Place:
    """A namespace, and nodes and priority classes that belong to it. All of it goes with `remove`."""

    def __init__(self, client: Client, name: str) -> None:
        """Raises ApiError if the namespace exists already."""
        self.client = client
        self.namespace = name
        self._nodes: list[str] = []
        self._classes: dict[int, str] = {}
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        _wait(lambda: client.find("v1", "ServiceAccount", "default", name) is not None, "no service account")

    def node_names(self, count: int) -> list[str]:
        """The names of this many nodes."""
        return [f"{self.namespace}-n{number:04}" for number in range(count)]

    def add_nodes(self, names: Iterable[str], *, parallel: int = 8, **node: Any) -> None:
        """Create nodes that are alike, and wait until KWOK plays them. One after the other with `parallel=1`."""
        taint = {"key": PLACE, "value": self.namespace, "effect": "NoSchedule"}
        created = list(names)
        bodies = [
            objects.node(name, labels={PLACE: self.namespace}, taints=[taint], **node) for name in created
        ]
        for body in bodies:
            body["metadata"]["annotations"] = FAKE
        self._nodes += created
        self.client.create_all(bodies, parallel)
        wait_for_nodes(self.client, *created, seconds=PLAY_SECONDS)

    def priority_class(self, value: int) -> str:
        """The name of a PriorityClass of this value."""
        if value not in self._classes:
            self._classes[value] = f"{self.namespace}-{value}"
            self.client.create(objects.priority_class(self._classes[value], value))
            probe = objects.pod("probe", self.namespace, priority_class=self._classes[value])
            _wait(lambda: self.client.admits(probe), "the API server does not learn of a PriorityClass")
        return self._classes[value]

    def pod(self, name: str, *, priority: int, **pod: Any) -> Json:
        """A pod for the nodes of this place (see objects.pod)."""
        pod["nodeSelector"] = {PLACE: self.namespace}
        pod["tolerations"] = [{"key": PLACE, "operator": "Exists"}]
        return objects.pod(name, self.namespace, priority_class=self.priority_class(priority), **pod)

    def member(self, group: str, name: str, *, api_version: str, **pod: Any) -> Json:
        """A pod of a group of this API version (see `pod`)."""
        if api_version == REPRIEVE:
            return self.pod(name, group=group, **pod)
        return self.pod(name, schedulingGroup={"podGroupName": group}, **pod)

    def pod_group(self, name: str, *, priority: int, **group: Any) -> Json:
        """A PodGroup of this place (see objects.pod_group)."""
        return objects.pod_group(name, self.namespace, priority_class=self.priority_class(priority), **group)

    def pods(self, labels: str = "") -> list[Json]:
        """The pods of this place that have these labels."""
        return self.client.list("v1", "Pod", self.namespace, labels=labels)

    def wait_running(self, labels: str = "") -> None:
        """Until all these pods run. Raises TimeoutError."""
        _wait(lambda: _all_run(self.pods(labels)), "not all pods run", every=1.0)

    def wait_played(self) -> None:
        """Until KWOK has played all pods that have a node: before that, its writes are most of the load.

        Raises TimeoutError.
        """
        query = urlencode({"fieldSelector": "spec.nodeName!=,status.phase=Pending", "limit": 1})
        path = f"{path_of('v1', 'Pod', self.namespace)}?{query}"
        look = self.client.request
        _wait(
            lambda: not look("GET", path)["items"], "KWOK does not play all pods", every=1.0, limit=PLAY_ALL
        )

    def in_pieces(self) -> list[str]:
        """Gangs with some bound members, but fewer than minCount."""
        return gangs_in_pieces(self.client.list(REPRIEVE, "PodGroup", self.namespace), self.pods())

    def remove_pods(self, labels: str = "") -> None:
        """Delete these pods at once, and wait until they are gone."""
        names = [pod["metadata"]["name"] for pod in self.pods(labels)]
        self.client.delete_all("v1", "Pod", names, self.namespace, grace_seconds=0)
        _wait(lambda: not self.pods(labels), "pods stay", every=1.0)

    def remove_groups(self) -> None:
        """Delete the PodGroups of this place."""
        groups = self.client.list(REPRIEVE, "PodGroup", self.namespace)
        names = [group["metadata"]["name"] for group in groups]
        self.client.delete_all(REPRIEVE, "PodGroup", names, self.namespace)

    def remove(self) -> None:
        """Delete everything that was created here. The namespace takes a while to go."""
        client = self.client
        self.remove_groups()
        self.remove_pods()
        client.delete("v1", "Namespace", self.namespace)
        client.delete_all("v1", "Node", self._nodes)
        for name in self._classes.values():
            client.delete("scheduling.k8s.io/v1", "PriorityClass", name)


def gangs_in_pieces(groups: Iterable[Json], pods: Iterable[Json]) -> list[str]:
    """The names of gangs with some bound members, but fewer than minCount. Members that end do not count."""
    bound: dict[str, int] = {}
    for pod in pods:
        group = pod["metadata"].get("labels", {}).get(POD_GROUP_LABEL)
        ends = pod["metadata"].get("deletionTimestamp") or pod.get("status", {}).get("phase") == "Failed"
        if group is not None and pod["spec"].get("nodeName") and not ends:
            bound[group] = bound.get(group, 0) + 1
    return sorted(
        group["metadata"]["name"]
        for group in groups
        if 0 < bound.get(group["metadata"]["name"], 0) < _min_count(group)
    )


def _min_count(group: Json) -> int:
    policy: Mapping[str, Any] = group["spec"]["schedulingPolicy"]
    return int(policy.get("gang", {}).get("minCount", 0))


def _all_run(pods: Iterable[Json]) -> bool:
    return all(pod["status"].get("phase") == "Running" for pod in pods)


def _wait(look: Callable[[], bool], what: str, *, every: float = 0.1, limit: float = LIMIT_SECONDS) -> None:
    deadline = time.monotonic() + limit
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(every)
