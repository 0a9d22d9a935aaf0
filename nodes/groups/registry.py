"""Which group a pod belongs to: the kinds of groups in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from api.core import Pod
from nodes.groups import native, ours, owners, scheduler_plugins, volcano
from nodes.groups.keys import is_foreign

__all__ = ["GroupKey", "group_of", "groups_of", "unit_of"]

GroupKey = tuple[str, str]
"""(namespace, name). See `nodes.groups.keys`."""

SOURCES: Final[tuple[Callable[[Pod], str | None], ...]] = (
    native.name_of,
    ours.name_of,
    scheduler_plugins.name_of,
    volcano.name_of,
    owners.name_of,
)
"""A pod of several kinds belongs to the first one."""


def unit_of(pod: Pod) -> GroupKey | None:
    """The group with which the pod may be evicted, whether or not its object exists; None for a pod without one."""
    for source in SOURCES:
        if name := source(pod):
            return sys.intern(pod.metadata.namespace), name
    return None


def group_of(pod: Pod) -> GroupKey | None:
    """The PodGroup of ours with which the pod is scheduled; None if it belongs to a group of another kind."""
    key = unit_of(pod)
    return key if key is not None and not is_foreign(key[1]) else None


def groups_of(pod: Pod) -> list[str]:
    """The names of all groups that the pod names, the one that it belongs to first."""
    return [name for source in SOURCES if (name := source(pod))]
