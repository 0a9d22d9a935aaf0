"""PodGroups of Volcano (`scheduling.volcano.sh`): an annotation names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from api.names import is_subdomain
from nodes.groups.keys import foreign_name

__all__ = ["name_of"]

SOURCE: Final = "podgroups.scheduling.volcano.sh"
ANNOTATIONS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""The first one is written by Volcano's controllers, the second one by people, too."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's annotation names. An annotation may say anything: what is no name names no group."""
    annotations = pod.metadata.annotations or {}
    name = next(filter(None, map(annotations.get, ANNOTATIONS)), None)
    return foreign_name(SOURCE, name) if name and is_subdomain(name) else None
