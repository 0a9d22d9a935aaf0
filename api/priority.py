"""The priority and preemption policy of a PodGroup, by the rules of upstream's Priority admission for pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from api.core import PriorityClass
from api.groups import PodGroup
from api.meta import ObjectMeta

__all__ = ["SYSTEM_CLASSES", "UnknownPriorityClass", "global_default", "group_priority", "preemption_policy"]

PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]

SYSTEM_CLASSES: Final[Mapping[str, PriorityClass]] = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}
"""API servers create these classes at start, so a set of manifests need not contain them."""


class UnknownPriorityClass(LookupError):
    """A PodGroup names a PriorityClass that does not exist."""

    def __init__(self, group: PodGroup, name: str) -> None:
        super().__init__(
            f"PodGroup {group.metadata.namespace}/{group.metadata.name}: no PriorityClass {name!r}"
        )
        self.priority_class = name


def global_default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """The class for a pod or group that names no class. If there are several, the lowest value wins, as upstream."""
    defaults = (each for each in classes if each.global_default)
    return min(defaults, key=lambda each: (each.value, each.metadata.name), default=None)


def group_priority(group: PodGroup, classes: Mapping[str, PriorityClass]) -> int:
    """The group's own priority, or else that of its class, of the global default, or 0.

    `classes` holds the cluster's classes by name. Raises UnknownPriorityClass if the class is needed and missing.
    """
    if group.spec.priority is not None:
        return group.spec.priority
    priority_class = _class_of(group, classes)
    return priority_class.value if priority_class is not None else 0


def preemption_policy(group: PodGroup, classes: Mapping[str, PriorityClass]) -> PreemptionPolicy:
    """The group's own policy, or else the policy of its class, or PreemptLowerPriority.

    Raises UnknownPriorityClass like `group_priority`. A group with a priority of its own does not need its class.
    """
    if group.spec.preemption_policy is not None:
        return group.spec.preemption_policy
    try:
        priority_class = _class_of(group, classes)
    except UnknownPriorityClass:
        if group.spec.priority is None:
            raise
        priority_class = None
    policy = priority_class.preemption_policy if priority_class is not None else None
    return policy or "PreemptLowerPriority"


def _class_of(group: PodGroup, classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """The class that the group names. For a group without class and priority: the global default, or None."""
    name = group.spec.priority_class_name
    if name:
        known = classes.get(name) or SYSTEM_CLASSES.get(name)
        if known is None:
            raise UnknownPriorityClass(group, name)
        return known
    if group.spec.priority is not None:
        return None
    return global_default(classes.values())
