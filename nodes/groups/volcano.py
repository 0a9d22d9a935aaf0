"""PodGroups of Volcano (`scheduling.volcano.sh`): an annotation names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from api.foreign_groups import VOLCANO, VolcanoPodGroup
from api.groups import PodGroup
from api.meta import controller_reference
from api.names import is_subdomain
from nodes.groups import keys
from nodes.groups.forms import form_of
from nodes.groups.keys import foreign_name

__all__ = ["SOURCE", "form", "name_of"]

SOURCE: Final = keys.VOLCANO
MADE_UP: Final = "podgroup-"
"""A PodGroup that Volcano makes by itself is named so, with a UID."""
ANNOTATIONS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""The first one is written by Volcano's controllers, the second one by people, too."""
RAN: Final = frozenset({"Running", "Completed"})
"""Phases of a group that has had minMember pods running at one time."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's annotation names. An annotation may say anything: what is no name names no group."""
    annotations = pod.metadata.annotations
    if not annotations:
        return None
    name = next(filter(None, map(annotations.get, ANNOTATIONS)), None)
    if not name or not is_subdomain(name) or _is_made_up(pod, name):
        return None
    return foreign_name(SOURCE, name)


def form(group: VolcanoPodGroup) -> PodGroup:
    """The internal form of the object. Its class says whether it may preempt, and its pods say its priority."""
    phase, spec = group.status.phase if group.status is not None else "", group.spec
    name = foreign_name(SOURCE, group.metadata.name)
    return form_of(
        group.metadata,
        name,
        VOLCANO,
        minimum=spec.min_member,
        priority_class=spec.priority_class_name,
        has_run=phase in RAN,
    )


def _is_made_up(pod: Pod, name: str) -> bool:
    """Whether Volcano has made this PodGroup for pods that nobody has put into one.

    It is one of the pod's controller, a ReplicaSet for example, or of the pod alone. It says nothing about them.
    """
    owner = controller_reference(pod.metadata)
    return name == MADE_UP + (owner.uid if owner is not None else pod.metadata.uid)
