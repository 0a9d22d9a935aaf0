"""Reads what `why` needs: the objects of both planes, and those that say why pods do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from answers.details import Details
from answers.picture import JOB, Picture
from answers.reading.documents import Kind
from answers.reading.planes import Planes
from answers.reading.plans import with_whole_names
from answers.worker_clusters import WorkerClusters
from api.checks import MultiKueueCluster
from api.compression import expand
from api.core import Pod
from api.dispatch import DispatchPlan
from api.foreign_owners import OwningJob, OwningStatefulSet, ScaledReplicaSet, ScaleSpec
from api.groups import API_VERSION
from api.kueue import API_VERSION as QUOTA_VERSION
from api.owner_annotations import ByOwner
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from nodes.answers.creators import (
    Event,
    ReplicaSet,
    StatefulSet,
)

__all__ = ["NamespaceObjects"]

CLUSTER: Final = (QUOTA_VERSION, "MultiKueueCluster")
TURN: Final = (API_VERSION, "DispatchPlan")


class NamespaceObjects(Planes):
    """Of pods, only those of one namespace are kept whole."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Planes.kinds,
        JOB: Kind(OwningJob, True),
        ("apps/v1", "ReplicaSet"): Kind(ReplicaSet, True),
        ("apps/v1", "StatefulSet"): Kind(StatefulSet, True),
        ("v1", "Event"): Kind(Event, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
        CLUSTER: Kind(MultiKueueCluster, False),
        TURN: Kind(DispatchPlan, True),
    }
    fields: ClassVar[Mapping[tuple[str, str], str]] = {("v1", "Event"): "reason=FailedCreate"}

    def __init__(self, namespace: str, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__(now, by_owner)
        self._namespace = namespace
        self._pods: dict[str, Pod] = {}
        """The pods of the namespace by name, also those that have ended."""
        self._events: list[Event] = []
        self._jobs: dict[str, OwningJob] = {}
        """The Jobs of the namespace by name."""
        self._sets: list[ReplicaSet] = []
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}
        self._clusters: dict[str, MultiKueueCluster] = {}
        self._turns: list[DispatchPlan] = []
        self._clusters_unread: list[str] = []

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
        near = thing.metadata.namespace == self._namespace
        if isinstance(thing, Pod):  # most objects are pods
            if near:
                self._pods[thing.metadata.name] = thing
            self.nodes.keep(thing, place)
            return
        match thing:
            case ClusterPreemptionPlan():
                self._whole[thing.metadata.name] = expand(thing.spec)
            case PreemptionPlan():
                self.nodes.keep(thing, place)
                if near:
                    thing.spec = expand(thing.spec)
                    self._plans.append(thing)
            case DispatchPlan():
                self._turns += [thing] if near else []
            case MultiKueueCluster():
                self._clusters[thing.metadata.name] = thing
            case Event():
                self._events += [thing] if near else []
            case ReplicaSet():
                self._sets += [thing] if near else []
                scaled = ScaleSpec(thing.spec.replicas if thing.spec is not None else None)
                if isinstance(thing, StatefulSet):
                    self.nodes.keep(OwningStatefulSet(metadata=thing.metadata, spec=scaled), place)
                else:
                    self.nodes.keep(ScaledReplicaSet(metadata=thing.metadata, spec=scaled), place)
            case OwningJob():
                self.nodes.tables.upsert_owner(thing)
                if near:
                    self._jobs[thing.metadata.name] = thing
            case _:
                super().keep(thing, place)

    def about(self) -> tuple[Picture, Details]:
        """What was read. Call it after the last object was read."""
        picture = self.picture(with_whole_names(self._plans, self._whole))
        clusters = WorkerClusters(self._clusters, self._turns, "; ".join(self._clusters_unread))
        return replace(picture, worker_clusters=clusters), self._details()

    def _details(self) -> Details:
        tables, pods = self.nodes.tables, self._pods
        units = {name: unit for name, pod in pods.items() if (unit := tables.owners.unit_of(pod)) is not None}
        there = zip(tables.groups.keys.keys, tables.groups.objects, strict=True)
        return Details(
            namespace=self._namespace,
            pods=pods,
            units=units,
            groups={
                key: group
                for key, group in there
                if key is not None and group is not None and key[0] == self._namespace
            },
            jobs=self._jobs,
            sets=self._sets,
            events=self._events,
        )
