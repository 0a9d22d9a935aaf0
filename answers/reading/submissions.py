"""Reads a cluster, and what is to be submitted to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID, uuid5

from msgspec import field

from answers.picture import POD_GROUP, Picture
from answers.reading.documents import Document, Header, Kind, Name, Reader, located
from answers.reading.field_checks import check_pod
from answers.reading.node_objects import NodeObjects
from answers.reading.planes import Planes
from answers.reading.strangers import misspelled, other_version
from answers.submission import Submission, Submitted
from api.foreign_groups import COSCHEDULING, NATIVE_VERSIONS, VOLCANO
from api.foreign_owners import OwnerObject
from api.groups import PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from api.meta import ObjectMeta, Struct
from api.owner_annotations import ByOwner
from api.storage import PersistentVolumeClaim
from api.validation import FieldError, convert
from nodes.groups.kinds.batch import JOB_SET
from nodes.groups.kinds.kind import Kind as Row
from nodes.groups.kinds.table import KINDS, kind_of, why_unread
from nodes.groups.made_pods import MadePods, Written, made_pods, object_in, read_as
from nodes.groups.registry import ForeignGroup, form_of
from nodes.groups.train_jobs import (
    TRAINER_VERSION,
    ClusterTrainingRuntime,
    RuntimeName,
    TrainingRuntime,
    job_set_of,
    runtime_of,
)
from nodes.state.volumes.volume_facts import claim_facts
from schema.defaults.filling import filled_for_admission

__all__ = ["ClusterObjects", "SubmissionReader", "complete"]

LABELLED_AS_PODS = ("Job", "ReplicationController")
"""Kinds that get the labels of their template if they have none themselves: see `schema.defaults.rows`."""
GROUPS_OF_OTHERS = tuple((version, "PodGroup") for version in (*NATIVE_VERSIONS, COSCHEDULING, VOLCANO))
UIDS = UUID("abe7076f-9e27-4a98-89cc-e905f81f36fb")
"""Objects that are submitted have UIDs that come from their names, so that answers are the same each time."""


class Other(Struct):
    """An object of any kind, as far as it may tell of pods."""

    metadata: Name = field(default_factory=Name)
    spec: Any = None


CLAIM = ("v1", "PersistentVolumeClaim")
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

    def picture(self, *, nodes: bool = True) -> Picture:
        """See `Planes`."""
        return replace(super().picture(nodes=nodes), workload_classes=self._workload_classes)


class SubmissionReader(Reader):
    """Objects that make pods, and PodGroups. Others do not matter."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **{(each.api_version, each.kind): Kind(Written, True) for each in KINDS},
        **RUNTIMES,
        CLAIM: Kind(PersistentVolumeClaim, True, claim_facts),
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
        self._claims: list[PersistentVolumeClaim] = []
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
        if isinstance(thing, PersistentVolumeClaim):
            self._claims.append(thing)
            return
        with located(place):
            row = kind_of(thing.api_version, thing.kind)
            if row is None:
                raise FieldError("kind", "is missing")
            complete(row.kind, thing)
            thing.metadata.uid = _uid(thing)
            self._objects.append((_submitted(row, thing), place))

    def other(self, header: Header, document: Document, place: str) -> bool:
        """See `Reader`. Objects that make pods in a way that is not known are part of the answer."""
        name = header.api_version, header.kind
        if other_version(name, self.kinds) is not None or misspelled(name, self.kinds):
            return False
        thing: Other = document.read(Other)
        if not (says := why_unread(*name, thing.spec)):
            return False
        its = thing.metadata
        meta = ObjectMeta(
            name=its.name or (its.generate_name and self.unnamed(its.generate_name)),
            namespace=its.namespace or self.namespace,
        )
        written = Written(api_version=header.api_version, kind=header.kind, metadata=meta)
        unread = Submitted(header.kind, None, written, (), None, problem=("Unknown", says))
        self._objects.append((unread, place))
        return True

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
                by_runtime = each.row is not None and each.row.by_runtime
                objects.append(_with_pods(each, known, unread) if by_runtime else each)
        made = (claim for each in objects for pods in each.sets for claim in pods.claims)
        return Submission(tuple(self._groups), tuple(objects), (*self._claims, *made))


def _with_pods(
    job: Submitted, runtimes: Mapping[RuntimeName, TrainingRuntime], unread: Mapping[str, str]
) -> Submitted:
    """The TrainJob with the pods of its JobSet. Raises FieldError."""
    name = runtime_of(job.written)
    runtime = runtimes.get(name)
    if runtime is not None:
        job_set = job_set_of(job.written, runtime)
        try:
            sets, owner = _expanded(JOB_SET, job_set)
        except FieldError as error:
            raise FieldError(f"with {name}: {error.path}", error.problem) from None
        return replace(job, sets=sets, owner=owner)
    if problem := unread.get(name.kind):
        return replace(job, problem=("NotAsked", f"Its pods are not known without {name}: {problem}."))
    says = f"Its pods are not known: {name} is neither in the files nor in the cluster."
    return replace(job, problem=("Misconfigured", says))


def _submitted(row: Row, written: Written) -> Submitted:
    """Raises FieldError."""
    sets, owner = _expanded(row, written)
    item = read_as(row, written)
    return Submitted(
        row.kind,
        row,
        written,
        sets,
        owner,
        held=row.held(item),
        labels=row.labels(item),
        priority_class=row.priority_class(item),
    )


def _expanded(row: Row, written: Written) -> tuple[list[MadePods], OwnerObject | None]:
    """The pods of an object, and the object as an owner. Raises FieldError."""
    sets = made_pods(row, written)
    for each in sets:
        filled_for_admission(each.pod)
        try:
            check_pod(each.pod)
        except FieldError as error:
            raise FieldError(f"pods of pod set {each.pod_set}: {error.path}", error.problem) from None
        for claim in each.claims:
            claim_facts(claim)
    return sets, read_as(row, written) if row.plural else None


def complete(kind: str, written: Written) -> None:
    """Fill in what an API server adds to the object besides its pods: labels of its pods for a Job without any."""
    if kind in LABELLED_AS_PODS and not written.metadata.labels:
        template = object_in(written.spec or {}, "template", "spec")
        meta: ObjectMeta = convert(template.get("metadata") or {}, ObjectMeta)
        written.metadata.labels = meta.labels


def _uid(written: Written) -> str:
    meta = written.metadata
    return str(uuid5(UIDS, f"{written.kind}/{meta.namespace}/{meta.name}"))


def _named(runtime: TrainingRuntime) -> RuntimeName:
    return RuntimeName(type(runtime).__name__, runtime.metadata.namespace, runtime.metadata.name)
