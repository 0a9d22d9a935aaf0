"""Which group a pod belongs to: the kinds of groups in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, NativePodGroup, VolcanoPodGroup
from api.groups import PodGroup
from nodes.groups import native, ours, scheduler_plugins, volcano

__all__ = [
    "OBJECTS",
    "ForeignGroup",
    "GroupKey",
    "ObjectSource",
    "first_said",
    "form_of",
    "group_of",
    "groups_of",
    "named_group",
    "second_said",
]

GroupKey = tuple[str, str]
"""(namespace, name). See `nodes.groups.keys`."""

SOURCES: Final[tuple[Callable[[Pod], str | None], ...]] = (
    native.name_of,
    ours.name_of,
    scheduler_plugins.name_of,
    volcano.name_of,
)
"""What pods say. A pod of several kinds belongs to the first one. The owner comes last.

A group of the first kind that is basic takes no pod from another group. Its object says that, see
`nodes.state.groups.owner_groups`.
"""

ForeignGroup = CoschedulingPodGroup | NativePodGroup | VolcanoPodGroup
"""An object that is a group of another kind."""


class ObjectSource(NamedTuple):
    """A kind of group whose objects are read."""

    source: str
    form: Callable[[Any], PodGroup]
    """From the object to the internal form."""


OBJECTS: Final[dict[type[ForeignGroup], ObjectSource]] = {
    NativePodGroup: ObjectSource(native.SOURCE, native.form),
    CoschedulingPodGroup: ObjectSource(scheduler_plugins.SOURCE, scheduler_plugins.form),
    VolcanoPodGroup: ObjectSource(volcano.SOURCE, volcano.form),
}


def first_said(pod: Pod) -> str | None:
    """The name of the group that the pod names, the first one of several; None if it names none."""
    for source in SOURCES:  # a loop, because every event of a pod comes here
        if name := source(pod):
            return name
    return None


def group_of(pod: Pod) -> GroupKey | None:
    """The PodGroup of ours that the pod names; None if it names none.

    The pod has its quota. It may be scheduled with a group of kube-scheduler's own kind that it names as well.
    """
    name = ours.name_of(pod)
    return (sys.intern(pod.metadata.namespace), name) if name else None


def named_group(pod: Pod) -> GroupKey | None:
    """The group that the pod names, ours or of another kind; None if it names none. Its owner names none."""
    name = first_said(pod)
    return (sys.intern(pod.metadata.namespace), name) if name else None


def second_said(pod: Pod) -> str | None:
    """The name of the group that the pod names beside that of kube-scheduler's own kind; None if it names none."""
    for source in SOURCES[1:]:
        if name := source(pod):
            return name
    return None


def form_of(group: PodGroup | ForeignGroup) -> PodGroup:
    """The internal form of an object that is a group. One of ours is its own."""
    return group if isinstance(group, PodGroup) else OBJECTS[type(group)].form(group)


def groups_of(pod: Pod) -> list[str]:
    """The names of all groups that the pod names, the one that it belongs to first. Its owner names none."""
    return [name for source in SOURCES if (name := source(pod))]
