"""PodGroups of `reprieve.dev`: a label names them."""

from __future__ import annotations

from api.core import Pod
from api.groups import POD_GROUP_LABEL

__all__ = ["name_of"]


def name_of(pod: Pod) -> str | None:
    """The PodGroup that the pod's label names."""
    return (pod.metadata.labels or {}).get(POD_GROUP_LABEL) or None
