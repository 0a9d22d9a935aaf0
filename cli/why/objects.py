"""What `reprieve why` reads: the objects of both planes, and those that say why pods do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import click

from api.compression import expand
from api.core import Pod
from api.groups import API_VERSION, PodGroup
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from cli.common.documents import Kind, Reader
from cli.common.objects import Objects
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

__all__ = ["POD_GROUP", "World"]

POD: Final = ("v1", "Pod")
POD_GROUP: Final = (API_VERSION, "PodGroup")


class World(Reader):
    """The objects that one answer needs. Of pods, only those of its namespace are kept whole."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Objects.kinds,
        ("batch/v1", "Job"): Kind(CreatingJob, True),
        ("apps/v1", "ReplicaSet"): Kind(ReplicaSet, True),
        ("apps/v1", "StatefulSet"): Kind(StatefulSet, True),
        ("v1", "Event"): Kind(Event, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    fields: ClassVar[Mapping[tuple[str, str], str]] = {("v1", "Event"): "reason=FailedCreate"}
    matter: ClassVar[str] = "the answer"

    def __init__(self, namespace: str) -> None:
        super().__init__()
        self._namespace = namespace
        self._nodes = Objects()
        self.pods: dict[str, Pod] = {}
        """The pods of the namespace by name, also those that have ended."""
        self.events: list[Event] = []
        self.refused: dict[tuple[str, str], str] = {}
        """Kinds that could not be read, and the right that is missing."""
        self._jobs: list[CreatingJob] = []
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
                self._jobs += [thing] if near else []
            case _:
                if near and isinstance(thing, Pod):
                    self.pods[thing.metadata.name] = thing
                self._nodes.keep(thing, place)

    @cached_property
    def snapshot(self) -> Snapshot:
        """What the search sees. Call it after the last object was read. Raises InputError."""
        return self._nodes.snapshot()

    @property
    def creators(self) -> list[Creator]:
        """Who creates pods in the namespace."""
        return [*map(creator_of_job, self._jobs), *map(creator_of_set, self._sets)]

    @cached_property
    def plans(self) -> Sequence[PreemptionPlan]:
        """The stored plans of the namespace, with the names that it may not read, if they were read."""
        for plan in self._plans:
            name = whole_plan_name(plan.metadata.namespace, plan.metadata.name)
            plan.spec = self._whole.get(name) or expand(plan.spec)
        return self._plans

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
