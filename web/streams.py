"""Streams of events: they say that something has changed, and the page asks for it anew with its own rights.

Of the map they say what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from aiohttp import web

from kube.identity import User
from serving.connections import lost
from web.errors import Refused
from web.frames import Frames
from web.hub import Hub
from web.limits import AtOnce
from web.metrics import STREAMS
from web.questions import Looked, Topics
from web.readers.door import Door, Reader
from web.readers.rights import Granted
from web.versions import source_version, version_for

__all__ = ["Streams"]

MOST_OF_USER: Final = 16
AFTER_SECONDS: Final = 5.0
HEARTBEAT_SECONDS: Final = 2.0
"""The page says within five seconds that a connection is cut, so it waits for two heartbeats (`follow.ts`)."""
HEARTBEAT: Final = b":\n\n"
RESET: Final = b"event: reset\ndata: {}\n\n"
TYPE: Final = "text/event-stream"


class Streams:
    """All streams of a process."""

    def __init__(self, hub: Hub, frames: Frames, door: Door, check_seconds: float) -> None:
        """`check_seconds`: between two looks at what a quiet reader may still see."""
        self._hub, self._frames, self._door = hub, frames, door
        self._check_seconds = check_seconds
        self._of_user = AtOnce[User]("streams", MOST_OF_USER, AFTER_SECONDS)

    async def serve(
        self, request: web.Request, reader: Reader, topics: Topics, namespaces: Sequence[str]
    ) -> web.StreamResponse:
        """Tell the reader of each change, of the cluster and of their rights, until one of us ends it.

        Raises Refused before it begins.
        """
        with self._of_user.hold(reader.user), STREAMS.track_inprogress():
            bell = asyncio.Event()
            rights = _Rights(self._door, reader, namespaces, bell)
            await rights.now()
            response = web.StreamResponse(headers={"Content-Type": TYPE, "X-Accel-Buffering": "no"})
            await response.prepare(request)
            try:
                async with _beating(response), _woken_by(request, reader, bell) as ends:
                    await self._tell(_Stream(request, response, reader, topics, rights, bell, ends))
            except Refused as error:
                await _send(response, "ended", {"reason": error.reason})
            except ConnectionError:
                pass  # the reader has gone
            finally:
                rights.end()
            return response

    async def _tell(self, stream: _Stream) -> None:
        """Until one of us ends it. Raises Refused when the reader may no longer listen."""
        response, topics = stream.response, stream.topics
        told = stream.request.headers.get("Last-Event-ID", "")
        with self._waking(stream):
            following = _Following(self._frames, topics.map, told)
            if told and topics.map is None and not self._hub.knows(source_version(told)):
                await _send(response, "reset", {})
            while not self._hub.has_ended:
                stream.bell.clear()
                granted = await stream.rights.now()
                await response.write(following.events(granted))  # also nothing: the head is sent with it
                version = version_for(self._hub.version, granted)
                if version != told:
                    told = version
                    id_ = following.version(granted) or told
                    for topic in topics.others:
                        await _send(response, topic, {"version": told}, id_)
                if await stream.quiet(self._check_seconds):
                    await self._door.still(stream.reader)
                    return

    @contextmanager
    def _waking(self, stream: _Stream) -> Iterator[None]:
        """The bell of the stream rings for what it is about."""
        with ExitStack() as stack:
            stack.enter_context(self._hub.bells.hung(stream.bell))
            if stream.topics.map is not None:
                stack.enter_context(self._frames.reading())
                stack.enter_context(self._frames.bells.hung(stream.bell))
            yield


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream that is open."""

    request: web.Request
    response: web.StreamResponse
    reader: Reader
    topics: Topics
    rights: _Rights
    bell: asyncio.Event
    """It rings when there may be something to do."""
    ends: list[asyncio.Task[Any]]
    """Each ends with the stream."""

    async def quiet(self, seconds: float) -> bool:
        """Wait until there may be something to do, at most for `seconds`. Returns whether the stream ends."""
        timer = asyncio.get_running_loop().call_later(seconds, self.bell.set)
        try:
            await self.bell.wait()
        finally:
            timer.cancel()
        return any(each.done() for each in self.ends)


class _Rights:
    """What the reader of a stream may see. What counts still is not waited for: the API server is asked meanwhile."""

    def __init__(self, door: Door, reader: Reader, namespaces: Sequence[str], bell: asyncio.Event) -> None:
        """`bell` rings when there is another answer."""
        self._door, self._reader, self._namespaces, self._bell = door, reader, namespaces, bell
        self._asking: list[asyncio.Task[Granted]] = []
        """At most one."""

    async def now(self) -> Granted:
        """What the reader may see now. Raises Refused if that is nothing any longer."""
        known = self._door.known(self._reader, self._namespaces, early=True)
        if known is not None and not self._asking:
            return known
        if not self._asking:
            self._asking = [asyncio.create_task(self._ask(), name="rights of a stream")]
            self._asking[0].add_done_callback(lambda _: self._bell.set())
        (asking,) = self._asking
        known = self._door.known(self._reader, self._namespaces)
        if known is not None and not asking.done():
            return known
        try:
            return await asking
        finally:
            self._asking = []

    async def _ask(self) -> Granted:
        await self._door.still(self._reader, early=True)
        return await self._door.authority.granted(
            self._reader.login, self._reader.user, self._namespaces, early=True
        )

    def end(self) -> None:
        """Nobody waits for an answer any longer."""
        for each in self._asking:
            each.cancel()
        self._asking = []


class _Following:
    """The frames of one stream."""

    def __init__(self, frames: Frames, looked: Looked | None, told: str) -> None:
        """`looked`: None if the stream is not about the map. `told`: the last event that the reader has, if any."""
        self._frames, self._looked = frames, looked
        self._place = frames.place(source_version(told)) if told else frames.newest
        """None: the reader has to begin anew."""
        self._mark = told.rpartition("-")[2]
        """Of the rights with which the reader has got what they have; empty before anything."""

    def events(self, granted: Granted) -> bytes:
        """What has happened since the last call. The rights are those of this moment."""
        if self._looked is None:
            return b""
        place, self._place = self._place, self._frames.newest
        has_other_rights, self._mark = self._mark not in ("", granted.mark), granted.mark
        found = None
        if place is not None and not has_other_rights and granted.lists("nodes"):
            found = self._frames.events(place, granted, self._looked)
        return b"".join(found) if found is not None else RESET

    def version(self, granted: Granted) -> str:
        """Of the map that the reader has with the frames so far; empty if they do not follow it."""
        return version_for(self._frames.version, granted) if self._looked is not None else ""


@asynccontextmanager
async def _beating(response: web.StreamResponse) -> AsyncIterator[None]:
    """Heartbeats until the end of the context, also while the API server lets a question about rights wait."""

    async def beat() -> None:
        with suppress(ConnectionError):
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                await response.write(HEARTBEAT)

    task = asyncio.create_task(beat(), name="heartbeats of a stream")
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def _woken_by(
    request: web.Request, reader: Reader, bell: asyncio.Event
) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Tasks that end when the connection is lost, and when the session is over. Then the bell rings."""
    events = [lost(request), *([reader.session.over] if reader.session is not None else [])]
    tasks = [asyncio.create_task(event.wait(), name="end of a stream") for event in events]
    for task in tasks:
        task.add_done_callback(lambda _: bell.set())
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()


async def _send(response: web.StreamResponse, event: str, data: dict[str, str], id_: str = "") -> None:
    lines = [f"event: {event}"]
    if id_:
        lines.append(f"id: {id_}")
    lines.append(f"data: {msgspec.json.encode(data).decode()}")
    await response.write(("\n".join(lines) + "\n\n").encode())
