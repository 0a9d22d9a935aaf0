"""Whole objects of one namespace. The tables keep columns, and `why` needs more of a few pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from answers.scheduler_marks import Mark, PreemptedEvent, marks_of
from answers.stored_plans import NO_PLANS, StoredPlans
from api.core import Pod
from api.foreign_owners import OwningJob
from api.groups import PodGroup
from api.meta import controller_reference
from nodes.answers.creators import Creator, Event, ReplicaSet, creator_of_job, creator_of_set
from nodes.groups.registry import GroupKey

__all__ = ["Details", "groups_by_namespace"]

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Details:
    """What a namespace has."""

    namespace: str
    pods: Mapping[str, Pod]
    """By name, also those that have ended."""
    units: Mapping[str, GroupKey]
    """By the name of the pod: the group with which it may be evicted, if it has one."""
    groups: Mapping[GroupKey, PodGroup]
    """Groups that exist, of any kind."""
    jobs: Mapping[str, OwningJob]
    """By name."""
    sets: Sequence[ReplicaSet]
    """ReplicaSets and StatefulSets."""
    events: Sequence[Event]
    plans: StoredPlans = NO_PLANS
    preempted: Sequence[PreemptedEvent] = ()
    """What kube-scheduler says of pods that it has evicted."""
    _by_owner: Mapping[str, Sequence[Pod]] = field(init=False, repr=False, compare=False)
    _by_unit: Mapping[GroupKey | None, Sequence[Pod]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_owner", self._sorted_by(_owner_of))
        object.__setattr__(self, "_by_unit", self._sorted_by(self.unit_of))

    @property
    def creators(self) -> list[Creator]:
        """Who creates pods in the namespace."""
        return [*map(creator_of_job, self.jobs.values()), *map(creator_of_set, self.sets)]

    def unit_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod may be evicted; None if it has none."""
        return self.units.get(pod.metadata.name)

    def marks(self, name: str) -> list[Mark]:
        """What kube-scheduler says of pods of this name that it has evicted."""
        pods = [pod] if (pod := self.pods.get(name)) is not None else []
        its = "Pod", self.namespace, name
        events = [
            each
            for each in self.preempted
            if (each.involved_object.kind, each.involved_object.namespace, each.involved_object.name) == its
        ]
        return marks_of(pods, events)

    def pods_of(self, uid: str) -> Sequence[Pod]:
        """The pods that the owner of this UID controls, by name."""
        return self._by_owner.get(uid, ())

    def members(self, key: GroupKey) -> Sequence[Pod]:
        """The pods of a group, by name."""
        return self._by_unit.get(key, ())

    def _sorted_by(self, key_of: Callable[[Pod], K]) -> dict[K, list[Pod]]:
        """The pods by this key, each list by name."""
        found: dict[K, list[Pod]] = {}
        for _, pod in sorted(self.pods.items()):
            found.setdefault(key_of(pod), []).append(pod)
        return found


def _owner_of(pod: Pod) -> str:
    """The UID of its controller; empty without one."""
    owner = controller_reference(pod.metadata)
    return owner.uid if owner is not None else ""


def groups_by_namespace(
    keys: Iterable[GroupKey | None], groups: Iterable[PodGroup | None]
) -> dict[str, dict[GroupKey, PodGroup]]:
    """The groups that exist, by namespace and key. A row may be free."""
    found: dict[str, dict[GroupKey, PodGroup]] = {}
    for key, group in zip(keys, groups, strict=True):
        if key is not None and group is not None:
            found.setdefault(key[0], {})[key] = group
    return found
