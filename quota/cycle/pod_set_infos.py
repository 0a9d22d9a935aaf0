"""What an admission adds to the pods of a Workload: node selectors and tolerations of the flavors, and what the
admission checks ask for (pkg/podset of Kueue).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_fields

from api.core import Toleration
from api.kueue import ResourceFlavor
from api.meta import ObjectMeta
from api.podsets import PodSetAssignment, PodSetUpdate, PodTemplate
from api.workloads import Workload

__all__ = ["PodSetConflict", "PodSetInfo", "merged", "pod_set_infos", "with_info"]


class PodSetConflict(ValueError):
    """Two of those that add to a pod set want different values for one key. The message names key and values."""


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What is added to the template of one pod set. No key has two values."""

    name: str
    """The pod set."""
    count: int
    """How many pods have quota."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node_selector: Mapping[str, str]
    tolerations: tuple[Toleration, ...]


def pod_set_infos(workload: Workload, flavors: Mapping[str, ResourceFlavor]) -> list[PodSetInfo]:
    """What the admission in the Workload's status adds, in the order of its pod sets. Without an admission, nothing.

    `flavors`: by name. A flavor that is gone adds nothing. Raises PodSetConflict.
    """
    admission = workload.status.admission
    if admission is None:
        return []
    counts = {pods.name: pods.count for pods in workload.spec.pod_sets}
    infos = []
    for assignment in admission.pod_set_assignments or ():
        info = _of_flavors(assignment, counts.get(assignment.name, 0), flavors)
        for check in workload.status.admission_checks or ():
            for update in check.pod_set_updates or ():
                if update.name == assignment.name:
                    info = _updated(info, update, f"AdmissionCheck {check.name}")
        infos.append(info)
    return infos


def with_info(template: PodTemplate, info: PodSetInfo) -> PodTemplate:
    """The template with what is added. Raises PodSetConflict."""
    who, meta, spec = (
        f"the admission of pod set {info.name}",
        template.metadata or ObjectMeta(),
        template.spec,
    )
    return PodTemplate(
        replace_fields(
            meta,
            labels=merged(meta.labels or {}, info.labels, "label", who),
            annotations=merged(meta.annotations or {}, info.annotations, "annotation", who),
        ),
        replace_fields(
            spec,
            node_selector=merged(spec.node_selector or {}, info.node_selector, "nodeSelector", who),
            tolerations=[*_extended(tuple(spec.tolerations or ()), info.tolerations)],
        ),
    )


def merged(known: Mapping[str, str], more: Mapping[str, str], field: str, who: str) -> dict[str, str]:
    """Both together. Raises PodSetConflict that names field and key, and `who` asks for more."""
    for key, value in sorted(more.items()):
        if known.get(key, value) != value:
            raise PodSetConflict(
                f"{field} {key}: {who} asks for {value!r}, and {known[key]!r} is there already"
            )
    return {**known, **more}


def _of_flavors(
    assignment: PodSetAssignment, count: int, flavors: Mapping[str, ResourceFlavor]
) -> PodSetInfo:
    selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    for name in sorted(set((assignment.flavors or {}).values())):
        flavor = flavors.get(name)
        if flavor is None:
            continue
        selector = merged(selector, flavor.spec.node_labels or {}, "nodeSelector", f"ResourceFlavor {name}")
        tolerations = _extended(tolerations, flavor.spec.tolerations or ())
    count = count if assignment.count is None else assignment.count
    return PodSetInfo(assignment.name, count, {}, {}, selector, tolerations)


def _updated(info: PodSetInfo, update: PodSetUpdate, who: str) -> PodSetInfo:
    return replace(
        info,
        labels=merged(info.labels, update.labels or {}, "label", who),
        annotations=merged(info.annotations, update.annotations or {}, "annotation", who),
        node_selector=merged(info.node_selector, update.node_selector or {}, "nodeSelector", who),
        tolerations=_extended(info.tolerations, update.tolerations or ()),
    )


def _extended(known: tuple[Toleration, ...], more: Iterable[Toleration]) -> tuple[Toleration, ...]:
    result = list(known)
    result += [each for each in more if each not in known]
    return tuple(result)
