"""Pod sets of a Workload (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.requests import PODS
from api.words import shown
from schema.labels import annotation_causes, label_causes
from schema.verdict import FORBIDDEN, INVALID, REQUIRED, Cause
from webhooks.rules.equality import same
from webhooks.rules.fields import child, entries, integer, items
from webhooks.rules.quantities import is_negative
from webhooks.rules.request import Object

__all__ = ["immutable_causes", "pod_set_causes"]

SLICE_SIZE: Final = "podSetSliceSize"
SLICE_TOPOLOGY: Final = "podSetSliceRequiredTopology"
SLICE_CONSTRAINTS: Final = "podsetSliceRequiredTopologyConstraints"


def pod_set_causes(spec: Object, *, elastic: bool) -> Iterator[Cause]:
    """The faults in `spec.podSets`. For an elastic job, every slice counts its pods again."""
    pod_sets = items(spec, "podSets")
    for index, pod_set in enumerate(pod_sets):
        path = f"spec.podSets[{index}]"
        yield from _template_causes(child(pod_set, "template"), f"{path}.template")
        if "topologyRequest" in pod_set:
            yield from _topology_causes(child(pod_set, "topologyRequest"), f"{path}.topologyRequest")
    partial = sum(pod_set.get("minCount") is not None for pod_set in pod_sets)
    if partial > 1:
        yield Cause("spec.podSets", INVALID, f"{partial} pod sets have a minCount; one may")
    if partial and elastic:
        yield Cause("spec.podSets", INVALID, "an elastic job has no minCount")


def immutable_causes(spec: Object, before: Object) -> Iterator[Cause]:
    """The faults in an update of pod sets that hold quota. Such an update may only ask for fewer pods."""
    new, old = items(spec, "podSets"), items(before, "podSets")
    if len(new) != len(old):
        yield Cause("spec.podSets", INVALID, "cannot be changed while quota is reserved")
        return
    for index, (pod_set, stored) in enumerate(zip(new, old, strict=True)):
        count, held = integer(pod_set, "count") or 0, integer(stored, "count") or 0
        if count > held or not same({**pod_set, "count": 0}, {**stored, "count": 0}):
            message = "cannot be changed while quota is reserved, except to fewer pods"
            # This is Kueue's path.
            yield Cause(f"spec.podSets.{index}", INVALID, message)


def _template_causes(template: Object, path: str) -> Iterator[Cause]:
    metadata, spec = child(template, "metadata"), child(template, "spec")
    if metadata:
        yield from label_causes(entries(metadata, "labels"), f"{path}.metadata.labels")
        yield from annotation_causes(entries(metadata, "annotations"), f"{path}.metadata.annotations")
    yield from _resource_causes(spec, f"{path}.spec")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(items(spec, field)):
            yield from _resource_causes(container, f"{path}.spec.{field}[{index}]")


def _resource_causes(owner: Object, path: str) -> Iterator[Cause]:
    """The faults in the resources of a container, or of a pod as a whole."""
    resources = child(owner, "resources")
    for field in ("requests", "limits"):
        for resource, value in child(resources, field).items():
            if resource == PODS:
                yield Cause(
                    f"{path}.resources.{field}[{resource}]", INVALID, "pods are counted, not asked for"
                )
            if is_negative(value):
                yield Cause(f"{path}.resources.{field}[{resource}]", INVALID, f"{shown(value)} is negative")


def _topology_causes(request: Object, path: str) -> Iterator[Cause]:
    """The faults in the size of slices. It needs the topology of the slices."""
    size, topology = integer(request, SLICE_SIZE), request.get(SLICE_TOPOLOGY)
    if topology is None and size is not None:
        yield Cause(f"{path}.{SLICE_SIZE}", FORBIDDEN, f"goes with {SLICE_TOPOLOGY} only")
    elif topology is not None and size is None:
        yield Cause(f"{path}.{SLICE_SIZE}", REQUIRED, f"goes with {SLICE_TOPOLOGY}")
    elif size is not None and size < 1:
        yield Cause(f"{path}.{SLICE_SIZE}", INVALID, f"{size} is not positive")
    for index, constraint in enumerate(items(request, SLICE_CONSTRAINTS)):
        if (least := integer(constraint, "size")) is not None and least < 1:
            yield Cause(f"{path}.{SLICE_CONSTRAINTS}[{index}].size", INVALID, f"{least} is not positive")
