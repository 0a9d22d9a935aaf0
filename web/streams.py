"""Streams of events: they say that something has changed, and the page asks for it anew with its own rights.

Of the map they say what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
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
            rights = _Rights(self._door, reader, namespaces)
            await rights.now()
            response = web.StreamResponse(headers={"Content-Type": TYPE, "X-Accel-Buffering": "no"})
            await response.prepare(request)
            try:
                async with _beating(response):
                    await self._tell(request, response, reader, topics, rights)
            except Refused as error:
                await _send(response, "ended", {"reason": error.reason})
            except ConnectionError:
                pass  # the reader has gone
            finally:
                rights.end()
            return response

    async def _tell(
        self,
        request: web.Request,
        response: web.StreamResponse,
        reader: Reader,
        topics: Topics,
        rights: _Rights,
    ) -> None:
        """Raises Refused when the reader may no longer listen."""
        told = request.headers.get("Last-Event-ID", "")
        with self._frames.reading() if topics.map is not None else nullcontext():
            following = _Following(self._frames, topics.map, told)
            if told and topics.map is None and not self._hub.knows(source_version(told)):
                await _send(response, "reset", {})
            async with _woken_by(request, reader) as ends:
                while not self._hub.has_ended:
                    granted = await rights.now()
                    await response.write(following.events(granted))
                    version = version_for(self._hub.version, granted)
                    if version != told:
                        told = version
                        id_ = following.version(granted) or told
                        for topic in topics.others:
                            await _send(response, topic, {"version": told}, id_)
                    if await self._quiet(source_version(told), following, rights, ends):
                        await self._door.still(reader)
                        return

    async def _quiet(
        self, told: str, following: _Following, rights: _Rights, ends: list[asyncio.Task[Any]]
    ) -> bool:
        """Wait until there is something to do. Returns whether one of `ends` has come."""
        changes = {
            asyncio.create_task(self._hub.next(told), name="change"),
            asyncio.create_task(following.next(), name="frame"),
        }
        try:
            done, _ = await asyncio.wait(
                {*changes, *ends, *rights.asking},
                timeout=self._check_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for each in changes:
                each.cancel()
        return not done.isdisjoint(ends)


class _Rights:
    """What the reader of a stream may see. What counts still is not waited for: the API server is asked meanwhile."""

    def __init__(self, door: Door, reader: Reader, namespaces: Sequence[str]) -> None:
        self._door, self._reader, self._namespaces = door, reader, namespaces
        self.asking: list[asyncio.Task[Granted]] = []
        """At most one."""

    async def now(self) -> Granted:
        """What the reader may see now. Raises Refused if that is nothing any longer."""
        known = self._door.known(self._reader, self._namespaces, early=True)
        if known is not None and not self.asking:
            return known
        if not self.asking:
            self.asking = [asyncio.create_task(self._ask(), name="rights of a stream")]
        (asking,) = self.asking
        known = self._door.known(self._reader, self._namespaces)
        if known is not None and not asking.done():
            return known
        try:
            return await asking
        finally:
            self.asking = []

    async def _ask(self) -> Granted:
        await self._door.still(self._reader, early=True)
        return await self._door.authority.granted(
            self._reader.login, self._reader.user, self._namespaces, early=True
        )

    def end(self) -> None:
        """Nobody waits for an answer any longer."""
        for each in self.asking:
            each.cancel()
        self.asking = []


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

    async def next(self) -> None:
        """Wait for a frame."""
        if self._looked is None or self._place is None:
            await asyncio.Event().wait()
        else:
            await self._frames.next(self._place)


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
async def _woken_by(request: web.Request, reader: Reader) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Tasks that end when the connection is lost, and when the session is over."""
    events = [lost(request), *([reader.session.over] if reader.session is not None else [])]
    tasks = [asyncio.create_task(event.wait(), name="end of a stream") for event in events]
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
