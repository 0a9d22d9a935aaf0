"""The priority and the preemption policy of a PodGroup, resolved as upstream's Priority admission resolves a pod's."""

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
"""API servers create these at start; a set of manifests need not hold them."""


class UnknownPriorityClass(LookupError):
    """A PodGroup names a class that does not exist."""

    def __init__(self, group: PodGroup, name: str) -> None:
        super().__init__(
            f"PodGroup {group.metadata.namespace}/{group.metadata.name}: no PriorityClass {name!r}"
        )
        self.priority_class = name


def global_default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """The class of what names none; of several such classes the one of the lowest value, as upstream chooses."""
    defaults = (each for each in classes if each.global_default)
    return min(defaults, key=lambda each: (each.value, each.metadata.name), default=None)


def group_priority(group: PodGroup, classes: Mapping[str, PriorityClass]) -> int:
    """The group's own priority, else its class's, else the global default's, else 0.

    `classes` holds the cluster's classes by name. Raises UnknownPriorityClass where the class is needed and missing.
    """
    if group.spec.priority is not None:
        return group.spec.priority
    priority_class = _class_of(group, classes)
    return priority_class.value if priority_class is not None else 0


def preemption_policy(group: PodGroup, classes: Mapping[str, PriorityClass]) -> PreemptionPolicy:
    """The group's own policy, else that of the class it has its priority from, else PreemptLowerPriority.

    Raises UnknownPriorityClass like `group_priority`: a group that states its priority does not need its class.
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
    """The class that the group names; for one that states nothing the global default."""
    name = group.spec.priority_class_name
    if name:
        known = classes.get(name) or SYSTEM_CLASSES.get(name)
        if known is None:
            raise UnknownPriorityClass(group, name)
        return known
    if group.spec.priority is not None:
        return None
    return global_default(classes.values())
