"""List and watch of one resource. The reflector tells a handler every change of the API server's objects.

The rules (https://kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes"):

- The reflector lists in pages. Then it watches from the list's resource version, with bookmarks.
- When a stream ends, the next one continues from the last version seen.
- When that version has expired, the reflector lists again. An object that is not in the new list is gone.

Resource versions are opaque here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK, Clock
from api.meta import ObjectMeta
from kube.breath import Breath
from kube.client import ApiClient
from kube.decoding import Decoding
from kube.envelopes import Envelope, metadata_of
from kube.errors import ApiError, SilenceError, Status
from kube.lines import LineTooLongError, delayed, lines
from kube.metrics import MIRROR_EVENTS, REFLECTOR_LISTS, REFLECTOR_STREAM_ENDS
from kube.refusals import Refusals
from kube.retry import Retry

__all__ = ["Handler", "Key", "Reflector", "Resource", "Timing"]

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""(namespace, name); the namespace of cluster-scoped objects is empty."""

DEFAULT_BACKOFF: Final = Backoff()
DEFAULT_REFUSED: Final = Backoff(1.0, 10.0)
LIST_SECONDS: Final = 60.0
BRIEF_SECONDS: Final = 1.0
"""A stream counts as a failure if it brought nothing and ended in less than this time."""
FRUITLESS_RESUMES: Final = 3
"""The reflector lists again after this many invalid streams in a row."""


class HasMetadata(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""


T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


def _never(_: object) -> bool:
    return False


class Handler(Protocol[T_contra]):
    """Keeps the objects. The reflector calls it on the event loop. It must neither wait nor raise."""

    def upsert(self, item: T_contra, *, listed: bool) -> None:
        """The object exists in this state. With `listed`, a list has it, so it counts even if it looks older."""

    def unreadable(self, meta: ObjectMeta, error: Exception, *, listed: bool, raw: bytes = b"") -> None:
        """The object exists, but its state does not have the expected shape. `meta` may have names only. `raw` is the
        object as JSON."""

    def delete(self, meta: ObjectMeta) -> None:
        """The object is gone, or the selector no longer selects it. `meta` is from that moment."""

    def replaced(self, keys: AbstractSet[Key], resource_version: str) -> None:
        """A list of this version is complete. Every object that is not in `keys` is gone."""

    def refused(self, times: int) -> None:
        """The API server does not serve the resource, or forbids it, `times` times in a row."""


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A resource to watch. `kind` is for logs and metrics. `path` is the URL path of the collection.

    `left` tells whether the selectors leave out an object in this state. API servers send such a state as a deletion,
    but the answer to a write may contain it.
    """

    kind: str
    path: str
    type: type[T]
    field_selector: str = ""
    page: int = 500
    """The maximum number of objects on a list page."""
    left: Callable[[T], bool] = _never
    optional: bool = False
    """Nobody waits for it: a cluster may not serve it, and a role of one's own may not allow to read it."""
    label_selector: str = ""
    older: tuple[str, ...] = ()
    """The paths of older versions of the API, the newest first: the first one that is served counts."""

    def query(self, **parameters: str) -> dict[str, str]:
        """The URL parameters of a request, without empty parameters."""
        selectors = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        selected = {**selectors, **parameters}
        return {name: value for name, value in selected.items() if value}


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds."""

    backoff: Backoff = DEFAULT_BACKOFF
    watch_least: float = 300.0
    watch_most: float = 600.0
    silent: float = 90.0
    """A watch without any data for this time is given up. The API server sends a bookmark about every minute."""
    delay: Callable[[], float] = lambda: 0.0
    """How long the events of a watch wait before they are applied. Only tests set it."""
    refused: Backoff = DEFAULT_REFUSED
    """The delays while the API server refuses: it does not serve the resource, or forbids it."""
    asked: float = 1.0
    """The shortest of these delays if somebody asks whether it still refuses."""


class ExpiredError(Exception):
    """The resource version is too old to continue from."""


class StreamError(Exception):
    """The stream brought an event of type ERROR, or something else than a watch event."""


class Reflector(Generic[T]):
    """Tells a handler all changes of one resource. It survives faults of the network and the API server."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        handler: Handler[T],
        *,
        timing: Timing | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client, self._resource, self._handler = client, resource, handler
        self._cluster = client.cluster
        self._timing = timing or Timing()
        self._clock = clock
        self.path = resource.path
        """The path that the last list came from: that of the newest version of the API that is served."""
        self._retry = Retry(self._timing.backoff)
        self._decoding = Decoding(resource.type)
        self._heard = clock.monotonic()
        self.listed_from = float("-inf")
        """When the first request of the last complete list was sent, in monotonic seconds."""
        self.resource_version = ""
        """The version from which the watch continues. Empty means that a new list comes first."""
        self.refusal: ApiError | None = None
        """Why the API server refuses, or None. The next attempts fail too, until somebody fixes the cause."""
        self.refusals = Refusals(self._timing.refused, self._timing.asked)
        """An API server that has just started refuses everybody for a moment."""
        self._interrupted: float | None = clock.monotonic()
        """Since when there is no watch, in monotonic seconds; None while there is one."""
        self._told = 0
        """Events and bookmarks so far."""
        self._patience: asyncio.Timeout | None = None
        """Of the stream that is read now. It has no end until `watch_anew` gives it one."""

    @property
    def kind(self) -> str:
        """The kind of the resource, for logs and metrics."""
        return self._resource.kind

    def last_event_age(self) -> float:
        """Seconds since the API server last sent something about this resource.

        It sends a bookmark about every minute.
        """
        return self._clock.monotonic() - self._heard

    def interrupted(self) -> float:
        """For how many seconds there has been no watch. 0 while there is one. One that brings nothing is none."""
        return 0.0 if self._interrupted is None else self._clock.monotonic() - self._interrupted

    def watch_anew(self) -> None:
        """Give the stream up, and watch again from the last version: its connection may be lost without a sign."""
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            began = self._clock.monotonic()
            self.refusals.begins()
            try:
                if not self.resource_version:
                    await self._list()
                await self._watch()
                self._ends()
            except ExpiredError as error:
                await self._failed("expired", error, relist=True)
            except (StreamError, LineTooLongError) as error:
                await self._failed("invalid", error, relist=self._retry.failures >= FRUITLESS_RESUMES)
            except SilenceError:
                self._silent()
            except ApiError as error:
                if error.status == 410 or error.is_retriable:
                    await self._failed("fault", error, relist=error.status == 410)
                else:
                    await self._refused(error, began)

    async def _refused(self, error: ApiError, since: float) -> None:
        """Note the refusal of a request that was sent at `since` or later, and wait."""
        REFLECTOR_STREAM_ENDS.labels(self._cluster, self.kind, "refused").inc()
        self.resource_version = ""
        if self.refusal is None or self.refusal.status != error.status:
            tell = log.info if self._resource.optional and error.status == 404 else log.warning
            tell("list or watch refused", cluster=self._cluster, kind=self.kind, error=str(error))
        self.refusal = error
        self.refusals.note(since)
        self._ends()
        self._handler.refused(self.refusals.times)
        await self.refusals.wait()

    def _silent(self) -> None:
        """The connection may be lost without a sign, or the API server has nothing to say. Watch again at once."""
        REFLECTOR_STREAM_ENDS.labels(self._cluster, self.kind, "silent").inc()
        self._ends()

    def _ends(self) -> None:
        """There is no watch."""
        if self._interrupted is None:
            self._interrupted = self._clock.monotonic()

    async def _failed(self, cause: str, error: Exception, *, relist: bool = False) -> None:
        REFLECTOR_STREAM_ENDS.labels(self._cluster, self.kind, cause).inc()
        wait = self._retry.failed(error if isinstance(error, ApiError) else None)
        self._ends()
        if relist:
            self.resource_version = ""
        log.warning(
            "list or watch interrupted",
            cluster=self._cluster,
            kind=self.kind,
            cause=cause,
            error=str(error),
            wait=round(wait, 2),
        )
        await asyncio.sleep(wait)

    # ---- list

    async def _list(self) -> None:
        """List all objects, page by page. Raises if a page fails; then no object counts as gone."""
        REFLECTOR_LISTS.labels(self._cluster, self.kind).inc()
        keys: set[Key] = set()
        token, began = "", self._clock.monotonic()
        while True:
            query = self._resource.query(**{"limit": str(self._resource.page), "continue": token})
            body = await (self._get(self.path, query) if token else self._first_page(query))
            meta, items = self._decoding.page(body, partial(self._unreadable, keys))
            breath = Breath()
            for item in items:
                self._handler.upsert(item, listed=True)
                keys.add((item.metadata.namespace, item.metadata.name))
                if breath.is_due:
                    await breath.take()
            token = meta.continue_
            if not token:
                break
        self.refusal = None
        self.refusals.forget()
        self._handler.replaced(keys, meta.resource_version)
        self.resource_version, self.listed_from = meta.resource_version, began
        self._heard = self._clock.monotonic()
        self._retry.succeeded()
        log.info(
            "listed",
            cluster=self._cluster,
            kind=self.kind,
            objects=len(keys),
            resource_version=meta.resource_version,
        )

    async def _first_page(self, query: Mapping[str, str]) -> bytes:
        """The first page, in the newest version of the API that is served."""
        *newer, oldest = self._resource.path, *self._resource.older
        for self.path in newer:
            try:
                return await self._get(self.path, query)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        self.path = oldest
        return await self._get(oldest, query)

    async def _get(self, path: str, query: Mapping[str, str]) -> bytes:
        return await self._client.request("GET", path, query=query, seconds=LIST_SECONDS)

    def _unreadable(self, keys: set[Key], raw: msgspec.Raw, error: Exception) -> None:
        """The object is in the list, so its key is added to `keys`."""
        try:
            meta = metadata_of(raw)
        except msgspec.ValidationError:
            meta = ObjectMeta()
        keys.add((meta.namespace, meta.name))
        self._handler.unreadable(meta, error, listed=True, raw=bytes(raw))

    # ---- watch

    async def _watch(self) -> None:
        """Watch one stream to its end."""
        seconds = random.uniform(self._timing.watch_least, self._timing.watch_most)  # noqa: S311 - spreads load, guards nothing
        query = self._resource.query(
            watch="true",
            resourceVersion=self.resource_version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(max(1, round(seconds))),
        )
        began, told, interrupted = self._clock.monotonic(), self._told, self._interrupted
        try:
            async with asyncio.timeout(None) as self._patience:
                await self._read(query)
        except TimeoutError:
            raise SilenceError(0, "Silent", "the stream was given up") from None
        finally:
            self._patience = None
            brought_nothing = self._told == told and self._clock.monotonic() - began < BRIEF_SECONDS
            if brought_nothing:
                self._interrupted = interrupted
        if brought_nothing:
            raise ApiError(0, "Closed", "the stream ended at once")
        REFLECTOR_STREAM_ENDS.labels(self._cluster, self.kind, "in time").inc()

    async def _read(self, query: Mapping[str, str]) -> None:
        """Apply the events of one stream."""
        async with self._client.stream(self.path, query=query, read_seconds=self._timing.silent) as stream:
            self._heard, self._interrupted = self._clock.monotonic(), None
            batches = lines(stream.iter_any())
            if wait := self._timing.delay():
                batches = delayed(batches, wait)
            async with aclosing(batches):
                async for batch in batches:
                    self._heard, breath = self._clock.monotonic(), Breath()
                    for line in batch:
                        self._apply(line)
                        self._retry.succeeded()
                        self._told += 1
                        if breath.is_due:
                            await breath.take()

    def _apply(self, line: bytes) -> None:
        try:
            event = self._decoding.event(line)
        except msgspec.ValidationError:
            self._apply_odd(line)
            return
        except msgspec.DecodeError as error:
            raise StreamError(str(error)) from error
        meta = event.object.metadata
        match event.type:
            case "ADDED" | "MODIFIED":
                self._handler.upsert(event.object, listed=False)
            case "DELETED":
                self._handler.delete(meta)
            case _:
                self._apply_odd(line)
                return
        self.resource_version = meta.resource_version
        MIRROR_EVENTS.labels(self._cluster, self.kind).inc()

    def _apply_odd(self, line: bytes) -> None:
        """Apply a line that is a bookmark, an error, or has an unreadable object."""
        try:
            event = msgspec.json.decode(line, type=Envelope)
            if event.type == "ERROR":
                raise _stream_error(msgspec.json.decode(event.object, type=Status))
            meta = metadata_of(event.object)
        except msgspec.DecodeError as error:
            raise StreamError(str(error)) from error
        if event.type == "DELETED":
            self._handler.delete(meta)
        elif event.type in ("ADDED", "MODIFIED"):
            raw = bytes(event.object)
            self._handler.unreadable(meta, self._decoding.fault(event.object), listed=False, raw=raw)
        elif event.type != "BOOKMARK":
            raise StreamError(f"unknown event type {event.type!r}")
        self.resource_version = meta.resource_version


def _stream_error(status: Status) -> Exception:
    if status.code == 410 or status.reason in ("Expired", "Gone"):
        return ExpiredError(status.message)
    return StreamError(f"{status.code} {status.reason}: {status.message}")
