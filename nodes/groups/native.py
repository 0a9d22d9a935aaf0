"""PodGroups of `scheduling.k8s.io` (KEP-4671): a field of the pod names them."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from api.core import Pod
from api.foreign_groups import NATIVE, NativePodGroup, NativeSpec
from api.groups import (
    INITIALLY_SCHEDULED,
    DisruptionMode,
    Empty,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
)
from nodes.groups import keys
from nodes.groups.forms import HIGHEST
from nodes.groups.keys import foreign_name

__all__ = ["SOURCE", "form", "name_of", "part_of"]

SOURCE: Final = keys.NATIVE


def name_of(pod: Pod) -> str | None:
    """The PodGroup that `spec.schedulingGroup` names."""
    group = pod.spec.scheduling_group
    return foreign_name(SOURCE, group.pod_group_name) if group is not None and group.pod_group_name else None


def form(group: NativePodGroup) -> PodGroup:
    """The internal form of the object. It has the shape of ours.

    Without the gate of KEP-5710 the API server drops disruptionMode and the priority. A group without the first goes
    whole: nobody has said that it may be broken. Without a priority or a class, its pods say the priority.

    No form says that the gang has run: the scheduler writes that before the bindings. Bound pods tell it.
    """
    conditions = [
        each
        for each in (group.status.conditions if group.status is not None else None) or ()
        if (each.type, each.status) != (INITIALLY_SCHEDULED, "True")
    ]
    return PodGroup(
        api_version=NATIVE,
        metadata=replace(group.metadata, name=foreign_name(SOURCE, group.metadata.name)),
        spec=_completed(group.spec),
        status=PodGroupStatus(conditions=conditions) if conditions else None,
    )


def part_of(group: PodGroup) -> str:
    """The name of the CompositePodGroup that the group is a part of; empty if it is of none."""
    spec = group.spec
    return (spec.parent_composite_pod_group_name or "") if isinstance(spec, NativeSpec) else ""


def _completed(spec: PodGroupSpec) -> PodGroupSpec:
    mode = spec.disruption_mode
    is_single = mode is not None and mode.single is not None
    says_priority = spec.priority is not None or spec.priority_class_name
    return replace(
        spec,
        disruption_mode=mode if is_single else DisruptionMode(all=Empty()),
        priority=spec.priority if says_priority else HIGHEST,
    )
