"""What `reprieve why` reads: the objects of both planes, and those that say why pods do not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from api.compression import expand
from api.core import Pod
from api.foreign_owners import OwningJob, OwningStatefulSet
from api.groups import API_VERSION, PodGroup
from api.meta import controller_reference
from api.owner_annotations import ByOwner
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from api.workloads import Workload
from cli.common.documents import Kind
from cli.common.planes import JOB, Planes
from nodes.answers.creators import (
    Creator,
    Event,
    ReplicaSet,
    StatefulSet,
    creator_of_job,
    creator_of_set,
)
from nodes.groups.registry import GroupKey

__all__ = ["World"]

K = TypeVar("K")


class World(Planes):
    """The objects that one answer needs. Of pods, only those of its namespace are kept whole."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Planes.kinds,
        JOB: Kind(OwningJob, True),
        ("apps/v1", "ReplicaSet"): Kind(ReplicaSet, True),
        ("apps/v1", "StatefulSet"): Kind(StatefulSet, True),
        ("v1", "Event"): Kind(Event, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    fields: ClassVar[Mapping[tuple[str, str], str]] = {("v1", "Event"): "reason=FailedCreate"}

    def __init__(self, namespace: str, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__(now, by_owner)
        self._namespace = namespace
        self.pods: dict[str, Pod] = {}
        """The pods of the namespace by name, also those that have ended."""
        self.events: list[Event] = []
        self.jobs: dict[str, OwningJob] = {}
        """The Jobs of the namespace by name."""
        self._sets: list[ReplicaSet] = []
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Objects of other namespaces are kept only as far as the search needs them.

        Raises ValueError for a plan whose compressed victims are damaged.
        """
        near = thing.metadata.namespace == self._namespace
        if isinstance(thing, Pod):  # most objects are pods
            if near:
                self.pods[thing.metadata.name] = thing
            self.nodes.keep(thing, place)
            return
        match thing:
            case ClusterPreemptionPlan():
                self._whole[thing.metadata.name] = expand(thing.spec)
            case PreemptionPlan():
                if near:
                    thing.spec = expand(thing.spec)
                    self._plans.append(thing)
            case Event():
                self.events += [thing] if near else []
            case ReplicaSet():
                self._sets += [thing] if near else []
                if isinstance(thing, StatefulSet):
                    self.nodes.tables.upsert_stateful_set(OwningStatefulSet(metadata=thing.metadata))
            case OwningJob():
                self.nodes.tables.upsert_owner(thing)
                if near:
                    self.jobs[thing.metadata.name] = thing
            case _:
                super().keep(thing, place)

    @property
    def creators(self) -> list[Creator]:
        """Who creates pods in the namespace."""
        return [*map(creator_of_job, self.jobs.values()), *map(creator_of_set, self._sets)]

    @cached_property
    def plans(self) -> Sequence[PreemptionPlan]:
        """The stored plans of the namespace, with the names that it may not read, if they were read."""
        for plan in self._plans:
            name = whole_plan_name(plan.metadata.namespace, plan.metadata.name)
            plan.spec = self._whole.get(name, plan.spec)
        return self._plans

    def group(self, key: tuple[str, str]) -> PodGroup | None:
        """The group of this key, if it exists."""
        return self.nodes.tables.groups.find(*key)

    def unit_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod may be evicted; None if it has none."""
        return self.nodes.tables.owners.unit_of(pod)

    def pods_of(self, uid: str) -> list[Pod]:
        """The pods of the namespace that the owner of this UID controls, by name."""
        return self._by_owner.get(uid, [])

    def members(self, key: GroupKey) -> list[Pod]:
        """The pods of a group of the namespace, by name."""
        return self._by_unit.get(key, [])

    @cached_property
    def _by_owner(self) -> Mapping[str, list[Pod]]:
        return self._sorted_by(_owner_of)

    @cached_property
    def _by_unit(self) -> Mapping[GroupKey | None, list[Pod]]:
        return self._sorted_by(self.unit_of)

    def _sorted_by(self, key_of: Callable[[Pod], K]) -> dict[K, list[Pod]]:
        """The pods of the namespace by this key, each list by name. Pods without a priority have no rows yet."""
        found: dict[K, list[Pod]] = {}
        for _, pod in sorted(self.pods.items()):
            found.setdefault(key_of(pod), []).append(pod)
        return found

    def workload_of(self, uid: str) -> Workload | None:
        """The Workload that belongs to the owner of this UID; the newest one of several."""
        found = [
            each
            for each in self.quota.workloads.values()
            if any(owner.uid == uid for owner in each.metadata.owner_references or ())
        ]
        return max(found, key=lambda each: each.metadata.creation_timestamp or "", default=None)


def _owner_of(pod: Pod) -> str:
    """The UID of its controller; empty without one."""
    owner = controller_reference(pod.metadata)
    return owner.uid if owner is not None else ""
