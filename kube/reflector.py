"""List and watch of one resource: what the API server holds, kept in step with a handler.

The rules (https://kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes"): a list in
pages, then a watch from the list's resource version with bookmarks; a stream that ends is resumed from the last
version seen; an expired version means a new list, after which whatever was not in it is gone. Resource versions are
opaque here.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from api.meta import List, ListMeta, ObjectMeta
from kube.client import ApiClient, ApiError, Status
from kube.lines import LineTooLongError, delayed, lines
from kube.metrics import MIRROR_EVENTS, MIRROR_REFUSED, REFLECTOR_LISTS, REFLECTOR_STREAM_ENDS
from kube.retry import Backoff, Retry

__all__ = ["Handler", "Key", "Reflector", "Resource", "Timing"]

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""(namespace, name); the namespace of cluster-scoped objects is empty."""

DEFAULT_BACKOFF: Final = Backoff()
LIST_SECONDS: Final = 60.0
BRIEF_SECONDS: Final = 1.0
"""A stream that ends sooner than this and brought nothing counts as a failure."""
FRUITLESS_RESUMES: Final = 3
"""After so many streams in a row that began with nonsense the resource is listed anew."""


class HasMetadata(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""


T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


class Handler(Protocol[T_contra]):
    """Whoever keeps the objects. Called on the event loop; must neither wait nor, ValueError aside, raise."""

    def upsert(self, item: T_contra, *, listed: bool) -> None:
        """The object is there; `listed`: even if it looks older. ValueError: it cannot be read, and is deleted."""

    def delete(self, meta: ObjectMeta) -> None:
        """The object is gone."""

    def replaced(self, keys: AbstractSet[Key]) -> None:
        """Everything but these is gone."""


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """What to watch: `kind` is for logs and metrics, `path` the collection's."""

    kind: str
    path: str
    type: type[T]
    field_selector: str = ""
    page: int = 500
    """Objects of a list page."""

    def query(self, **parameters: str) -> dict[str, str]:
        """The parameters, those left out that are empty."""
        selected = {"fieldSelector": self.field_selector, **parameters}
        return {name: value for name, value in selected.items() if value}


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds, except `breath` (events between two yields to the loop)."""

    backoff: Backoff = DEFAULT_BACKOFF
    watch_least: float = 300.0
    watch_most: float = 600.0
    watch_grace: float = 30.0
    delay: Callable[[], float] = lambda: 0.0
    """Seconds that a watch's events wait before they are applied: for tests."""
    breath: int = 100


class Event(msgspec.Struct, Generic[T]):
    """A watch event."""

    type: str
    object: T


class Envelope(msgspec.Struct):
    """A watch event whose object is looked at later."""

    type: str
    object: msgspec.Raw


class OnlyMetadata(msgspec.Struct):
    """An object of which nothing else could be read."""

    metadata: ObjectMeta


class ExpiredError(Exception):
    """The resource version is too old to go on from."""


class StreamError(Exception):
    """An event of type ERROR, or something on the stream that is no watch event."""


class Reflector(Generic[T]):
    """Keeps a handler in step with one resource, whatever the network and the API server do."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        handler: Handler[T],
        *,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._resource, self._handler = client, resource, handler
        self._timing = timing or Timing()
        self._clock = clock
        self._retry = Retry(self._timing.backoff)
        self._page_decoder = msgspec.json.Decoder(List[resource.type])  # type: ignore[name-defined] # a run-time type
        self._raw_page_decoder = msgspec.json.Decoder(List[msgspec.Raw])
        self._item_decoder = msgspec.json.Decoder(resource.type)
        self._event_decoder: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(Event[resource.type])  # type: ignore[name-defined] # a run-time type
        self._heard = clock()
        self.synced = asyncio.Event()
        """Set once the handler has everything."""
        self.resource_version = ""
        """Where the watch goes on from; empty: with a new list."""

    @property
    def kind(self) -> str:
        """Of the resource."""
        return self._resource.kind

    def last_event_age(self) -> float:
        """Seconds since the API server was last heard of this resource; it sends bookmarks about every minute."""
        return self._clock() - self._heard

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            try:
                if not self.resource_version:
                    await self._list()
                await self._watch()
            except ExpiredError as error:
                await self._failed("expired", error, relist=True)
            except (StreamError, LineTooLongError) as error:
                await self._failed("invalid", error, relist=self._retry.failures >= FRUITLESS_RESUMES)
            except ApiError as error:
                # What is neither an outage nor overload (a CRD is missing, a right was taken away) is asked from anew.
                await self._failed("fault", error, relist=error.status == 410 or not error.is_retriable)

    async def _failed(self, cause: str, error: Exception, *, relist: bool = False) -> None:
        REFLECTOR_STREAM_ENDS.labels(self.kind, cause).inc()
        wait = self._retry.failed(error if isinstance(error, ApiError) else None)
        if relist:
            self.resource_version = ""
        log.warning(
            "list or watch interrupted", kind=self.kind, cause=cause, error=str(error), wait=round(wait, 2)
        )
        await asyncio.sleep(wait)

    # ---- list

    async def _list(self) -> None:
        """Everything there is, page by page; raises when any page fails, and then nothing counts as gone."""
        REFLECTOR_LISTS.labels(self.kind).inc()
        keys: set[Key] = set()
        token = ""
        while True:
            query = self._resource.query(**{"limit": str(self._resource.page), "continue": token})
            body = await self._client.request("GET", self._resource.path, query=query, seconds=LIST_SECONDS)
            meta, items = self._decode_page(body)
            for count, item in enumerate(items, 1):
                if self._upsert(item, listed=True):
                    keys.add((item.metadata.namespace, item.metadata.name))
                if count % self._timing.breath == 0:
                    await asyncio.sleep(0)
            token = meta.continue_
            if not token:
                break
        self._handler.replaced(keys)
        self.resource_version = meta.resource_version
        self._heard = self._clock()
        self._retry.succeeded()
        self.synced.set()
        log.info("listed", kind=self.kind, objects=len(keys), resource_version=meta.resource_version)

    def _decode_page(self, body: bytes) -> tuple[ListMeta, list[T]]:
        """One object that cannot be read must not blind us to the others."""
        try:
            page = self._page_decoder.decode(body)
        except msgspec.ValidationError:
            raw_page = self._decode_raw_page(body)
            items = [item for raw in raw_page.items if (item := self._decode_item(raw)) is not None]
            return raw_page.metadata, items
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", str(error)) from error
        return page.metadata, page.items

    def _decode_raw_page(self, body: bytes) -> List[msgspec.Raw]:
        try:
            return self._raw_page_decoder.decode(body)
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", str(error)) from error

    def _decode_item(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._item_decoder.decode(raw)
        except msgspec.ValidationError as error:
            self._refuse(_metadata(raw), error)
            return None

    # ---- watch

    async def _watch(self) -> None:
        """One stream, to its end."""
        timing = self._timing
        seconds = random.uniform(timing.watch_least, timing.watch_most)  # noqa: S311 - spreads load, guards nothing
        query = self._resource.query(
            watch="true",
            resourceVersion=self.resource_version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(max(1, round(seconds))),
        )
        began, events = self._clock(), 0
        async with self._client.stream(
            self._resource.path, query=query, read_seconds=seconds + timing.watch_grace
        ) as stream:
            self._heard = self._clock()
            batches = lines(stream.iter_any())
            if wait := timing.delay():
                batches = delayed(batches, wait)
            async with aclosing(batches):
                async for batch in batches:
                    self._heard = self._clock()
                    for line in batch:
                        self._apply(line)
                        self._retry.succeeded()
                        events += 1
                        if events % timing.breath == 0:
                            await asyncio.sleep(0)
        if not events and self._clock() - began < BRIEF_SECONDS:
            raise ApiError(0, "Closed", "the stream ended at once")
        REFLECTOR_STREAM_ENDS.labels(self.kind, "in time").inc()

    def _apply(self, line: bytes) -> None:
        try:
            event = self._event_decoder.decode(line)
        except msgspec.ValidationError:
            self._apply_odd(line)
            return
        except msgspec.DecodeError as error:
            raise StreamError(str(error)) from error
        meta = event.object.metadata
        match event.type:
            case "ADDED" | "MODIFIED":
                self._upsert(event.object, listed=False)
            case "DELETED":
                self._handler.delete(meta)
            case _:
                self._apply_odd(line)
                return
        self.resource_version = meta.resource_version
        MIRROR_EVENTS.labels(self.kind).inc()

    def _apply_odd(self, line: bytes) -> None:
        """Bookmarks, errors, and objects that cannot be read."""
        try:
            event = msgspec.json.decode(line, type=Envelope)
            if event.type == "ERROR":
                raise _stream_error(msgspec.json.decode(event.object, type=Status))
            meta = msgspec.json.decode(event.object, type=OnlyMetadata).metadata
        except msgspec.DecodeError as error:
            raise StreamError(str(error)) from error
        if event.type == "DELETED":
            self._handler.delete(meta)
        elif event.type in ("ADDED", "MODIFIED"):
            self._refuse(meta, ValueError("the object is not of the expected shape"))
        elif event.type != "BOOKMARK":
            raise StreamError(f"unknown event type {event.type!r}")
        self.resource_version = meta.resource_version

    def _upsert(self, item: T, *, listed: bool) -> bool:
        try:
            self._handler.upsert(item, listed=listed)
        except ValueError as error:
            self._refuse(item.metadata, error)
            return False
        return True

    def _refuse(self, meta: ObjectMeta, error: Exception) -> None:
        """What cannot be read is missing from the mirror, and somebody must hear of it."""
        MIRROR_REFUSED.labels(self.kind).inc()
        log.error(
            "object cannot be read",
            kind=self.kind,
            namespace=meta.namespace,
            name=meta.name,
            error=str(error),
        )
        self._handler.delete(meta)


def _metadata(raw: msgspec.Raw) -> ObjectMeta:
    try:
        return msgspec.json.decode(raw, type=OnlyMetadata).metadata
    except msgspec.ValidationError:
        return ObjectMeta()


def _stream_error(status: Status) -> Exception:
    if status.code == 410 or status.reason in ("Expired", "Gone"):
        return ExpiredError(status.message)
    return StreamError(f"{status.code} {status.reason}: {status.message}")
