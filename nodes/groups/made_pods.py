"""The pods that an object's controller would create, from the object as somebody writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from api.core import PersistentVolumeClaimVolumeSource, Pod, Volume
from api.meta import ObjectMeta, Struct
from api.storage import PersistentVolumeClaim
from api.validation import FieldError, convert, join
from nodes.groups.kinds.alone import with_alone
from nodes.groups.kinds.kind import Awaited, Kind, Part
from schema.defaults.filling import filled

__all__ = ["MadePods", "Written", "list_in", "made_pods", "number_in", "object_in", "read_as"]

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
    """metadata and spec, as JSON has them, as Workloads count them."""
    pod: Pod
    copy: int = 0
    """Which of the equal sets of pods of an object: see `Kind.copies`."""
    after: Awaited | None = None
    """None if they are created at once."""
    claims: Sequence[PersistentVolumeClaim] = ()
    """Those that their controller makes for the first of them. The others get equal ones."""


def read_as(kind: Kind, written: Written) -> Any:
    """The object as the struct of its kind. Raises FieldError."""
    body = {"metadata": msgspec.to_builtins(written.metadata), "spec": written.spec or {}}
    item = filled(convert(body, kind.type))
    _refuse_negative(item.spec, "spec")
    return item


def made_pods(kind: Kind, written: Written) -> list[MadePods]:
    """The pods by kind of pod. A TrainJob has those of its JobSet: see `train_jobs`. Raises FieldError."""
    item = read_as(kind, written)
    copies = kind.copies(item)
    first = list(kind.parts(item, 0)) if copies else []
    if (pods := copies * sum(each.count for each in first)) > MOST:
        path = f"{first[0].path}.spec" if len(first) == 1 else "spec"
        raise FieldError(path, f"these are {pods} pods; more than {MOST} are not looked at")
    return [_made(written, each, copy) for copy in range(copies) for each in kind.parts(item, copy)]


def _made(written: Written, part: Part, copy: int) -> MadePods:
    meta, path = written.metadata, f"{part.path}.spec" if part.path else "spec"
    template = _with(_labelled(_template(written, part), part.labels), "containers", part.sidecars, path)
    whole = template
    for field, containers in part.injected.items():
        whole = _with(whole, field, containers, path)
    about = whole.get("metadata") or {}
    body = {
        "metadata": {
            "name": part.prefix,
            "namespace": meta.namespace,
            "labels": about.get("labels"),
            "annotations": about.get("annotations"),
        },
        "spec": whole.get("spec") or {},
    }
    try:
        pod: Pod = convert(body, Pod)
    except FieldError as error:
        inside = error.path.removeprefix("spec").lstrip(".")
        raise FieldError(f"{path}.{inside}" if inside else path, error.problem) from None
    pod.spec = with_alone(pod.spec, part.alone)
    pod.metadata.owner_references = [part.owner] if part.owner is not None else None
    claims = [*_claims(written, part)]
    own = {name: Volume(name, PersistentVolumeClaimVolumeSource(each.metadata.name)) for name, each in claims}
    if own:
        pod.spec.volumes = [*(each for each in pod.spec.volumes or () if each.name not in own), *own.values()]
    if not pod.spec.containers:
        raise FieldError(f"{path}.containers", "is missing")
    made = [each for _, each in claims]
    return MadePods(part.prefix, part.pod_set, part.count, template, pod, copy, part.after, made)


def _claims(written: Written, part: Part) -> Iterator[tuple[str, PersistentVolumeClaim]]:
    """The claims of the first pod, by the name of their template, which is also that of a volume. Raises FieldError."""
    for at, each in enumerate(_at(written, part.claims) or () if part.claims else ()):
        path = f"{part.claims}[{at}]"
        try:
            claim: PersistentVolumeClaim = convert(each, PersistentVolumeClaim)
        except FieldError as error:
            raise FieldError(f"{path}.{error.path}" if error.path else path, error.problem) from None
        name = claim.metadata.name
        claim.metadata = ObjectMeta(name=f"{name}-{part.prefix}-0", namespace=written.metadata.namespace)
        yield name, claim


def _template(written: Written, part: Part) -> Mapping[str, Any]:
    """The template of these pods. The struct of the kind has been read, so the path leads to it."""
    if not part.path:
        its = written.metadata
        return {
            "metadata": {"labels": its.labels, "annotations": its.annotations},
            "spec": written.spec or {},
        }
    return _at(written, part.path) or part.default or {}


def _at(written: Written, path: str) -> Any:
    value: Any = {"spec": written.spec or {}}
    for step in _steps(path):
        value = value[step] if isinstance(step, int) else (value or {}).get(step)
    return value


def _steps(path: str) -> Iterator[str | int]:
    for each in path.split("."):
        name, bracket, index = each.partition("[")
        yield name
        if bracket:
            yield int(index.removesuffix("]"))


def _labelled(template: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    if not labels:
        return template
    known = template.get("metadata") or {}
    return {**template, "metadata": {**known, "labels": {**(known.get("labels") or {}), **labels}}}


def _with(template: Mapping[str, Any], field: str, more: Any, path: str) -> Mapping[str, Any]:
    """The template with more containers in this field of its spec, unless it has none of its own."""
    spec = template.get("spec") or {}
    if not more or not spec.get("containers"):
        return template
    return {**template, "spec": {**spec, field: [*list_in(spec, field, path), *more]}}


def _refuse_negative(value: Any, path: str) -> None:
    """Raise FieldError for a number of something that is below zero."""
    if isinstance(value, msgspec.Struct):
        for each in msgspec.structs.fields(value):
            _refuse_negative(getattr(value, each.name), join(path, each.encode_name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            _refuse_negative(item, f"{path}[{at}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_negative(item, join(path, str(name)))
    elif isinstance(value, int) and value < 0:
        raise FieldError(path, f"is not a number of pods: {value}")


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
