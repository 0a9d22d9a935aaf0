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
LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
"""The label, and the one that versions before 0.24 read."""
RAN: Final = frozenset({"Scheduled", "Running", "Finished", "Failed"})
"""Phases of a group of which minMember pods have had a node at one time."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's label names."""
    labels = pod.metadata.labels or {}
    name = next(filter(None, map(labels.get, LABELS)), None)
    return foreign_name(SOURCE, name) if name else None


def form(group: CoschedulingPodGroup) -> PodGroup:
    """The internal form of the object. It has no priority of its own."""
    phase = group.status.phase if group.status is not None else ""
    name = foreign_name(SOURCE, group.metadata.name)
    return form_of(group.metadata, name, COSCHEDULING, minimum=group.spec.min_member, has_run=phase in RAN)
