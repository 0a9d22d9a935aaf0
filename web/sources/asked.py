"""What an answer about one namespace needs beyond the mirror. It is asked of the API server when somebody asks, as the
user: ReplicaSets, StatefulSets, Jobs, events about pods that could not be created, and all pods, also ended ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Generic, TypeVar

import msgspec

from api.core import Pod
from api.foreign_owners import OwningJob
from api.meta import ListMeta
from kube.errors import ApiError
from nodes.answers.creators import Event, ReplicaSet, StatefulSet
from web.sources.source import Ask

__all__ = ["Asked", "ask_about"]

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


async def _items(kind: _Kind[T], namespace: str, ask: Ask) -> list[T]:
    path, token, found = f"{kind.root}/namespaces/{namespace}/{kind.plural}", "", list[T]()
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
