"""Which group a pod belongs to: the kinds of groups in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, NativePodGroup, VolcanoPodGroup
from api.groups import PodGroup
from nodes.groups import native, ours, owners, scheduler_plugins, volcano
from nodes.groups.forms import PREEMPTING
from nodes.groups.keys import is_foreign, source_of
from nodes.groups.owners import ByOwner

__all__ = [
    "OBJECTS",
    "ForeignGroup",
    "GroupKey",
    "ObjectSource",
    "gang_of",
    "group_of",
    "groups_of",
    "unit_of",
]

GroupKey = tuple[str, str]
"""(namespace, name). See `nodes.groups.keys`."""

SOURCES: Final[tuple[Callable[[Pod], str | None], ...]] = (
    native.name_of,
    ours.name_of,
    scheduler_plugins.name_of,
    volcano.name_of,
)
"""What pods say. A pod of several kinds belongs to the first one. The owner comes last."""

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


def unit_of(pod: Pod, by_owner: ByOwner) -> GroupKey | None:
    """The group with which the pod may be evicted, whether or not its object exists; None for a pod without one."""
    name = _first_said(pod) or owners.name_of(pod, by_owner)
    return (sys.intern(pod.metadata.namespace), name) if name else None


def group_of(pod: Pod) -> GroupKey | None:
    """The PodGroup of ours with which the pod is scheduled; None if it belongs to a group of another kind."""
    name = _first_said(pod)
    return (sys.intern(pod.metadata.namespace), name) if name and not is_foreign(name) else None


def gang_of(pod: Pod) -> GroupKey | None:
    """The group with which the pod is scheduled if it is a gang; None if no gang of its kind is planned for.

    Whether it is a gang, its object says.
    """
    name = _first_said(pod)
    if not name or (is_foreign(name) and source_of(name) not in PREEMPTING):
        return None
    return sys.intern(pod.metadata.namespace), name


def groups_of(pod: Pod) -> list[str]:
    """The names of all groups that the pod names, the one that it belongs to first. Its owner names none."""
    return [name for source in SOURCES if (name := source(pod))]


def _first_said(pod: Pod) -> str | None:
    for source in SOURCES:  # a loop, because every event of a pod comes here
        if name := source(pod):
            return name
    return None
