"""Events for users (events.k8s.io/v1): aggregated, limited, and never in the way of what they tell of."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec
import structlog

from api.clock import SYSTEM_CLOCK, Clock
from api.times import rfc3339_micro
from kube.client import MERGE_PATCH, ApiError
from kube.metrics import EVENTS_DROPPED
from kube.sender import Sender

__all__ = ["EventRecorder", "Reference"]

log = structlog.get_logger(__name__)

CONTROLLER: Final = "reprieve.dev/reprieve"
WAITING: Final = 1000
"""Events that may wait for the API server; more are dropped."""
REMEMBERED: Final = 4096
"""Events that may still be repeated, oldest forgotten first."""
SERIES_SECONDS: Final = 360.0
"""An event that is repeated later than this is a new one."""
REPEAT_SECONDS: Final = 60.0
"""From its third time on, an event's repetitions are written not more often than this."""
BURST: Final = 25
"""Different events about one object that may come at once; then one every REFILL_SECONDS. As in upstream's tools."""
REFILL_SECONDS: Final = 30.0
NOTE_BYTES: Final = 1024


class Reference(NamedTuple):
    """core/v1 ObjectReference: the object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def wire(self) -> dict[str, str]:
        """As JSON has it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


class _Happening(NamedTuple):
    """What makes two events the same."""

    regarding: Reference
    related: Reference | None
    type: str
    reason: str
    action: str
    note: str


@dataclass(slots=True)
class _Series:
    """An event that has been written."""

    name: str
    count: int
    last: float
    written: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class EventRecorder:
    """Writes events beside everything else, from the first one on; `close` ends it."""

    def __init__(self, sender: Sender, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._sender = sender
        self._clock = clock
        self._instance = f"reprieve-{socket.gethostname()}"[:128]
        self._series: OrderedDict[_Happening, _Series] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._queue: asyncio.Queue[_Happening] = asyncio.Queue(WAITING)
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
    ) -> None:
        """Tell users; returns at once and never raises. `reason` and `action` are UpperCamelCase words."""
        note = note.encode()[:NOTE_BYTES].decode(errors="ignore")
        happening = _Happening(regarding, related, type_, reason, action, note)
        if happening not in self._series and not self._allowed(regarding.uid):
            EVENTS_DROPPED.labels(self._sender.cluster, "rate").inc()
            return
        try:
            self._queue.put_nowait(happening)
        except asyncio.QueueFull:
            EVENTS_DROPPED.labels(self._sender.cluster, "queue").inc()
            return
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_all(), name="events")

    async def close(self, seconds: float = 2.0) -> None:
        """Write what waits, for at most `seconds`."""
        if self._writing is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)

    def _allowed(self, uid: str) -> bool:
        """One token of the object's bucket."""
        now = self._clock.monotonic()
        bucket = self._buckets.setdefault(uid, _Bucket(BURST, now))
        self._buckets.move_to_end(uid)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.filled) / REFILL_SECONDS)
        bucket.filled = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    async def _write_all(self) -> None:
        while True:
            happening = await self._queue.get()
            try:
                await self._write(happening)
            except ApiError as error:
                EVENTS_DROPPED.labels(self._sender.cluster, "refused").inc()
                log.warning("event could not be written", reason=happening.reason, error=str(error))
            finally:
                self._queue.task_done()

    async def _write(self, happening: _Happening) -> None:
        now = self._clock.monotonic()
        series = self._series.get(happening)
        if series is not None and now - series.last <= SERIES_SECONDS:
            series.count, series.last = series.count + 1, now
            if series.count == 2 or now - series.written >= REPEAT_SECONDS:
                series.written = now
                await self._repeat(happening, series)
            return
        name = f"{happening.regarding.name[:230]}.{secrets.token_hex(8)}"
        await self._create(happening, name)
        self._series[happening] = _Series(name, 1, now, now)
        self._series.move_to_end(happening)
        if len(self._series) > REMEMBERED:
            self._series.popitem(last=False)

    async def _create(self, happening: _Happening, name: str) -> None:
        namespace = _namespace(happening)
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": rfc3339_micro(self._clock.wall()),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": happening.action,
            "reason": happening.reason,
            "regarding": happening.regarding.wire,
            "note": happening.note,
            "type": happening.type,
        }
        if happening.related is not None:
            event["related"] = happening.related.wire
        await self._send("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", event)

    async def _repeat(self, happening: _Happening, series: _Series) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{_namespace(happening)}/events/{series.name}"
        observed = rfc3339_micro(self._clock.wall())
        try:
            await self._send("PATCH", path, {"series": {"count": series.count, "lastObservedTime": observed}})
        except ApiError as error:
            if error.status != 404:
                raise
            # The API server has forgotten it: events live for an hour or less.
            del self._series[happening]
            await self._write(happening)

    async def _send(self, method: str, path: str, body: object) -> None:
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        try:
            await self._sender.send(
                "event", method, path, body=msgspec.json.encode(body), content_type=content_type
            )
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


def _namespace(happening: _Happening) -> str:
    """Events about cluster-scoped objects live in the namespace default."""
    return happening.regarding.namespace or "default"
