"""PodGroups of Volcano (`scheduling.volcano.sh`): an annotation names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from api.meta import controller_reference
from api.names import is_subdomain
from nodes.groups.keys import foreign_name

__all__ = ["name_of"]

SOURCE: Final = "podgroups.scheduling.volcano.sh"
MADE_UP: Final = "podgroup-"
"""A PodGroup that Volcano makes by itself is named so, with a UID."""
ANNOTATIONS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""The first one is written by Volcano's controllers, the second one by people, too."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's annotation names. An annotation may say anything: what is no name names no group."""
    annotations = pod.metadata.annotations or {}
    name = next(filter(None, map(annotations.get, ANNOTATIONS)), None)
    if not name or not is_subdomain(name) or _is_made_up(pod, name):
        return None
    return foreign_name(SOURCE, name)


def _is_made_up(pod: Pod, name: str) -> bool:
    """Whether Volcano has made this PodGroup for pods that nobody has put into one.

    It is one of the pod's controller, a ReplicaSet for example, or of the pod alone. It says nothing about them.
    """
    owner = controller_reference(pod.metadata)
    return name == MADE_UP + (owner.uid if owner is not None else pod.metadata.uid)
