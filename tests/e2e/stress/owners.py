"""What owners of pods do: Jobs that say that they are gangs, and PyTorchJobs, whose controller this load plays.

An action draws from the cluster's random numbers.
"""

from __future__ import annotations

import http.client
from functools import partial
from typing import Any, Final

from hack.controlplane import objects
from hack.controlplane.client import ApiError, Json
from tests.e2e.stress.actions import ACTIONS, Action, remove_owned
from tests.e2e.stress.cluster import PRIORITIES, SECOND_SCHEDULER, Cluster, Owned, Training
from tests.e2e.stress.faults import ACTIONS_WITH_FAULTS
from tests.kit.stress.owned import BY_OWNER, GANG

__all__ = [
    "ACTIONS_OF_OWNERS",
    "ACTIONS_OF_OWNERS_WITH_FAULTS",
    "TRAINING",
    "add_gang_job",
    "add_training",
    "serves",
]

TRAINING: Final = "kubeflow.org/v1"
CRDS: Final = "apiextensions.k8s.io/v1"
CRD: Final = "pytorchjobs.kubeflow.org"
MOST: Final = 8
"""The number of PyTorchJobs that stay. Beyond it, one is removed before a new one comes. The same of Jobs, with all
that has an owner."""
HUGE: Final = 2**40

Key = tuple[str, str]


def install(cluster: Cluster) -> None:
    """PyTorchJobs are served, and may say anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "pytorchjobs", "kind": "PyTorchJob", "listKind": "PyTorchJobList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "kubeflow.org", "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": CRD}
    cluster.create({"apiVersion": CRDS, "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec})


def serves(cluster: Cluster) -> bool:
    """Whether PyTorchJobs are served, and will be. If nothing is there that could serve them, they are installed."""
    found = cluster.client.find(CRDS, "CustomResourceDefinition", CRD)
    if found is None:
        install(cluster)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return False
    try:
        cluster.client.list(TRAINING, "PyTorchJob")
    except ApiError:
        return False
    return True


def remove_kind(cluster: Cluster) -> None:
    """The CRD goes, with all PyTorchJobs, and comes again a little later."""
    cluster.delete(CRDS, "CustomResourceDefinition", CRD)
    cluster.in_steps(60, partial(install, cluster))


# ---- PyTorchJobs


def add_training(cluster: Cluster) -> None:
    """A PyTorchJob and its pods; now and then fewer pods, or a pod of another scheduler among them."""
    rng = cluster.rng
    if len(cluster.training) >= MOST:
        remove_training(cluster)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("train")
    count, draw = rng.randint(1, 5), rng.random()
    fields: dict[str, Any] = {
        "cpu": rng.choice(("500m", "1", "1", "2")),
        "priority_class": f"p{rng.choice(PRIORITIES)}",
        "grace_seconds": rng.choice((0, 0, 1)),
    }
    template = {"spec": objects.pod("", namespace, **fields)["spec"]}
    spec: Json = {"pytorchReplicaSpecs": {"Worker": {"replicas": count, "template": template}}}
    if draw < 0.2:
        spec["runPolicy"] = {"schedulingPolicy": {"minAvailable": rng.choice((0, 1, count, HUGE))}}
    pods = tuple(_pod(cluster, f"{name}-{number}", namespace, fields) for number in range(count))
    meta = {"namespace": namespace, "name": name}
    body = {"apiVersion": TRAINING, "kind": "PyTorchJob", "metadata": meta, "spec": spec}
    training = cluster.training[namespace, name] = Training(body, pods)
    _create(cluster, training, pods if rng.random() < 0.9 else pods[1:])


def _pod(cluster: Cluster, name: str, namespace: str, fields: dict[str, Any]) -> Json:
    elsewhere: dict[str, Any] = {"schedulerName": SECOND_SCHEDULER} if cluster.rng.random() < 0.03 else {}
    return objects.pod(name, namespace, **fields, **elsewhere)


def refill(cluster: Cluster) -> None:
    """The controller makes again the pods that are gone, of most PyTorchJobs."""
    for training in list(cluster.training.values()):
        if cluster.rng.random() < 0.7:
            _create(cluster, training, training.pods)


def remove_training(cluster: Cluster) -> None:
    """A PyTorchJob goes, and its pods with it, when the garbage collector comes to it."""
    if key := _draw(cluster):
        del cluster.training[key]
        cluster.delete(TRAINING, "PyTorchJob", key[1], key[0])


def replace_training(cluster: Cluster) -> None:
    """Another PyTorchJob has the name of one, while the pods of that one are still there."""
    if key := _draw(cluster):
        training = cluster.training[key]
        cluster.delete(TRAINING, "PyTorchJob", key[1], key[0])
        _create(cluster, training, training.pods)


def change_training(cluster: Cluster) -> None:
    """Another minAvailable, and another setting."""
    rng = cluster.rng
    if key := _draw(cluster):
        policy = {"schedulingPolicy": {"minAvailable": rng.choice((None, 0, 1, 2, 3, HUGE))}}
        said = {"annotations": {BY_OWNER: rng.choice((None, None, "Victims", "Gangs"))}}
        patch = {"metadata": said, "spec": {"runPolicy": policy}}
        cluster.patch(TRAINING, "PyTorchJob", (key[1], key[0]), patch)


def _draw(cluster: Cluster) -> Key | None:
    return cluster.rng.choice(list(cluster.training)) if cluster.training else None


def _create(cluster: Cluster, training: Training, pods: tuple[Json, ...]) -> None:
    """The PyTorchJob and these pods, as far as they are not there."""
    uid = _uid(cluster, training)
    if uid is None:
        return
    name = training.body["metadata"]["name"]
    owner = {"apiVersion": TRAINING, "kind": "PyTorchJob", "name": name, "uid": uid, "controller": True}
    for pod in pods:
        cluster.create({**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}})


def _uid(cluster: Cluster, training: Training) -> str | None:
    """Of the PyTorchJob, which is created if it is not there; None if nobody can say it now."""
    meta = training.body["metadata"]
    asks = (
        partial(cluster.client.create, training.body),
        partial(cluster.client.find, TRAINING, "PyTorchJob", meta["name"], meta["namespace"]),
    )
    for ask in asks:
        try:
            answer = ask()
        except (ApiError, OSError, http.client.HTTPException):
            continue
        return str(answer["metadata"]["uid"]) if answer else None
    return None


# ---- namespaces and Jobs


def change_namespace(cluster: Cluster) -> None:
    """A namespace says something of all owners in it, for a while."""
    name = cluster.rng.choice(cluster.namespaces)
    _say(cluster, name, cluster.rng.choice(("Victims", "Gangs")))
    cluster.in_steps(30, partial(_say, cluster, name, None))


def _say(cluster: Cluster, name: str, setting: str | None) -> None:
    cluster.patch("v1", "Namespace", (name, None), {"metadata": {"annotations": {BY_OWNER: setting}}})


def add_gang_job(cluster: Cluster) -> None:
    """A Job that says that its pods are a gang. Kubernetes creates them, and creates them again."""
    rng = cluster.rng
    if len(cluster.owned) >= MOST:
        remove_owned(cluster, 0)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("ring")
    pods, cpu, priority = rng.randint(1, 4), rng.choice(("500m", "1", "2")), f"p{rng.choice(PRIORITIES)}"
    pod = objects.pod("", namespace, cpu=cpu, priority_class=priority, restartPolicy="Never")
    template = {"metadata": {"annotations": {GANG: "true"}}, "spec": pod["spec"]}
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 1000, "template": template}
    meta = {"namespace": namespace, "name": name}
    cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
    cluster.owned.append(Owned("batch/v1", "Job", namespace, name))


_MORE: Final[dict[Action, int]] = {
    add_training: 20,
    add_gang_job: 10,
    refill: 24,
    remove_training: 6,
    replace_training: 4,
    change_training: 8,
    change_namespace: 3,
}
ACTIONS_OF_OWNERS: Final[dict[Action, int]] = {**ACTIONS, **_MORE}
ACTIONS_OF_OWNERS_WITH_FAULTS: Final[dict[Action, int]] = {**ACTIONS_WITH_FAULTS, **_MORE, remove_kind: 1}
"""How often, in relation to one another."""
