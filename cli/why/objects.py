"""What `reprieve why` reads: the objects of both planes, and those that say why pods do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import click

from api.compression import expand
from api.core import Pod
from api.groups import API_VERSION, PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.meta import controller_reference
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from api.workloads import Workload
from cli.common.documents import Kind, Reader
from cli.common.objects import Objects
from cli.common.quotas import QuotaObjects
from nodes.groups.creators import (
    CreatingJob,
    Creator,
    Event,
    ReplicaSet,
    StatefulSet,
    creator_of_job,
    creator_of_set,
)
from nodes.state.snapshot import Snapshot
from quota.amounts import QuotaError
from quota.state import QuotaState

__all__ = ["JOB", "POD_GROUP", "QUOTA_KINDS", "WORKLOAD", "World"]

WORKLOAD: Final = (QUOTA_VERSION, "Workload")
QUOTA_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    # Another Workload that cannot be decided about must not prevent the answer.
    key: Kind(kind.struct, kind.namespaced)
    for key, kind in QuotaObjects.kinds.items()
}
QUOTA: Final = tuple(kind.struct for kind in QUOTA_KINDS.values())
POD: Final = ("v1", "Pod")
MOST: Final = 5
"""Objects that cannot be used and are named."""
JOB: Final = ("batch/v1", "Job")
POD_GROUP: Final = (API_VERSION, "PodGroup")


class World(Reader):
    """The objects that one answer needs. Of pods, only those of its namespace are kept whole."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Objects.kinds,
        **QUOTA_KINDS,
        ("batch/v1", "Job"): Kind(CreatingJob, True),
        ("apps/v1", "ReplicaSet"): Kind(ReplicaSet, True),
        ("apps/v1", "StatefulSet"): Kind(StatefulSet, True),
        ("v1", "Event"): Kind(Event, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    fields: ClassVar[Mapping[tuple[str, str], str]] = {("v1", "Event"): "reason=FailedCreate"}
    matter: ClassVar[str] = "the answer"

    def __init__(self, namespace: str, now: int) -> None:
        """`now`: in microseconds since 1970."""
        super().__init__()
        self.now = now
        self._namespace = namespace
        self._nodes = Objects()
        self.pods: dict[str, Pod] = {}
        """The pods of the namespace by name, also those that have ended."""
        self.events: list[Event] = []
        self.refused: dict[tuple[str, str], str] = {}
        """Kinds that could not be read, and the right that is missing."""
        self.quota = QuotaState(partial=True, deactivated_hold=False)
        self.unusable_quota: list[str] = []
        """What is wrong with objects of the quota plane that could not be read."""
        self.jobs: dict[str, CreatingJob] = {}
        """The Jobs of the namespace by name."""
        self._sets: list[ReplicaSet] = []
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Without pods there is no answer."""
        self.refused[kind] = problem
        return kind != POD

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Objects of other namespaces are kept only as far as the search needs them."""
        near = thing.metadata.namespace == self._namespace
        match thing:
            case ClusterPreemptionPlan():
                self._whole[thing.metadata.name] = expand(thing.spec)
            case PreemptionPlan():
                self._plans += [thing] if near else []
            case Event():
                self.events += [thing] if near else []
            case ReplicaSet():
                self._sets += [thing] if near else []
            case CreatingJob():
                if near:
                    self.jobs[thing.metadata.name] = thing
            case _ if isinstance(thing, QUOTA):
                self._keep_quota(thing)
            case _:
                if near and isinstance(thing, Pod):
                    self.pods[thing.metadata.name] = thing
                self._nodes.keep(thing, place)

    def _keep_quota(self, thing: Any) -> None:
        """One that the quota plane cannot read is noted. Its quota counts for nothing here."""
        try:
            self.quota.apply(thing)
        except QuotaError as error:
            self.unusable_quota.append(str(error))

    @cached_property
    def snapshot(self) -> Snapshot:
        """What the search sees. Call it after the last object was read. Raises InputError."""
        return self._nodes.snapshot()

    @property
    def creators(self) -> list[Creator]:
        """Who creates pods in the namespace."""
        return [*map(creator_of_job, self.jobs.values()), *map(creator_of_set, self._sets)]

    @cached_property
    def plans(self) -> Sequence[PreemptionPlan]:
        """The stored plans of the namespace, with the names that it may not read, if they were read."""
        for plan in self._plans:
            name = whole_plan_name(plan.metadata.namespace, plan.metadata.name)
            plan.spec = self._whole.get(name) or expand(plan.spec)
        return self._plans

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of namespaces."""
        return self._nodes.tables.namespaces

    def unread(self, kinds: Iterable[tuple[str, str]] = Objects.kinds) -> list[str]:
        """The rights that are missing to read these kinds."""
        return [self.refused[kind] for kind in kinds if kind in self.refused]

    def group(self, key: tuple[str, str]) -> PodGroup | None:
        """The group of this key, if it exists."""
        return self._nodes.tables.groups.find(*key)

    def note_refused(self) -> None:
        """Name on standard error what could not be read."""
        for problem in dict.fromkeys(self.refused.values()):
            click.echo(f"Not read: {problem}", err=True)
        for problem in self.unusable_quota[:MOST]:
            click.echo(f"Not counted: {problem}", err=True)

    def pods_of(self, uid: str) -> list[Pod]:
        """The pods of the namespace that the owner of this UID controls."""
        owned = ((pod, controller_reference(pod.metadata)) for _, pod in sorted(self.pods.items()))
        return [pod for pod, owner in owned if owner is not None and owner.uid == uid]

    def workload_of(self, uid: str) -> Workload | None:
        """The Workload that belongs to the owner of this UID; the newest one of several."""
        found = [
            each
            for each in self.quota.workloads.values()
            if any(owner.uid == uid for owner in each.metadata.owner_references or ())
        ]
        return max(found, key=lambda each: each.metadata.creation_timestamp or "", default=None)
