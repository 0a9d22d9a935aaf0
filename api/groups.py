"""PodGroup (`reprieve.dev/v1alpha1`): a group of pods that is scheduled together.

Field for field the shape of `scheduling.k8s.io/v1beta1` PodGroup (KEP-5710, as shipped in 1.37).

See docs/decisions/0008.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "API_VERSION",
    "INITIALLY_SCHEDULED",
    "POD_GROUP_LABEL",
    "SCHEDULED",
    "SCHEDULING_GATE",
    "DisruptionMode",
    "GangSchedulingPolicy",
    "PodGroup",
    "PodGroupSchedulingConstraints",
    "PodGroupSchedulingPolicy",
    "PodGroupSpec",
    "PodGroupStatus",
    "TopologyConstraint",
    "goes_whole",
    "has_run",
]

API_VERSION: Final = "reprieve.dev/v1alpha1"
POD_GROUP_LABEL: Final = "reprieve.dev/pod-group"
"""A pod joins the PodGroup of this name in its own namespace."""
SCHEDULING_GATE: Final = "reprieve.dev/gang"
"""The scheduling gate (KEP-3521) that the webhook puts on members of PodGroups. The gang controller removes it."""
INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""Upstream's PodGroup condition. True is terminal: minCount members were bound at one time. False has the reason
Unschedulable or SchedulerError. We add PriorityMismatch, SchedulerMismatch and EvictedInVain (api.plans)."""
SCHEDULED: Final = "reprieve.dev/Scheduled"
"""Our PodGroup condition. True: as many members are bound as must run now. False: the reason says what the gang waits
for (`controllers.gangs.telling.scheduled_condition`). It has our prefix, because the other types are upstream's."""


class Empty(Struct):
    """Written `{}`. Only its presence has a meaning."""


class GangSchedulingPolicy(Struct):
    """All or nothing: `minCount` members are placed together, or no member is."""

    min_count: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    """How many members the gang needs to run. Further members get free room, and no pod is evicted for them."""


class PodGroupSchedulingPolicy(Struct):
    """How the members are scheduled; exactly one of `basic` and `gang`."""

    basic: Empty | None = None
    """Pod by pod, as if there were no group."""
    gang: GangSchedulingPolicy | None = None


class DisruptionMode(Struct):
    """How the group may be preempted; at most one of `single`, which is the default, and `all`."""

    single: Empty | None = None
    """Pod by pod."""
    all: Empty | None = None
    """All pods of the group together, or none. Only with a gang."""


class TopologyConstraint(Struct):
    """All members run in one domain."""

    key: Annotated[str, Meta(min_length=1, max_length=317)]
    """The node label whose value names the domain, such as topology.kubernetes.io/zone."""


class PodGroupSchedulingConstraints(Struct):
    """Where the members may run, relative to one another."""

    topology: Annotated[list[TopologyConstraint], Meta(max_length=1)] | None = None
    """One domain for all members."""


class PodGroupSpec(Struct):
    """What the group is. Only minCount can be changed later."""

    scheduling_policy: PodGroupSchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    priority_class_name: str | None = None
    """The PriorityClass that gives the group its priority. By default the global default class, if there is one."""
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | None = None
    """The value of the PriorityClass. It is filled in when the group is created, and any other value is refused. It
    replaces the priority of the group's pods, when they preempt and when they are preempted."""
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None
    """Never: nothing is preempted for this group. The default is the policy of the PriorityClass. If that is Never,
    PreemptLowerPriority is refused."""


class PodGroupStatus(Struct):
    """How far the group has come."""

    conditions: list[Condition] | None = None
    """PodGroupInitiallyScheduled: whether the group has been placed, and why not. DisruptionTarget: it is preempted.
    reprieve.dev/Scheduled: whether the members that must run are bound, and what the group waits for."""
    observed_generation: int = 0
    """The generation of the group that the counts describe."""
    members: int = 0
    """How many members exist. Pods that have ended or terminate do not count."""
    required_members: int = 0
    """How many members must run: minCount, or less if the group has run or members have Succeeded."""
    bound_members: int = 0
    """How many members have a node."""
    gated_pods: int = 0
    """How many pods are no members yet, because they have a scheduling gate of another program."""


class PodGroup(Struct, kw_only=True):
    """A group of pods that is scheduled, and may be preempted, as one.

    A pod joins by the label reprieve.dev/pod-group, which names a PodGroup of its namespace.
    """

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["PodGroup"] = field(default_factory=lambda: "PodGroup")
    metadata: ObjectMeta
    spec: PodGroupSpec
    status: PodGroupStatus | None = None


def goes_whole(group: PodGroup | None) -> bool:
    """Whether the group is evicted whole or not at all. False for no group."""
    mode = group.spec.disruption_mode if group is not None else None
    return mode is not None and mode.all is not None


def has_run(group: PodGroup) -> bool:
    """Whether the gang has run whole at some time. A gang that has run never loses this again."""
    conditions = (group.status.conditions if group.status is not None else None) or ()
    return any(each.type == INITIALLY_SCHEDULED and each.status == "True" for each in conditions)
