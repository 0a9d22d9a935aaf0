"""The pods that an object's controller would create, from the object as somebody writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod
from api.jobs import pods_at_once
from api.meta import ObjectMeta, OwnerReference, Struct
from api.validation import FieldError, convert

__all__ = ["KINDS", "VERSIONS", "MadePods", "Written", "list_in", "made_pods", "number_in", "object_in"]

REPLICA_SPECS: Final[Mapping[str, str]] = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "MXJob": "mxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
"""Kubeflow's training jobs, and the field with the templates of their pods."""
KINDS: Final[Mapping[str, str]] = {
    "Pod": "v1",
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    **dict.fromkeys(REPLICA_SPECS, "kubeflow.org/v1"),
    "RayCluster": "ray.io/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "Workload": "kueue.x-k8s.io/v1beta2",
}
"""Kinds whose pods are known, with their apiVersion."""
VERSIONS: Final = (*((version, kind) for kind, version in KINDS.items()), ("kubeflow.org/v2beta1", "MPIJob"))
"""Every apiVersion and kind that is known."""
MOST: Final = 10_000
"""Pods of one object."""


class Written(Struct, kw_only=True):
    """An object as somebody writes it, with its spec as it is."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta
    spec: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class MadePods:
    """Pods that are equal but for their names."""

    name: str
    """What their names begin with; a number follows."""
    pod_set: str
    count: int
    template: Mapping[str, Any]
    """metadata and spec, as JSON has them."""
    pod: Pod


def made_pods(kind: str, written: Written) -> list[MadePods]:
    """The pods by kind of pod. A TrainJob has those of its JobSet: see `train_jobs`. Raises FieldError."""
    meta, spec = written.metadata, written.spec or {}
    match kind:
        case "Pod":
            labels = {"labels": meta.labels or {}, "annotations": meta.annotations or {}}
            return [_made(meta, meta.name, "main", 1, {"metadata": labels, "spec": spec}, "spec", None)]
        case "Job":
            owner = OwnerReference("batch/v1", "Job", meta.name, meta.uid, controller=True)
            return [_of_job(meta, meta.name, "main", 1, spec, "spec", owner, {})]
        case "JobSet":
            return list(_of_job_set(meta, spec))
        case "LeaderWorkerSet":
            return list(_of_leader_worker_set(meta, spec))
        case "RayCluster":
            return list(_of_ray_cluster(meta, spec))
        case _ if kind in REPLICA_SPECS:
            owner = OwnerReference(
                written.api_version or KINDS[kind], kind, meta.name, meta.uid, controller=True
            )
            return list(_of_training_job(meta, spec, REPLICA_SPECS[kind], owner))
        case "Workload":
            return [
                _made(meta, f"{meta.name}-{each.get('name', 'main')}", each.get("name", "main"),
                      number_in(each, "count", 1, f"spec.podSets[{at}]"), each.get("template") or {},
                      f"spec.podSets[{at}].template.spec", None)
                for at, each in enumerate(list_in(spec, "podSets", "spec"))
            ]  # fmt: skip
        case _:
            set_kind = "StatefulSet" if kind == "StatefulSet" else "ReplicaSet"
            owner = OwnerReference("apps/v1", set_kind, meta.name, meta.uid, controller=True)
            count = number_in(spec, "replicas", 1, "spec")
            template = object_in(spec, "template", "spec")
            return [_made(meta, meta.name, "main", count, template, "spec.template.spec", owner)]


def _of_job_set(meta: ObjectMeta, spec: Mapping[str, Any]) -> Iterator[MadePods]:
    for at, each in enumerate(list_in(spec, "replicatedJobs", "spec")):
        path = f"spec.replicatedJobs[{at}]"
        name, replicas = str(each.get("name", "")), number_in(each, "replicas", 1, path)
        job = f"{meta.name}-{name}-0"
        labels = {
            "jobset.sigs.k8s.io/jobset-name": meta.name,
            "jobset.sigs.k8s.io/replicatedjob-name": name,
            "jobset.sigs.k8s.io/job-index": "0",
        }
        owner = OwnerReference("batch/v1", "Job", job, f"{meta.uid}/{name}", controller=True)
        body = object_in(object_in(each, "template", path), "spec", f"{path}.template")
        prefix = f"{meta.name}-{name}"
        yield _of_job(meta, prefix, name, replicas, body, f"{path}.template.spec", owner, labels)


def _of_training_job(
    meta: ObjectMeta, spec: Mapping[str, Any], field: str, owner: OwnerReference
) -> Iterator[MadePods]:
    for role, each in object_in(spec, field, "spec").items():
        path = f"spec.{field}.{role}"
        if not isinstance(each, dict):
            raise FieldError(path, "is not an object")
        count, pod_set = number_in(each, "replicas", 1, path), role.lower()
        template = object_in(each, "template", path)
        yield _made(meta, f"{meta.name}-{pod_set}", pod_set, count, template, f"{path}.template.spec", owner)


def _of_leader_worker_set(meta: ObjectMeta, spec: Mapping[str, Any]) -> Iterator[MadePods]:
    """The leader of each replica, and its workers, which a StatefulSet with the leader's name creates."""
    path = "spec.leaderWorkerTemplate"
    body = object_in(spec, "leaderWorkerTemplate", "spec")
    replicas, size = number_in(spec, "replicas", 1, "spec"), number_in(body, "size", 1, path)
    if replicas * size > MOST:
        raise FieldError(path, f"these are {replicas * size} pods; more than {MOST} are not looked at")
    workers = object_in(body, "workerTemplate", path)
    leaders = object_in(body, "leaderTemplate", path) or workers
    for replica in range(replicas):
        name = f"{meta.name}-{replica}"
        labels = {
            "leaderworkerset.sigs.k8s.io/name": meta.name,
            "leaderworkerset.sigs.k8s.io/group-index": str(replica),
        }
        for role, count, template, creator in (
            ("leader", 1, leaders, meta.name),
            ("worker", max(0, size - 1), workers, name),
        ):
            owner = OwnerReference(
                "apps/v1", "StatefulSet", creator, f"{meta.uid}/{creator}", controller=True
            )
            is_own = role == "leader" and bool(body.get("leaderTemplate"))
            field = "leaderTemplate" if is_own else "workerTemplate"
            whole, pod_set = _labelled(template, labels), f"{role}-{replica}"
            yield _made(meta, f"{name}-{role}", pod_set, count, whole, f"{path}.{field}.spec", owner)


def _of_ray_cluster(meta: ObjectMeta, spec: Mapping[str, Any]) -> Iterator[MadePods]:
    owner = OwnerReference(KINDS["RayCluster"], "RayCluster", meta.name, meta.uid, controller=True)
    head = object_in(object_in(spec, "headGroupSpec", "spec"), "template", "spec.headGroupSpec")
    yield _made(meta, f"{meta.name}-head", "head", 1, head, "spec.headGroupSpec.template.spec", owner)
    for at, each in enumerate(list_in(spec, "workerGroupSpecs", "spec")):
        path = f"spec.workerGroupSpecs[{at}]"
        count = number_in(each, "replicas", 0, path) * number_in(each, "numOfHosts", 1, path)
        pod_set = str(each.get("groupName", "worker"))
        template = object_in(each, "template", path)
        yield _made(meta, f"{meta.name}-{pod_set}", pod_set, count, template, f"{path}.template.spec", owner)


def _labelled(template: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    known = template.get("metadata") or {}
    return {**template, "metadata": {**known, "labels": {**(known.get("labels") or {}), **labels}}}


def _of_job(
    meta: ObjectMeta,
    name: str,
    pod_set: str,
    replicas: int,
    spec: Mapping[str, Any],
    path: str,
    owner: OwnerReference,
    labels: Mapping[str, str],
) -> MadePods:
    parallelism = number_in(spec, "parallelism", 1, path)
    completions = number_in(spec, "completions", parallelism, path)
    jobs = {"job-name": owner.name, "batch.kubernetes.io/job-name": owner.name}
    template = _labelled(object_in(spec, "template", path), {**labels, **jobs})
    count = replicas * pods_at_once(parallelism, completions)
    return _made(meta, name, pod_set, count, template, f"{path}.template.spec", owner)


def _made(
    meta: ObjectMeta,
    name: str,
    pod_set: str,
    count: int,
    template: Mapping[str, Any],
    path: str,
    owner: OwnerReference | None,
) -> MadePods:
    if count > MOST:
        raise FieldError(path, f"these are {count} pods; more than {MOST} are not looked at")
    about = template.get("metadata") or {}
    body = {
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": about.get("labels"),
            "annotations": about.get("annotations"),
        },
        "spec": template.get("spec") or {},
    }
    try:
        pod: Pod = convert(body, Pod)
    except FieldError as error:
        inside = error.path.removeprefix("spec").lstrip(".")
        raise FieldError(f"{path}.{inside}" if inside else path, error.problem) from None
    pod.metadata.owner_references = [owner] if owner is not None else None
    if not pod.spec.containers:
        raise FieldError(f"{path}.containers", "is missing")
    return MadePods(name, pod_set, count, template, pod)


def number_in(spec: Mapping[str, Any], name: str, default: int, path: str) -> int:
    """A number of pods. `path`: of the spec, for messages. Raises FieldError."""
    value = spec.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FieldError(f"{path}.{name}", f"is not a number of pods: {value!r}")
    return value


def object_in(spec: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    """An object; empty if it is missing. Raises FieldError."""
    value = spec.get(name) or {}
    if not isinstance(value, dict):
        raise FieldError(f"{path}.{name}", "is not an object")
    return value


def list_in(spec: Mapping[str, Any], name: str, path: str) -> list[Mapping[str, Any]]:
    """A list of objects; empty if it is missing. Raises FieldError."""
    value = spec.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise FieldError(f"{path}.{name}", "is not a list of objects")
    return value
