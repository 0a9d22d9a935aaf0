"""PodGroups of scheduler-plugins (`scheduling.x-k8s.io`, plugin Coscheduling): a label names them."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from nodes.groups.keys import foreign_name

__all__ = ["name_of"]

SOURCE: Final = "podgroups.scheduling.x-k8s.io"
LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
"""The label, and the one that versions before 0.24 read."""


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's label names."""
    labels = pod.metadata.labels or {}
    name = next(filter(None, map(labels.get, LABELS)), None)
    return foreign_name(SOURCE, name) if name else None
