"""Goes through the objects of a kind, and changes those that something of ours holds up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from api.meta import ObjectMeta
from kube.client import ApiClient
from kube.errors import ApiError
from kube.listing import read_page
from kube.sender import Sender

__all__ = ["Result", "Sweep", "all_of", "held_by", "sweep_all"]

AT_ONCE: Final = 16
"""Writes in flight."""
NOT_SERVED: Final = 404
CONFLICT: Final = 409
ATTEMPTS: Final = 5
"""Writes to an object that others change at the same time."""
EXPIRED: Final = 410
"""The status of an answer to a list that took too long: its next page is no longer known."""


class HasMetadata(Protocol):
    """An object of the API, as far as it is read here."""

    metadata: ObjectMeta


T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class Sweep(Generic[T]):
    """One kind of objects, and what is done to some of them."""

    kind: str
    path: str
    """The URL path of the list of all namespaces."""
    type: type[T]
    """The part of an object that matters here."""
    is_held: Callable[[T], bool]
    """Whether something has to be done to the object."""
    free: Callable[[Sender, str, T], Awaitable[bool]]
    """Does it to the object at the URL path; false if there is no such object. Raises ApiError."""
    done: str
    """What is said of an object to which it was done: `the gate is removed`."""
    left: str
    """What is said of an object that is still held: `the pod has the gate`."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the list."""


@dataclass(slots=True)
class Result:
    """The result. Objects are `KIND NAME` or `KIND NAMESPACE/NAME`."""

    freed: list[str] = field(default_factory=list)
    """Objects that were changed."""
    errors: list[str] = field(default_factory=list)
    """Why an object could not be changed."""
    left: list[str] = field(default_factory=list)
    """Objects that were held when all had been read once more, and by what."""


async def sweep_all(
    client: ApiClient,
    sweeps: Iterable[Sweep[Any]],
    tell: Callable[[str], None],
    namespace: str | None = None,
) -> Result:
    """Do it to every object that is held, of a namespace or of all (None), one kind after the other. `tell`
    takes a line about each.

    Raises ApiError if objects cannot be listed. A kind that is not served has no objects.
    """
    result, sender, kinds = Result(), Sender(client), list(sweeps)
    for each in kinds:
        await _sweep(client, sender, each, tell, namespace, result)
    result.left = (await held_by(client, kinds, namespace)).left
    return result


async def held_by(client: ApiClient, sweeps: Iterable[Sweep[Any]], namespace: str | None = None) -> Result:
    """What is held, of a namespace or of all. Nothing is changed. Raises ApiError."""
    result = Result()
    for each in sweeps:
        async for page in _held(client, each, namespace):
            result.left += [f"{_name(each, item.metadata)}: {each.left}" for item in page]
    return result


async def _sweep(
    client: ApiClient,
    sender: Sender,
    sweep: Sweep[T],
    tell: Callable[[str], None],
    namespace: str | None,
    result: Result,
) -> None:
    slots = asyncio.Semaphore(AT_ONCE)

    async def free(item: T) -> None:
        name = _name(sweep, item.metadata)
        async with slots:
            try:
                is_there = await _free(client, sender, sweep, item)
            except ApiError as error:
                result.errors.append(f"{name}: {error}")
                return
        if is_there:
            result.freed.append(name)
            tell(f"{name}: {sweep.done}")

    async for page in _held(client, sweep, namespace):
        await asyncio.gather(*map(free, page))


async def _free(client: ApiClient, sender: Sender, sweep: Sweep[T], item: T) -> bool:
    """Do it to the object as it is now. False if it is gone, or another one has freed it. Raises ApiError."""
    known: T | None = item
    for attempt in range(ATTEMPTS):
        if known is None or not sweep.is_held(known):
            return False
        try:
            return await sweep.free(sender, _path(sweep, item.metadata), known)
        except ApiError as error:
            if error.status != CONFLICT or attempt == ATTEMPTS - 1:
                raise
        known = await _look(client, sweep, item.metadata)
    raise AssertionError("the last attempt returns or raises")


async def _look(client: ApiClient, sweep: Sweep[T], meta: ObjectMeta) -> T | None:
    """The object as it is now; None if it is gone. Raises ApiError."""
    query = {**sweep.query, "fieldSelector": f"metadata.name={meta.name}"}  # the right to list is enough
    async for page in all_of(client, sweep.path, sweep.type, query, meta.namespace or None):
        for each in page:
            if each.metadata.uid == meta.uid:
                return each
    return None


async def _held(client: ApiClient, sweep: Sweep[T], namespace: str | None) -> AsyncIterator[list[T]]:
    """Pages of objects that are held."""
    async for page in all_of(client, sweep.path, sweep.type, sweep.query, namespace):
        yield [each for each in page if sweep.is_held(each)]


async def all_of(
    client: ApiClient,
    path: str,
    type_: type[T],
    query: Mapping[str, str] | None = None,
    namespace: str | None = None,
) -> AsyncIterator[list[T]]:
    """Pages of all objects. An object may come twice if the API server is slow. Raises ApiError."""
    group, _, plural = path.rpartition("/")
    where = f"{group}/namespaces/{namespace}/{plural}" if namespace is not None else path
    token = ""
    while True:
        try:
            items, token = await read_page(client, where, type_, query, token)
        except ApiError as error:
            if error.status == NOT_SERVED:
                return
            if not (token and error.status == EXPIRED):
                raise
            token = ""
            continue
        yield items
        if not token:
            return


def _name(sweep: Sweep[T], meta: ObjectMeta) -> str:
    return f"{sweep.kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{sweep.kind} {meta.name}"


def _path(sweep: Sweep[T], meta: ObjectMeta) -> str:
    group, _, plural = sweep.path.rpartition("/")
    where = f"{group}/namespaces/{meta.namespace}" if meta.namespace else group
    return f"{where}/{plural}/{meta.name}"
