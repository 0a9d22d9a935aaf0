"""PodGroups of scheduler-plugins (`scheduling.x-k8s.io`, plugin Coscheduling): a label names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from api.foreign_groups import COSCHEDULING, CoschedulingPodGroup
from api.groups import PodGroup
from nodes.groups import keys
from nodes.groups.forms import form_of
from nodes.groups.keys import foreign_name

__all__ = ["SOURCE", "form", "name_of"]

SOURCE: Final = keys.COSCHEDULING
LABEL: Final = "scheduling.x-k8s.io/pod-group"
OLD_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
"""Versions before 0.24 read this one."""
RAN: Final = frozenset({"Scheduled", "Running", "Finished", "Failed"})
"""Phases of a group that has had minMember pods on nodes at one time."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's label names."""
    labels = pod.metadata.labels
    if not labels:
        return None
    name = labels.get(LABEL) or labels.get(OLD_LABEL)
    return foreign_name(SOURCE, name) if name else None


def form(group: CoschedulingPodGroup) -> PodGroup:
    """The internal form of the object. It has no priority of its own."""
    phase = group.status.phase if group.status is not None else ""
    name = foreign_name(SOURCE, group.metadata.name)
    return form_of(group.metadata, name, COSCHEDULING, minimum=group.spec.min_member, has_run=phase in RAN)
