"""PodGroups of other projects, as far as reprieve reads them. Nothing is written to them.

Sources: `scheduling.x-k8s.io/v1alpha1` of kubernetes-sigs/scheduler-plugins, `scheduling.volcano.sh/v1beta1` of
Volcano, and `scheduling.k8s.io` of Kubernetes (KEP-4671, KEP-5710).
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from api.groups import PodGroupSpec
from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "COSCHEDULING",
    "NATIVE",
    "NATIVE_VERSIONS",
    "VOLCANO",
    "CoschedulingPodGroup",
    "NativePodGroup",
    "VolcanoPodGroup",
]

COSCHEDULING: Final = "scheduling.x-k8s.io/v1alpha1"
VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
NATIVE: Final = "scheduling.k8s.io/v1beta1"
NATIVE_VERSIONS: Final = ("scheduling.k8s.io/v1", NATIVE)
"""The newest first. What is read of them is the same."""


class Phase(Struct):
    """The status of a group, as its own controller says it."""

    phase: str = ""


class CoschedulingSpec(Struct):
    """The spec of a PodGroup of scheduler-plugins."""

    min_member: int = 0
    """How many pods are to be placed together."""


class CoschedulingPodGroup(Struct, kw_only=True):
    """PodGroup of scheduler-plugins (plugin Coscheduling)."""

    metadata: ObjectMeta
    spec: CoschedulingSpec = field(default_factory=CoschedulingSpec)
    status: Phase | None = None


class VolcanoSpec(Struct):
    """The spec of a PodGroup of Volcano."""

    min_member: int = 0
    priority_class_name: str = ""


class VolcanoPodGroup(Struct, kw_only=True):
    """PodGroup of Volcano."""

    metadata: ObjectMeta
    spec: VolcanoSpec = field(default_factory=VolcanoSpec)
    status: Phase | None = None


class NativeStatus(Struct):
    """The status of a PodGroup of Kubernetes."""

    conditions: list[Condition] | None = None


class NativeSpec(PodGroupSpec, kw_only=True):
    """The spec of a PodGroup of Kubernetes. Ours has its shape: see `api.groups`."""

    parent_composite_pod_group_name: str | None = None
    """The CompositePodGroup that the group is a part of, if it is of any (gate CompositePodGroup)."""


class NativePodGroup(Struct, kw_only=True):
    """PodGroup of Kubernetes."""

    metadata: ObjectMeta
    spec: NativeSpec
    status: NativeStatus | None = None
