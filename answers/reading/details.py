"""Reads what `why` needs: the objects of both planes, and those that say why pods do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from answers.details import Details, groups_by_namespace
from answers.picture import JOB, Picture
from answers.reading.documents import Kind
from answers.reading.planes import Planes
from answers.stored_plans import NO_PLANS, StoredPlans, stored
from answers.worker_clusters import WorkerClusters
from api.checks import MultiKueueCluster
from api.compression import expand
from api.core import Pod
from api.dispatch import DispatchPlan
from api.foreign_owners import OwningJob, OwningStatefulSet, ScaledReplicaSet, ScaleSpec
from api.groups import API_VERSION, PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.owner_annotations import ByOwner
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from api.preempted import PREEMPTED, PreemptedEvent, Reference
from nodes.answers.creators import (
    Event,
    ReplicaSet,
    StatefulSet,
)
from nodes.groups.registry import GroupKey

__all__ = ["CLUSTER", "TURN", "DetailedObjects", "NamespaceObjects"]

CLUSTER: Final = (QUOTA_VERSION, "MultiKueueCluster")
TURN: Final = (API_VERSION, "DispatchPlan")


class SeenEvent(Event):
    """An event about a pod that could not be created, or about one that was preempted."""

    related: Reference | None = None
    first_timestamp: str | None = None


@dataclass(slots=True)
class _Near:
    """The whole objects of one namespace."""

    pods: dict[str, Pod] = field(default_factory=dict)
    """By name, also those that have ended."""
    jobs: dict[str, OwningJob] = field(default_factory=dict)
    """By name."""
    sets: list[ReplicaSet] = field(default_factory=list)
    events: list[SeenEvent] = field(default_factory=list)
    plans: list[PreemptionPlan] = field(default_factory=list)


class DetailedObjects(Planes):
    """Of those namespaces for which `is_near` says so, pods and plans are kept whole."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Planes.kinds,
        JOB: Kind(OwningJob, True),
        ("apps/v1", "ReplicaSet"): Kind(ReplicaSet, True),
        ("apps/v1", "StatefulSet"): Kind(StatefulSet, True),
        ("v1", "Event"): Kind(SeenEvent, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
        CLUSTER: Kind(MultiKueueCluster, False),
        TURN: Kind(DispatchPlan, True),
    }
    fields: ClassVar[Mapping[tuple[str, str], str]] = {("v1", "Event"): "reason=FailedCreate"}

    def __init__(self, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__(now, by_owner)
        self._near: dict[str, _Near] = {}
        """By namespace."""
        self._whole: dict[str, PreemptionPlanSpec] = {}
        self._clusters: dict[str, MultiKueueCluster] = {}
        self._turns: list[DispatchPlan] = []
        self._clusters_unread: list[str] = []
        self._groups: dict[str, dict[GroupKey, PodGroup]] | None = None
        self._stored: dict[str, StoredPlans] | None = None

    def is_near(self, namespace: str) -> bool:
        """Whether the objects of the namespace are kept whole."""
        del namespace
        return True

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Only Workloads that go to worker clusters need those: no other answer names what is missing."""
        if kind not in (CLUSTER, TURN):
            return super().do_without(kind, problem)
        if problem not in self._clusters_unread:
            self._clusters_unread.append(problem)
        return True

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Objects of other namespaces are kept only as far as the search needs them.

        Raises ValueError for a plan whose compressed victims are damaged.
        """
        if isinstance(thing, Pod):
            self.keep_pod(thing, place)
            return
        namespace = thing.metadata.namespace
        near = self._of(namespace) if namespace and self.is_near(namespace) else None
        match thing:
            case ClusterPreemptionPlan():
                self._whole[thing.metadata.name] = expand(thing.spec)
            case PreemptionPlan():
                self.nodes.keep(thing, place)
                if near is not None:
                    thing.spec = expand(thing.spec)
                    near.plans.append(thing)
            case DispatchPlan():
                self._turns += [thing] if near is not None else []
            case MultiKueueCluster():
                self._clusters[thing.metadata.name] = thing
            case SeenEvent():
                if near is not None:
                    near.events.append(thing)
            case ReplicaSet():
                if near is not None:
                    near.sets.append(thing)
                scaled = ScaleSpec(thing.spec.replicas if thing.spec is not None else None)
                if isinstance(thing, StatefulSet):
                    self.nodes.keep(OwningStatefulSet(metadata=thing.metadata, spec=scaled), place)
                else:
                    self.nodes.keep(ScaledReplicaSet(metadata=thing.metadata, spec=scaled), place)
            case OwningJob():
                self.nodes.tables.upsert_owner(thing)
                if near is not None:
                    near.jobs[thing.metadata.name] = thing
            case _:
                super().keep(thing, place)

    def keep_pod(self, pod: Pod, place: str) -> None:
        """As `keep`, for a pod: most objects are pods."""
        if self.is_near(pod.metadata.namespace):
            self._of(pod.metadata.namespace).pods[pod.metadata.name] = pod
        self.nodes.keep(pod, place)

    def picture(self, *, nodes: bool = True) -> Picture:
        """See `Planes`."""
        clusters = WorkerClusters(self._clusters, self._turns, "; ".join(self._clusters_unread))
        return replace(super().picture(nodes=nodes), worker_clusters=clusters)

    def details(self, namespace: str) -> Details:
        """What the namespace has. Call it after `picture`."""
        tables, near = self.nodes.tables, self._near.get(namespace, _Near())
        unit_of = tables.owners.unit_of
        units = {name: unit for name, pod in near.pods.items() if (unit := unit_of(pod)) is not None}
        return Details(
            namespace=namespace,
            pods=near.pods,
            units=units,
            groups=self._groups_of(namespace),
            jobs=near.jobs,
            sets=near.sets,
            events=near.events,
            plans=self.plans().get(namespace, NO_PLANS),
            preempted=[_preempted(each) for each in near.events if each.reason == PREEMPTED],
        )

    def whole_pods(self) -> Iterator[Pod]:
        """Those of the namespaces whose objects are kept whole."""
        return (pod for near in self._near.values() for pod in near.pods.values())

    def plans(self) -> Mapping[str, StoredPlans]:
        """The plans of those namespaces whose objects are kept whole. Call it after the last object was read."""
        if self._stored is None:
            self._stored = {namespace: self._plans_of(near) for namespace, near in self._near.items()}
        return self._stored

    def _plans_of(self, near: _Near) -> StoredPlans:
        return StoredPlans([stored(each, partial(self._with_names, each)) for each in near.plans])

    def _of(self, namespace: str) -> _Near:
        near = self._near.get(namespace)
        if near is None:
            near = self._near[namespace] = _Near()
        return near

    def _groups_of(self, namespace: str) -> Mapping[GroupKey, PodGroup]:
        if self._groups is None:
            known = self.nodes.tables.groups
            self._groups = groups_by_namespace(known.keys.keys, known.objects)
        return self._groups.get(namespace, {})

    def _with_names(self, plan: PreemptionPlan, brief: PreemptionPlan) -> PreemptionPlan:
        """The plan with the names that its namespace may not read, if they were read."""
        del brief
        spec = self._whole.get(whole_plan_name(plan.metadata.namespace, plan.metadata.name))
        return plan if spec is None else msgspec.structs.replace(plan, spec=spec)


def _preempted(event: SeenEvent) -> PreemptedEvent:
    return PreemptedEvent(
        metadata=event.metadata,
        involved_object=event.involved_object,
        related=event.related,
        reason=event.reason,
        message=event.message,
        event_time=event.event_time,
        first_timestamp=event.first_timestamp,
    )


class NamespaceObjects(DetailedObjects):
    """Only those of one namespace are kept whole."""

    def __init__(self, namespace: str, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__(now, by_owner)
        self._namespace = namespace

    def is_near(self, namespace: str) -> bool:
        """See `DetailedObjects`."""
        return namespace == self._namespace

    def about(self) -> tuple[Picture, Details]:
        """What was read. Call it after the last object was read."""
        return self.picture(), self.details(self._namespace)
