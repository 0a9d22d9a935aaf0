"""What an answer about one namespace needs beyond the mirror. It is asked of the API server when somebody asks, as the
user: ReplicaSets, StatefulSets, Jobs, events about pods that could not be created, and all pods, also ended ones."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, Generic, TypeVar

import msgspec

from answers.submission import Known
from api.core import Pod
from api.foreign_owners import OwningJob
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from api.meta import ListMeta
from api.preempted import PREEMPTED, PreemptedEvent
from kube.errors import ApiError
from nodes.answers.creators import Event, ReplicaSet, StatefulSet
from nodes.groups.train_jobs import (
    TRAINER_VERSION,
    ClusterTrainingRuntime,
    RuntimeName,
    TrainingRuntime,
)
from web.sources.source import Ask

__all__ = ["Asked", "ask_about", "ask_known", "ask_pods", "ask_preempted"]

T = TypeVar("T")

PAGE: Final = 500
REFUSED: Final = "a right is missing: {}"


class _List(msgspec.Struct, Generic[T]):
    """A list of an API server. An empty one may have no items."""

    metadata: ListMeta
    items: list[T] | None = None


@dataclass(frozen=True, slots=True)
class _Kind(Generic[T]):
    """What is listed."""

    key: tuple[str, str]
    """apiVersion and kind."""
    root: str
    plural: str
    decoder: msgspec.json.Decoder[_List[T]]
    selector: str = ""


PODS: Final = _Kind(("v1", "Pod"), "/api/v1", "pods", msgspec.json.Decoder(_List[Pod]))
JOBS: Final = _Kind(("batch/v1", "Job"), "/apis/batch/v1", "jobs", msgspec.json.Decoder(_List[OwningJob]))
SETS: Final = _Kind(
    ("apps/v1", "ReplicaSet"), "/apis/apps/v1", "replicasets", msgspec.json.Decoder(_List[ReplicaSet])
)
STATEFUL_SETS: Final = _Kind(
    ("apps/v1", "StatefulSet"), "/apis/apps/v1", "statefulsets", msgspec.json.Decoder(_List[StatefulSet])
)
EVENTS: Final = _Kind(
    ("v1", "Event"), "/api/v1", "events", msgspec.json.Decoder(_List[Event]), "reason=FailedCreate"
)

CLASSES: Final = _Kind(
    (QUOTA_VERSION, "WorkloadPriorityClass"),
    f"/apis/{QUOTA_VERSION}",
    "workloadpriorityclasses",
    msgspec.json.Decoder(_List[WorkloadPriorityClass]),
)
RUNTIMES: Final = _Kind(
    (TRAINER_VERSION, "TrainingRuntime"),
    f"/apis/{TRAINER_VERSION}",
    "trainingruntimes",
    msgspec.json.Decoder(_List[TrainingRuntime]),
)
CLUSTER_RUNTIMES: Final = _Kind(
    (TRAINER_VERSION, "ClusterTrainingRuntime"),
    f"/apis/{TRAINER_VERSION}",
    "clustertrainingruntimes",
    msgspec.json.Decoder(_List[ClusterTrainingRuntime]),
)


PREEMPTIONS: Final = _Kind(
    ("v1", "Event"), "/api/v1", "events", msgspec.json.Decoder(_List[PreemptedEvent]), f"reason={PREEMPTED}"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a namespace has."""

    pods: list[Pod]
    jobs: list[OwningJob]
    sets: list[ReplicaSet]
    """ReplicaSets and StatefulSets."""
    events: list[Event]
    refused: dict[tuple[str, str], str]
    """The right that is missing, by apiVersion and kind of what could not be read."""


async def ask_about(namespace: str, ask: Ask) -> Asked:
    """All of it. Raises ApiError, but not for a right that is missing."""
    refused = dict[tuple[str, str], str]()

    async def items(kind: _Kind[T]) -> list[T]:
        try:
            return await _items(kind, namespace, ask)
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            refused[kind.key] = REFUSED.format(error.message)
            return []

    pods, jobs, sets, stateful, events = await asyncio.gather(
        items(PODS), items(JOBS), items(SETS), items(STATEFUL_SETS), items(EVENTS)
    )
    return Asked(pods, jobs, [*sets, *stateful], events, refused)


async def ask_known(namespaces: Collection[str], ask: Ask) -> Known:
    """What only submissions to these namespaces need. What is not served is not there.

    Raises ApiError, but not for a right that is missing: without it there are no classes, and TrainJobs are not known.
    """
    unread = dict[str, str]()

    async def items(kind: _Kind[T], namespace: str = "") -> list[T]:
        try:
            return await _items(kind, namespace, ask)
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                unread[kind.key[1]] = REFUSED.format(error.message)
            elif error.status != HTTPStatus.NOT_FOUND:
                raise
            return []

    own = asyncio.gather(*(items(RUNTIMES, each) for each in sorted(namespaces)))
    classes, shared, named = await asyncio.gather(items(CLASSES), items(CLUSTER_RUNTIMES), own)
    runtimes = {
        RuntimeName(type(each).__name__, each.metadata.namespace, each.metadata.name): each
        for each in (*shared, *(each for runtimes in named for each in runtimes))
    }
    return Known({each.metadata.name: each for each in classes}, runtimes, unread)


async def ask_pods(namespace: str, name: str, ask: Ask) -> list[Pod]:
    """The pod of this name, if it is there. Raises ApiError."""
    return await _items(replace(PODS, selector=f"metadata.name={name}"), namespace, ask)


async def ask_preempted(namespace: str, name: str, ask: Ask) -> list[PreemptedEvent]:
    """What kube-scheduler says of pods of this name that it has evicted. Raises ApiError."""
    about = f"involvedObject.kind=Pod,involvedObject.name={name}"
    kind = replace(PREEMPTIONS, selector=f"{PREEMPTIONS.selector},{about}")
    return await _items(kind, namespace, ask)


async def _items(kind: _Kind[T], namespace: str, ask: Ask) -> list[T]:
    """`namespace`: empty for a kind without one."""
    where = f"{kind.root}/namespaces/{namespace}" if namespace else kind.root
    path, token, found = f"{where}/{kind.plural}", "", list[T]()
    while True:
        query = {"limit": str(PAGE)}
        query |= {"continue": token} if token else {}
        query |= {"fieldSelector": kind.selector} if kind.selector else {}
        body = await ask(path, query)
        try:
            page = kind.decoder.decode(body)
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", f"{path}: the answer cannot be read: {error}") from error
        found += page.items or ()
        token = page.metadata.continue_
        if not token:
            return found
