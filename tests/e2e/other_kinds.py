"""Groups that other programs make, as their controllers would make them: objects, pods and what is between."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.versions import knows
from tests.e2e.support import Sandbox, names, wait_for
from tests.kit.versions import THERE

__all__ = [
    "COSCHEDULING",
    "CRDS",
    "JOB_SET",
    "KINDS_OF_OTHERS",
    "NATIVE",
    "REPLICAS",
    "SIZE",
    "all_kinds",
    "controlled_by",
    "create",
    "install",
    "object_of",
    "replica",
    "replica_pod",
    "stateful_set",
]

CRDS: Final = "apiextensions.k8s.io/v1"
TRAINING: Final = "kubeflow.org/v1"
COSCHEDULING: Final = "scheduling.x-k8s.io/v1alpha1"
VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
NATIVE: Final = "scheduling.k8s.io/v1beta1"
JOB_SET: Final = "jobset.x-k8s.io/v1alpha2"
REPLICAS: Final = "leaderworkerset.x-k8s.io/v1"
RAY: Final = "ray.io/v1"
GANG: Final = {"reprieve.dev/gang": "true"}
SIZE: Final = 2
"""Pods of each group, on a node each."""
TRAINING_JOBS: Final = ("JAXJob", "MPIJob", "MXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
KINDS_OF_OTHERS: Final = (
    *((TRAINING, kind) for kind in TRAINING_JOBS),
    (COSCHEDULING, "PodGroup"),
    (VOLCANO, "PodGroup"),
    (JOB_SET, "JobSet"),
    (REPLICAS, "LeaderWorkerSet"),
    (RAY, "RayCluster"),
)
"""What an API server does not serve by itself."""


def install(client: Client, api_version: str, kind: str) -> None:
    """Make a CRD, whose objects may say anything, and wait until it is served."""
    (group, version), plural = api_version.split("/"), f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    versions = [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    meta = {"name": f"{plural}.{group}"}
    client.create({"apiVersion": CRDS, "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec})
    wait_for(lambda: is_served(client, f"/apis/{api_version}/{plural}"), what="the CRD is not served")


def create(sandbox: Sandbox, api_version: str, kind: str, name: str, spec: Json, **annotations: str) -> Json:
    """Create an object of another program. `annotations`: ours, without our prefix."""
    meta = {"name": name, "annotations": {f"reprieve.dev/{key}": said for key, said in annotations.items()}}
    body = {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}
    path = f"/apis/{api_version}/namespaces/{sandbox.namespace}/{kind.lower()}s"
    return sandbox.client.request("POST", path, body)


def object_of(sandbox: Sandbox, api_version: str, kind: str, name: str) -> Json:
    """An object of another program."""
    path = f"/apis/{api_version}/namespaces/{sandbox.namespace}/{kind.lower()}s/{name}"
    return sandbox.client.request("GET", path)


def controlled_by(owner: Json) -> Json:
    """The reference of whatever this object controls."""
    known = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**known, **{field: owner["metadata"][field] for field in ("name", "uid")}, "controller": True}


def is_served(client: Client, path: str) -> bool:
    try:
        client.request("GET", path)
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):  # not yet
            raise
        return False
    return True


class Kinds:
    """Makes groups of SIZE pods. Each has nodes of its own, and its pods run when a method returns."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.pods: dict[str, list[str]] = {}
        """Names of pods by group, in the order in which the groups were made."""

    @property
    def priority(self) -> int:
        """The next group's: higher than that of the group before it."""
        return 10 * (len(self.pods) + 1)

    def class_of_next(self) -> str:
        """The PriorityClass of the group that is made next."""
        return self._sandbox.priority(self.priority)

    def bare(self, name: str, **pod: Any) -> None:
        """Pods that say themselves which group they belong to."""
        places = [self._sandbox.node(f"{name}-{number}", cpu="1") for number in range(SIZE)]
        self.pods[name] = [
            self._sandbox.pod(f"{name}-{number}", priority=self.priority, node_name=place, **pod)
            for number, place in enumerate(places)
        ]
        self._sandbox.wait_running(*self.pods[name])

    def owned(self, name: str, owners: list[Json]) -> None:
        """Pods with these controllers, one after the other."""
        priority, client, running = self.priority, self._sandbox.client, []
        for number, owner in enumerate(owners):
            place = self._sandbox.node(f"{name}-{number}", cpu="1")
            body = self._sandbox.pod_body(f"{name}-{number}", priority=priority, node_name=place)
            body["metadata"]["ownerReferences"] = [controlled_by(owner)]
            running.append(client.create(body)["metadata"]["name"])
        self.pods[name] = running
        self._sandbox.wait_running(*running)

    def jobs(
        self,
        name: str,
        jobs: list[str],
        labels: list[dict[str, str]],
        annotations: dict[str, str],
        owners: list[Json],
    ) -> None:
        """Indexed Jobs of the Job controller, which creates SIZE pods in sum."""
        priority, namespace = self.priority, self._sandbox.namespace
        for number in range(SIZE):
            self._sandbox.node(f"{name}-{number}", cpu="1", labels={"kind": name})
        for job, its_labels in zip(jobs, labels, strict=True):
            pod = self._sandbox.pod_body(
                "template", priority=priority, restartPolicy="Never", nodeSelector={"kind": name}
            )
            meta = {"labels": {**its_labels, "group": name}}
            count = SIZE // len(jobs)
            spec = {
                "parallelism": count,
                "completions": count,
                "completionMode": "Indexed",
                "template": {"metadata": meta, "spec": pod["spec"]},
            }
            where: Json = {"name": job, "namespace": namespace, "annotations": annotations}
            where |= {"ownerReferences": [controlled_by(each) for each in owners]}
            self._sandbox.client.create(
                {"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": spec}
            )
        self.pods[name] = wait_for(lambda: self._created(name), what=f"the pods of {name} do not exist")
        self._sandbox.wait_running(*self.pods[name])

    def _created(self, name: str) -> list[str] | None:
        found = self._sandbox.client.list("v1", "Pod", self._sandbox.namespace, labels=f"group={name}")
        return sorted(pod["metadata"]["name"] for pod in found) if len(found) == SIZE else None


def stateful_set(sandbox: Sandbox, name: str, owner: Json | None) -> Json:
    """One that creates nothing: its controller does not run here."""
    pod = sandbox.pod_body("template")
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        "serviceName": name,
    }
    where: Json = {"name": name, "namespace": sandbox.namespace}
    if owner is not None:
        where["ownerReferences"] = [controlled_by(owner)]
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": where, "spec": spec}
    return sandbox.client.request("POST", f"/apis/apps/v1/namespaces/{sandbox.namespace}/statefulsets", body)


def replica_pod(
    sandbox: Sandbox, name: str, owner: Json, place: str, priority: int, index: str = "0"
) -> Json:
    """A pod that says that it belongs to a replica of the LeaderWorkerSet llm, on a node of its own."""
    node = sandbox.node(place, cpu="1", labels={"place": place})
    labels = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": index}
    body = sandbox.pod_body(name, priority=priority, node_name=node, labels=labels)
    body["metadata"]["ownerReferences"] = [controlled_by(owner)]
    return sandbox.client.create(body)


def replica(sandbox: Sandbox, priority: int) -> list[str]:
    """A LeaderWorkerSet with one replica of SIZE pods, and all that is between, as its controller makes it."""
    leader_worker_set = create(sandbox, REPLICAS, "LeaderWorkerSet", "llm", {})
    leaders = stateful_set(sandbox, "llm", leader_worker_set)
    leader = replica_pod(sandbox, "llm-0", leaders, "llm-0", priority)
    workers = stateful_set(sandbox, "llm-0", {"apiVersion": "v1", "kind": "Pod", **leader})
    worker = replica_pod(sandbox, "llm-0-1", workers, "llm-1", priority)
    pods = names([leader, worker])
    sandbox.wait_running(*pods)
    return pods


def all_kinds(sandbox: Sandbox) -> Kinds:
    """One group of each kind, of rising priority. Kubernetes' own is left out where the version does not have it."""
    kinds = Kinds(sandbox)
    create(sandbox, COSCHEDULING, "PodGroup", "plugins", {"minMember": SIZE})
    kinds.bare("plugins", labels={"scheduling.x-k8s.io/pod-group": "plugins"})
    create(sandbox, VOLCANO, "PodGroup", "volcano", {"minMember": SIZE})
    kinds.bare("volcano", annotations={"scheduling.k8s.io/group-name": "volcano"})
    if knows(THERE, NATIVE):
        policy = {"schedulingPolicy": {"gang": {"minCount": SIZE}}, "disruptionMode": {"all": {}}}
        create(sandbox, NATIVE, "PodGroup", "native", policy | {"priorityClassName": kinds.class_of_next()})
        kinds.bare("native", schedulingGroup={"podGroupName": "native"})
    sandbox.group("ours", min_count=SIZE, priority=kinds.priority, mode="all")
    kinds.bare("ours", group="ours")
    kinds.owned("train", [create(sandbox, TRAINING, "PyTorchJob", "train", {})] * SIZE)
    kinds.pods["llm"] = replica(sandbox, kinds.priority)
    sets = [
        {"jobset-name": "sim", "replicatedjob-name": name, "job-index": "0"} for name in ("driver", "workers")
    ]
    labels = [{f"jobset.sigs.k8s.io/{key}": value for key, value in each.items()} for each in sets]
    job_set = create(
        sandbox, JOB_SET, "JobSet", "sim", {"replicatedJobs": [{"name": "driver"}, {"name": "workers"}]}
    )
    kinds.jobs("sim", ["sim-driver-0", "sim-workers-0"], labels, {}, [job_set])
    kinds.jobs("ring", ["ring"], [{}], GANG, [])
    kinds.owned("ray", [create(sandbox, RAY, "RayCluster", "ray", {}, gang="true")] * SIZE)
    return kinds
