"""The pods that an object's controller would create, from the object as somebody writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod
from api.jobs import pods_at_once
from api.meta import ObjectMeta, OwnerReference, Struct
from api.validation import FieldError, convert

__all__ = ["KINDS", "MadePods", "Written", "made_pods"]

KINDS: Final[Mapping[str, str]] = {
    "Pod": "v1",
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "Workload": "kueue.x-k8s.io/v1beta2",
}
"""Kinds whose pods are known, with their apiVersion."""
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
    """The pods by kind of pod. Raises FieldError."""
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
        case "Workload":
            return [
                _made(meta, f"{meta.name}-{each.get('name', 'main')}", each.get("name", "main"),
                      _number(each, "count", 1, f"spec.podSets[{at}]"), each.get("template") or {},
                      f"spec.podSets[{at}].template.spec", None)
                for at, each in enumerate(_list(spec, "podSets", "spec"))
            ]  # fmt: skip
        case _:
            set_kind = "StatefulSet" if kind == "StatefulSet" else "ReplicaSet"
            owner = OwnerReference("apps/v1", set_kind, meta.name, meta.uid, controller=True)
            count = _number(spec, "replicas", 1, "spec")
            template = _object(spec, "template", "spec")
            return [_made(meta, meta.name, "main", count, template, "spec.template.spec", owner)]


def _of_job_set(meta: ObjectMeta, spec: Mapping[str, Any]) -> Iterator[MadePods]:
    for at, each in enumerate(_list(spec, "replicatedJobs", "spec")):
        path = f"spec.replicatedJobs[{at}]"
        name, replicas = str(each.get("name", "")), _number(each, "replicas", 1, path)
        job = f"{meta.name}-{name}-0"
        labels = {
            "jobset.sigs.k8s.io/jobset-name": meta.name,
            "jobset.sigs.k8s.io/replicatedjob-name": name,
            "jobset.sigs.k8s.io/job-index": "0",
        }
        owner = OwnerReference("batch/v1", "Job", job, f"{meta.uid}/{name}", controller=True)
        body = _object(_object(each, "template", path), "spec", f"{path}.template")
        prefix = f"{meta.name}-{name}"
        yield _of_job(meta, prefix, name, replicas, body, f"{path}.template.spec", owner, labels)


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
    parallelism = _number(spec, "parallelism", 1, path)
    completions = _number(spec, "completions", parallelism, path)
    template = dict(_object(spec, "template", path))
    known = template.get("metadata") or {}
    jobs = {"job-name": owner.name, "batch.kubernetes.io/job-name": owner.name}
    template["metadata"] = {**known, "labels": {**(known.get("labels") or {}), **labels, **jobs}}
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


def _number(spec: Mapping[str, Any], name: str, default: int, path: str) -> int:
    value = spec.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FieldError(f"{path}.{name}", f"is not a number of pods: {value!r}")
    return value


def _object(spec: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    value = spec.get(name) or {}
    if not isinstance(value, dict):
        raise FieldError(f"{path}.{name}", "is not an object")
    return value


def _list(spec: Mapping[str, Any], name: str, path: str) -> list[Mapping[str, Any]]:
    value = spec.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise FieldError(f"{path}.{name}", "is not a list of objects")
    return value
