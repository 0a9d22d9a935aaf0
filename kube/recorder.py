"""Events for users (events.k8s.io/v1). They are aggregated and limited, and never delay the work that they describe."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol, Self, TypeVar

import msgspec
import structlog

from api.clock import SYSTEM_CLOCK, Clock
from api.times import rfc3339_micro
from kube.client import MERGE_PATCH
from kube.errors import ApiError
from kube.metrics import EVENTS_DROPPED
from kube.sender import FencedError, Sender

__all__ = ["SERIES_SECONDS", "Event", "EventRecorder", "Reference"]

log = structlog.get_logger(__name__)

CONTROLLER: Final = "reprieve.dev/reprieve"
WAITING: Final = 1000
"""How many events may wait for the API server. Further events are dropped, unless they come as `events`."""
REMEMBERED: Final = 4096
"""How many written events the recorder remembers, to count their repetitions. It forgets the oldest first."""
SERIES_SECONDS: Final = 360.0
"""A repetition after more than this time counts as a new event."""
REPEAT_SECONDS: Final = 60.0
"""The minimum time between two writes of an event's repetitions, from the third time on."""
BURST: Final = 25
"""How many different events about one object may come at once. After that: one every REFILL_SECONDS, as in upstream's
tools."""
REFILL_SECONDS: Final = 30.0
NOTE_BYTES: Final = 1024
FENCE_SECONDS: Final = 0.1
"""Between two looks whether the fence is open again."""


Value = TypeVar("Value")


class Named(Protocol):
    """What is in one namespace under a name: the metadata of an object, or what is kept of it."""

    @property
    def namespace(self) -> str:
        """Empty for objects without one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """Its UID."""


class Reference(NamedTuple):
    """core/v1 ObjectReference: the object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, api_version: str, kind: str, named: Named) -> Self:
        """The reference to this object of that kind."""
        return cls(api_version, kind, named.namespace, named.name, named.uid)

    @property
    def wire(self) -> dict[str, str]:
        """The reference in JSON form."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


class _Happening(NamedTuple):
    """The identity of an event: two events with equal values are one event that repeats."""

    regarding: Reference
    related: Reference | None
    type: str
    reason: str
    action: str
    series: str
    """The note, if no other name of the series was given."""


class _Waiting(NamedTuple):
    """An event that waits for the API server."""

    happening: _Happening
    note: str


class Event(NamedTuple):
    """An event that is made when it is written (`EventRecorder.events`)."""

    regarding: Reference
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
    related: Reference | None = None

    @property
    def waiting(self) -> _Waiting:
        """The event with a note that is short enough."""
        note = _cut(self.note)
        happening = _Happening(self.regarding, self.related, self.type, self.reason, self.action, note)
        return _Waiting(happening, note)


class _Made(NamedTuple):
    """Events that are made one by one, and happened at the same time."""

    events: Iterator[Event]
    at: float
    """In wall seconds."""


@dataclass(slots=True)
class _Series:
    """A written event and its repetitions. `last` and `written` are monotonic seconds."""

    name: str
    count: int
    last: float
    written: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class EventRecorder:
    """Writes events in a task of its own. The first event starts the task, and `close` ends it."""

    def __init__(self, sender: Sender, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._sender = sender
        self._clock = clock
        self._instance = f"reprieve-{socket.gethostname()}"[:128]
        self._series: OrderedDict[_Happening, _Series] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._queue: asyncio.Queue[_Waiting | _Made] = asyncio.Queue()
        self._again: dict[_Happening, int] = {}
        """Of each event that is in the queue or is being written: how often it has happened again meanwhile."""
        self._writing: asyncio.Task[None] | None = None

    def event(
        self,
        regarding: Reference,
        type_: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        *,
        related: Reference | None = None,
        series: str = "",
    ) -> None:
        """Queue an event for users. Returns at once and never raises.

        `reason` and `action` are UpperCamelCase words. A note of more than NOTE_BYTES is cut. Events that are otherwise
        equal, and have the same note or the same `series`, are one event that repeats. It has the first note.
        """
        note = _cut(note)
        happening = _Happening(regarding, related, type_, reason, action, series or note)
        if happening in self._again:
            self._again[happening] += 1
            return
        if happening not in self._series and not self._allowed(regarding.uid):
            EVENTS_DROPPED.labels(self._sender.cluster, "rate").inc()
            return
        if self._queue.qsize() >= WAITING:
            EVENTS_DROPPED.labels(self._sender.cluster, "queue").inc()
            return
        self._again[happening] = 0
        self._put(_Waiting(happening, note))

    def events(self, made: Iterable[Event]) -> None:
        """Queue events about different objects, for what has just been done to all of them. Returns at once.

        Each is made when it is its turn, so however many there are, none takes room and none is dropped. Events that
        come one by one do not wait for all of these. These are not aggregated.
        """
        self._put(_Made(iter(made), self._clock.wall()))

    def _put(self, item: _Waiting | _Made) -> None:
        self._queue.put_nowait(item)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_all(), name="events")

    async def close(self, seconds: float = 2.0) -> None:
        """Write the events that wait, for at most `seconds`. Then stop."""
        if self._writing is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)

    def _allowed(self, uid: str) -> bool:
        """Take one token from the object's bucket. Returns whether there was one."""
        now = self._clock.monotonic()
        bucket = self._buckets.setdefault(uid, _Bucket(BURST, now))
        self._buckets.move_to_end(uid)
        _shorten(self._buckets, lambda each: now - each.filled >= BURST * REFILL_SECONDS)  # it is full again
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.filled) / REFILL_SECONDS)
        bucket.filled = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    async def _write_all(self) -> None:
        while True:
            item = await self._queue.get()
            try:
                if isinstance(item, _Made):
                    await self._write_next(item)
                else:
                    await self._write_waiting(item)
            finally:
                self._queue.task_done()

    async def _write_waiting(self, waiting: _Waiting) -> None:
        try:
            await self._write_in_term(partial(self._write, waiting, 1))
            while times := self._again[waiting.happening]:
                self._again[waiting.happening] = 0
                await self._write_in_term(partial(self._write, waiting, times))
        except ApiError as error:
            self._not_written(waiting, error)
        finally:
            del self._again[waiting.happening]

    async def _write_next(self, made: _Made) -> None:
        """Write one event. The others come after whatever waits now."""
        event = next(made.events, None)
        if event is None:
            return
        waiting = event.waiting
        try:
            await self._write_in_term(partial(self._create, waiting, _new_name(waiting), made.at))
        except ApiError as error:
            self._not_written(waiting, error)
            if isinstance(error, FencedError):  # the term is over: the next event would fail, too
                EVENTS_DROPPED.labels(self._sender.cluster, "refused").inc(sum(1 for _ in made.events))
        self._queue.put_nowait(made)

    def _not_written(self, waiting: _Waiting, error: ApiError) -> None:
        EVENTS_DROPPED.labels(self._sender.cluster, "refused").inc()
        log.warning("event could not be written", reason=waiting.happening.reason, error=str(error))

    async def _write_in_term(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write once the term allows it. A Lease that is renewed late closes the fence for a moment."""
        while True:
            while not (self._sender.may_send or self._sender.is_over):  # noqa: ASYNC110 - a term tells nobody
                await asyncio.sleep(FENCE_SECONDS)
            try:
                await write()
            except FencedError:
                if self._sender.is_over:
                    raise
            else:
                return

    async def _write(self, waiting: _Waiting, times: int) -> None:
        happening, now = waiting.happening, self._clock.monotonic()
        series = self._series.get(happening)
        if series is not None and now - series.last <= SERIES_SECONDS:
            is_second = series.count == 1
            series.count, series.last = series.count + times, now
            self._series.move_to_end(happening)
            if is_second or now - series.written >= REPEAT_SECONDS:
                series.written = now
                await self._repeat(waiting, series)
            return
        name = _new_name(waiting)
        await self._create(waiting, name, self._clock.wall())
        self._series[happening] = _Series(name, 1, now, now)
        self._series.move_to_end(happening)
        _shorten(self._series, lambda each: now - each.last > SERIES_SECONDS)

    async def _create(self, waiting: _Waiting, name: str, at: float) -> None:
        happening, note = waiting
        namespace = _namespace(happening)
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": rfc3339_micro(at),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": happening.action,
            "reason": happening.reason,
            "regarding": happening.regarding.wire,
            "note": note,
            "type": happening.type,
        }
        if happening.related is not None:
            event["related"] = happening.related.wire
        await self._send("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", event)

    async def _repeat(self, waiting: _Waiting, series: _Series) -> None:
        happening = waiting.happening
        path = f"/apis/events.k8s.io/v1/namespaces/{_namespace(happening)}/events/{series.name}"
        observed = rfc3339_micro(self._clock.wall())
        try:
            await self._send("PATCH", path, {"series": {"count": series.count, "lastObservedTime": observed}})
        except ApiError as error:
            if error.status != 404:
                raise
            # The API server has deleted the event: events live for an hour or less.
            del self._series[happening]
            await self._write(waiting, 1)

    async def _send(self, method: str, path: str, body: object) -> None:
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        try:
            await self._sender.send(
                "event", method, path, body=msgspec.json.encode(body), content_type=content_type
            )
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


def _shorten(kept: OrderedDict[Any, Value], is_over: Callable[[Value], bool]) -> None:
    """Forget what is over, and what is too much, from the oldest on. The newest one stays."""
    while len(kept) > 1 and (len(kept) > REMEMBERED or is_over(next(iter(kept.values())))):
        kept.popitem(last=False)


def _cut(note: str) -> str:
    """As much of a note as the API server takes."""
    return note.encode()[:NOTE_BYTES].decode(errors="ignore")


def _new_name(waiting: _Waiting) -> str:
    """A name for an event that no other one has."""
    return f"{waiting.happening.regarding.name[:230].rstrip('.-')}.{secrets.token_hex(8)}"


def _namespace(happening: _Happening) -> str:
    """Events about cluster-scoped objects live in the namespace default."""
    return happening.regarding.namespace or "default"
