"""Reads a cluster, and what is to be submitted to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID, uuid5

import msgspec

from answers.picture import POD_GROUP, Picture
from answers.reading.documents import Kind, Reader, located
from answers.reading.field_checks import check_pod
from answers.reading.node_objects import NodeObjects
from answers.reading.planes import Planes
from answers.submission import Submission, Submitted
from api.foreign_groups import COSCHEDULING, NATIVE, VOLCANO
from api.foreign_owners import OwnerObject
from api.groups import PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from api.owner_annotations import ByOwner
from api.plans import PreemptionPlan
from api.validation import FieldError, convert
from nodes.groups.made_pods import KINDS, VERSIONS, MadePods, Written, made_pods
from nodes.groups.owner_objects import OWNERS
from nodes.groups.registry import ForeignGroup, form_of
from nodes.groups.train_jobs import (
    TRAINER_VERSION,
    ClusterTrainingRuntime,
    RuntimeName,
    TrainingRuntime,
    job_set_of,
    runtime_of,
)

__all__ = ["ClusterObjects", "SubmissionReader"]

GROUPS_OF_OTHERS = ((NATIVE, "PodGroup"), (COSCHEDULING, "PodGroup"), (VOLCANO, "PodGroup"))
UIDS = UUID("abe7076f-9e27-4a98-89cc-e905f81f36fb")
"""Objects that are submitted have UIDs that come from their names, so that answers are the same each time."""
OWNER_KINDS = {(each.api_version, each.kind): each for each in OWNERS.values()}
CLASS = (QUOTA_VERSION, "WorkloadPriorityClass")
RUNTIMES: Mapping[tuple[str, str], Kind] = {
    (TRAINER_VERSION, "TrainingRuntime"): Kind(TrainingRuntime, True),
    (TRAINER_VERSION, "ClusterTrainingRuntime"): Kind(ClusterTrainingRuntime, False),
}
"""What a TrainJob is expanded by."""


class ClusterObjects(Planes):
    """The cluster, with the classes that Jobs in queues may name."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Planes.kinds,
        CLASS: Kind(WorkloadPriorityClass, False),
        **RUNTIMES,
    }

    def __init__(self, now: int, by_owner: ByOwner | None = None) -> None:
        super().__init__(now, by_owner)
        self._workload_classes: dict[str, WorkloadPriorityClass] = {}
        self.runtimes: dict[RuntimeName, TrainingRuntime] = {}
        self.unread_runtimes: dict[str, str] = {}
        """Rights that are missing, by the kind of the runtime. They matter to TrainJobs only."""

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        if kind not in RUNTIMES:
            return super().do_without(kind, problem)
        self.unread_runtimes[kind[1]] = problem
        return True

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if isinstance(thing, WorkloadPriorityClass):
            self._workload_classes[thing.metadata.name] = thing
        elif isinstance(thing, TrainingRuntime):
            self.runtimes[_named(thing)] = thing
        else:
            super().keep(thing, place)

    def picture(self, plans: Sequence[PreemptionPlan] = (), *, nodes: bool = True) -> Picture:
        """See `Planes`."""
        return replace(super().picture(plans, nodes=nodes), workload_classes=self._workload_classes)


class SubmissionReader(Reader):
    """Objects that make pods, and PodGroups. Others do not matter."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **dict.fromkeys(VERSIONS, Kind(Written, True)),
        **RUNTIMES,
        **{key: NodeObjects.kinds[key] for key in (POD_GROUP, *GROUPS_OF_OTHERS)},
    }
    matter: ClassVar[str] = "what-if (changes of other objects: --overlay)"

    def __init__(self, namespace: str) -> None:
        """`namespace`: of objects that name none."""
        super().__init__()
        self.namespace = namespace
        self._groups: list[PodGroup] = []
        self._objects: list[tuple[Submitted, str]] = []
        """With their places."""
        self._runtimes: dict[RuntimeName, TrainingRuntime] = {}
        self._unnamed = 0

    def unnamed(self, prefix: str) -> str:
        """See `Reader`. An API server adds five characters, and no digit 0."""
        self._unnamed += 1
        return f"{prefix}{self._unnamed:05}"

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Checks what an API server would check of the pods."""
        if isinstance(thing, PodGroup | ForeignGroup):
            self._groups.append(form_of(thing))
            return
        if isinstance(thing, TrainingRuntime):
            self._runtimes[_named(thing)] = thing
            return
        kind = thing.kind
        with located(place):
            if kind not in KINDS:
                raise FieldError("kind", "is missing")
            sets, owner = ([], None) if kind == "TrainJob" else _expanded(kind, thing)
        thing.metadata.uid = _uid(kind, thing)
        self._objects.append((Submitted(kind, thing, sets, owner), place))

    def expand(
        self, runtimes: Mapping[RuntimeName, TrainingRuntime], unread: Mapping[str, str]
    ) -> Submission:
        """What was read. TrainJobs have the pods of their JobSets. Call it after the last object was read.

        `runtimes`: those of the cluster. `unread`: the rights that are missing to read them, by kind. Raises
        InputError.
        """
        objects, known = list[Submitted](), {**runtimes, **self._runtimes}
        for each, place in self._objects:
            with located(place):
                objects.append(_with_pods(each, known, unread) if each.kind == "TrainJob" else each)
        return Submission(tuple(self._groups), tuple(objects))


def _with_pods(
    job: Submitted, runtimes: Mapping[RuntimeName, TrainingRuntime], unread: Mapping[str, str]
) -> Submitted:
    """The TrainJob with the pods of its JobSet. Raises FieldError."""
    name = runtime_of(job.written)
    runtime = runtimes.get(name)
    if runtime is not None:
        job_set = job_set_of(job.written, runtime)
        try:
            sets, owner = _expanded("JobSet", job_set)
        except FieldError as error:
            raise FieldError(f"with {name}: {error.path}", error.problem) from None
        return replace(job, sets=sets, owner=owner)
    if problem := unread.get(name.kind):
        return replace(job, problem=("NotAsked", f"Its pods are not known without {name}: {problem}."))
    says = f"Its pods are not known: {name} is neither in the files nor in the cluster."
    return replace(job, problem=("Misconfigured", says))


def _expanded(kind: str, written: Written) -> tuple[list[MadePods], OwnerObject | None]:
    """The pods of an object, and the object as an owner. Raises FieldError."""
    written.metadata.uid = _uid(kind, written)
    sets = made_pods(kind, written)
    for each in sets:
        try:
            check_pod(each.pod)
        except FieldError as error:
            raise FieldError(f"pods of pod set {each.pod_set}: {error.path}", error.problem) from None
    owner = OWNER_KINDS.get((written.api_version or KINDS[kind], kind))
    return sets, convert(msgspec.to_builtins(written), owner.type) if owner is not None else None


def _uid(kind: str, written: Written) -> str:
    return str(uuid5(UIDS, f"{kind}/{written.metadata.namespace}/{written.metadata.name}"))


def _named(runtime: TrainingRuntime) -> RuntimeName:
    return RuntimeName(type(runtime).__name__, runtime.metadata.namespace, runtime.metadata.name)
