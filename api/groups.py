"""PodGroup (`reprieve.dev/v1alpha1`): a group of pods that is scheduled together.

Field for field the shape of `scheduling.k8s.io/v1beta1` PodGroup (KEP-5710, as shipped in 1.37).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "API_VERSION",
    "POD_GROUP_LABEL",
    "DisruptionMode",
    "GangSchedulingPolicy",
    "PodGroup",
    "PodGroupSchedulingConstraints",
    "PodGroupSchedulingPolicy",
    "PodGroupSpec",
    "PodGroupStatus",
    "TopologyConstraint",
]

API_VERSION: Final = "reprieve.dev/v1alpha1"
POD_GROUP_LABEL: Final = "reprieve.dev/pod-group"
"""A pod joins the PodGroup of this name in its own namespace."""


class Empty(Struct):
    """A union member without fields (`{}`)."""


class GangSchedulingPolicy(Struct):
    """All or nothing: `minCount` members are placed together or none is."""

    min_count: Annotated[int, Meta(ge=1, le=2**31 - 1)]


class PodGroupSchedulingPolicy(Struct):
    """Exactly one of `basic` and `gang`."""

    basic: Empty | None = None
    gang: GangSchedulingPolicy | None = None


class DisruptionMode(Struct):
    """At most one of `single` (the default: pods go one by one) and `all` (the group goes whole)."""

    single: Empty | None = None
    all: Empty | None = None


class TopologyConstraint(Struct):
    """All members in one domain: one value of the node label `key`."""

    key: Annotated[str, Meta(min_length=1, max_length=317)]


class PodGroupSchedulingConstraints(Struct):
    """Where the group's pods may be, relative to one another."""

    topology: Annotated[list[TopologyConstraint], Meta(max_length=1)] | None = None


class PodGroupSpec(Struct):
    """What the group is. `priority` replaces its pods' own (KEP-5710, "Pod Group priorities")."""

    scheduling_policy: PodGroupSchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    priority_class_name: str | None = None
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | None = None
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None


class PodGroupStatus(Struct):
    """Conditions as upstream's: PodGroupInitiallyScheduled and DisruptionTarget."""

    conditions: list[Condition] | None = None


class PodGroup(Struct):
    """A group of pods that is scheduled, and may be disrupted, as one."""

    metadata: ObjectMeta
    spec: PodGroupSpec
    status: PodGroupStatus | None = None
    api_version: str = API_VERSION
    kind: Literal["PodGroup"] = "PodGroup"
