"""PodGroups of `scheduling.k8s.io` (KEP-4671): a field of the pod names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from nodes.groups.keys import foreign_name

__all__ = ["name_of"]

SOURCE: Final = "podgroups.scheduling.k8s.io"


def name_of(pod: Pod) -> str | None:
    """The PodGroup that `spec.schedulingGroup` names."""
    group = pod.spec.scheduling_group
    return foreign_name(SOURCE, group.pod_group_name) if group is not None and group.pod_group_name else None
