"""What one test has in several clusters: a namespace and queues of the same names in each."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from api.multikueue import CONTROLLER_NAME, ORIGIN_LABEL
from hack.controlplane.client import ApiError, Json, path_of
from hack.controlplane.fleet import CHECK, let_in
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import BATCH, JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import REPRIEVE, condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.multicluster.trio import CLUSTERS, MANAGER, WORKERS, Trio

__all__ = ["PRIORITY_CLASS", "QUEUE", "Box", "Boxes", "Place"]

QUEUE: Final = "q"
"""The name of the LocalQueue in every cluster."""
WITHIN: Final[Json] = {"withinClusterQueue": "LowerPriority"}
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
NAMESPACED: Final = (
    (BATCH, "Job"),
    (KUEUE, "Workload"),
    (REPRIEVE, "PreemptionPlan"),
    (REPRIEVE, "DispatchPlan"),
    (REPRIEVE, "PodGroup"),
    (KUEUE, "LocalQueue"),
    ("v1", "Pod"),
)
"""What goes with a test, in this order."""


class Place(JobSandbox):
    """The test's namespace in one cluster."""

    def __init__(self, plane: ControlPlane, name: str, node: str) -> None:
        """`name`: of the namespace. `node`: where all pods run."""
        self.plane, self.client, self.name, self.node = plane, plane.client, name, node
        self.flavor = f"{name}-default"
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        if node in WORKERS:
            let_in(self.client, name)
        self._create("ResourceFlavor", self.flavor, {})

    def find(self, workload: str) -> Json | None:
        """A Workload, or None."""
        return self.client.find(KUEUE, "Workload", workload, self.name)

    def find_job(self, job: str) -> Json | None:
        """A Job, or None."""
        return self.client.find(BATCH, "Job", job, self.name)

    def copies(self) -> list[Json]:
        """The Workloads with an origin."""
        return self.client.list(KUEUE, "Workload", self.name, labels=ORIGIN_LABEL)

    def is_suspended(self, job: str) -> bool:
        """Whether the Job is there, and is suspended."""
        found = self.find_job(job)
        return found is not None and bool(found["spec"].get("suspend"))

    def set_quota(self, queue: str, cpus: int) -> None:
        """The ClusterQueue has another nominal quota."""
        groups = self.client.get(KUEUE, "ClusterQueue", self.of(queue))["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = cpus
        self.patch_spec("ClusterQueue", self.of(queue), {"resourceGroups": groups})

    def story(self) -> str:
        """All Workloads, Jobs and pods, a line for each."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        for each in self.client.list(KUEUE, "Workload", self.name):
            yield f"  Workload {_workload_line(each)}"
        for each in self.client.list(BATCH, "Job", self.name):
            status = {key: value for key, value in each["status"].items() if key != "conditions"}
            ends = [c["type"] for c in each["status"].get("conditions") or () if c["status"] == "True"]
            yield f"  Job {each['metadata']['name']} suspend={each['spec'].get('suspend')} {ends} {status}"
        phases = [
            f"{each['metadata']['name']}: {each['status'].get('phase')}"
            for each in self.client.list("v1", "Pod", self.name)
        ]
        if phases:
            yield f"  pods {phases}"


def _workload_line(body: Json) -> str:
    status = body.get("status", {})
    said = [
        f"{each['type']}={each['status']} {each['reason']}: {each['message']}"
        for each in status.get("conditions") or ()
    ]
    keys = ("admissionChecks", "preemptionGates", "clusterName", "nominatedClusterNames")
    rest = {key: status[key] for key in keys if key in status}
    return f"{body['metadata']['name']} active={body['spec'].get('active', True)} {said} {rest}"


class Box:
    """A queue `q` in each cluster, which on the manager has the check for all workers."""

    def __init__(self, trio: Trio, name: str, *, cpus: Mapping[str, int] | None = None) -> None:
        """`cpus`: the quota by cluster, 4 where it has none; the manager has enough for all."""
        self.trio = trio
        self.name = f"{name}-{uuid.uuid4().hex[:5]}"
        self.places = {each: Place(trio.plane(each), self.name, each) for each in CLUSTERS}
        self.manager, self.alpha, self.beta = (self.places[each] for each in CLUSTERS)
        self._classes: dict[tuple[str, int], str] = {}
        self._own: list[tuple[str, str]] = []
        quota = dict.fromkeys(WORKERS, 4) | {MANAGER: 1000} | dict(cpus or {})
        for each in WORKERS:
            self.places[each].queue(QUEUE, quota[each], preemption=WITHIN)
        checks = {"admissionChecks": [{"name": CHECK}]}
        self.manager.queue(QUEUE, quota[MANAGER], admissionChecksStrategy=checks)

    @property
    def workers(self) -> dict[str, Place]:
        """The workers by name."""
        return {name: self.places[name] for name in WORKERS}

    # ---- what users do

    def job(self, name: str, pods: int = 1, *, priority: int = 0, **job: Any) -> str:
        """A Job on the manager, as the webhook leaves it (see JobSandbox.job)."""
        labels = {PRIORITY_CLASS: self.priority(priority), **job.pop("labels", {})}
        return self.manager.job(
            name, QUEUE, pods, labels=labels, managedBy=CONTROLLER_NAME, suspend=True, **job
        )

    def priority(self, value: int, cluster: str = MANAGER) -> str:
        """The name of a WorkloadPriorityClass of a cluster, which is made where it is needed."""
        place = self.places[cluster]
        if (cluster, value) not in self._classes:
            name = self._classes[cluster, value] = place.of(f"p{value}".replace("-", "minus-"))
            body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": value}
            place.client.create({**body, "metadata": {"name": name}})
        return self._classes[cluster, value]

    def config(self, clusters: Iterable[str]) -> str:
        """A MultiKueueConfig of this test's own, and a check with it, which its ClusterQueue has from now on. Returns
        the name of both."""
        name = self.manager.of("own")
        self.trio.fleet.add_config(name, clusters)
        self.trio.fleet.add_check(name, name)
        self._own += [("AdmissionCheck", name), ("MultiKueueConfig", name)]
        checks = {"admissionChecks": [{"name": name}]}
        self.manager.patch_spec("ClusterQueue", self.manager.of(QUEUE), {"admissionChecksStrategy": checks})
        return name

    def delete_orphaning(self, job: str) -> None:
        """Delete a Job of the manager with `--cascade=orphan`."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
        self.manager.client.request("DELETE", path_of(BATCH, "Job", self.name, job), options)

    def fill(self, cluster: str, name: str, pods: int, *, priority: int = 0, stays: bool = False) -> str:
        """A Job of the worker's own users, which runs. Its Workload has the priority. `stays`: its pods have a
        finalizer, so that they keep their quota until somebody takes it off."""
        place = self.places[cluster]
        labels = {PRIORITY_CLASS: self.priority(priority, cluster)} if priority else {}
        # As with the webhook. Otherwise a pod may come before the Job is stopped, and its finalizer keeps it.
        place.job(name, QUEUE, pods, labels=labels, finalizers=stays, suspend=True)
        workload = place.workload_of(name)
        place.until_running(name, pods)
        return workload

    def end(self, cluster: str, job: str) -> None:
        """All pods of a Job in a cluster succeed, also those that KWOK is about to call Running."""
        place = self.places[cluster]

        def is_over() -> bool:
            place.end_pods(job)
            found = place.find_job(job)
            return found is None or any(
                each["type"] == "Complete" and each["status"] == "True"
                for each in found["status"].get("conditions") or ()
            )

        wait_for(is_over, what=lambda: f"{job} in {cluster} does not end\n{self.story()}")

    def let_go(self, cluster: str, job: str) -> None:
        """Take the finalizers off the pods of a Job that `stays`."""
        place = self.places[cluster]
        for each in place.pods(job):
            _delete(place, "v1", "Pod", each["metadata"]["name"], place.name)

    # ---- what is seen

    def workload_of(self, job: str) -> str:
        """The name of a Job's Workload, here and there."""
        return self.manager.workload_of(job)

    def until_admitted(self, workload: str) -> str:
        """The cluster that runs it, once it is Admitted on the manager."""
        self.until(workload, "Admitted")
        return str(self.manager.get(workload)["status"]["clusterName"])

    def until(
        self,
        workload: str,
        kind: str,
        status: str = "True",
        reason: str | None = None,
        *,
        cluster: str = MANAGER,
        seconds: float = PATIENCE_SECONDS,
    ) -> Json:
        """The condition of a Workload in a cluster, once it is so."""

        def look() -> Json | None:
            body = self.places[cluster].find(workload)
            found = condition(body, kind) if body else None
            fits = found is not None and found["status"] == status and reason in (None, found["reason"])
            return found if fits else None

        what = f"{workload} in {cluster}: {kind} is not {status} {reason or ''}"
        return wait_for(look, seconds, lambda: f"{what}\n{self.story()}")

    def until_copy(self, workload: str, cluster: str) -> Json:
        """The copy in a worker, once there is one."""
        what = f"{cluster} has no copy of {workload}"
        return wait_for(lambda: self.places[cluster].find(workload), what=lambda: f"{what}\n{self.story()}")

    def until_no_copy(self, workload: str, *clusters: str) -> None:
        """Neither copy nor Job nor pod of it is left in these workers (all if none is named)."""

        def is_gone() -> bool:
            return all(self.places[each].find(workload) is None for each in clusters or WORKERS)

        wait_for(is_gone, what=lambda: f"a copy of {workload} is left\n{self.story()}")

    def gate(self, workload: str, cluster: str) -> str:
        """Position of the gate of a copy; empty if its status has none."""
        body = self.places[cluster].find(workload) or {}
        gates = body.get("status", {}).get("preemptionGates") or ()
        return next((each["position"] for each in gates), "")

    def until_gate(self, workload: str, cluster: str, position: str) -> None:
        """The gate of a copy has a position."""
        what = f"the gate of {workload} in {cluster} is not {position}"
        wait_for(lambda: self.gate(workload, cluster) == position, what=lambda: f"{what}\n{self.story()}")

    def story(self) -> str:
        """How everything stands, for the message of a failed test."""
        return "\n".join(f"{name}:\n{place.story()}" for name, place in self.places.items())

    # ---- afterwards

    def remove(self) -> None:
        """Delete everything of this test, also where no reprieve takes its finalizers off. Empty namespaces stay: to
        delete one, the namespace controller asks for objects of every kind."""
        for place in self.places.values():
            for version, kind in NAMESPACED:
                _clear(place, version, kind)
        for place in self.places.values():
            wait_for(lambda place=place: _is_empty(place), what=lambda: f"left: {self.story()}")  # type: ignore[misc]  # bound by its default
        for place in self.places.values():
            _delete(place, KUEUE, "ClusterQueue", place.of(QUEUE), None)
            _delete(place, KUEUE, "ResourceFlavor", place.flavor, None)
        for kind, name in self._own:
            _delete(self.manager, KUEUE, kind, name, None)
        for (cluster, _), name in self._classes.items():
            self.places[cluster].client.delete(KUEUE, "WorkloadPriorityClass", name)


def _clear(place: Place, version: str, kind: str) -> None:
    """Delete all objects of a kind in the namespace."""
    try:
        found = place.client.list(version, kind, place.name)
    except ApiError as error:
        if error.status != 404:
            raise
        return  # this kind is not served here
    for each in found:
        _delete(place, version, kind, each["metadata"]["name"], place.name)


def _is_empty(place: Place) -> bool:
    """Whether nothing is left. What came meanwhile is deleted, too."""
    left = False
    for version, kind in ((BATCH, "Job"), (KUEUE, "Workload"), ("v1", "Pod")):
        if place.client.list(version, kind, place.name):
            left = True
            _clear(place, version, kind)
    return not left


def _delete(place: Place, version: str, kind: str, name: str, namespace: str | None) -> None:
    """Delete an object, and take off its finalizers."""
    place.client.delete(version, kind, name, namespace, 0 if kind == "Pod" else None)
    with contextlib.suppress(ApiError):  # it is gone, or goes
        place.client.patch(version, kind, name, {"metadata": {"finalizers": None}}, namespace)


class Boxes(Protocol):
    """Makes boxes."""

    def __call__(self, name: str, **cpus: int) -> Box:
        """`cpus`: the quota by cluster."""
