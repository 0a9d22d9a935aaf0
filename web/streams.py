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
            await self._granted(reader, namespaces)
            response = web.StreamResponse(headers={"Content-Type": TYPE, "X-Accel-Buffering": "no"})
            await response.prepare(request)
            try:
                async with _beating(response):
                    await self._tell(request, response, reader, topics, namespaces)
            except Refused as error:
                await _send(response, "ended", {"reason": error.reason})
            except ConnectionError:
                pass  # the reader has gone
            return response

    async def _tell(
        self,
        request: web.Request,
        response: web.StreamResponse,
        reader: Reader,
        topics: Topics,
        namespaces: Sequence[str],
    ) -> None:
        """Raises Refused when the reader may no longer listen."""
        told = request.headers.get("Last-Event-ID", "")
        with self._frames.reading() if topics.map is not None else nullcontext():
            following = _Following(self._frames, topics.map, told)
            if told and topics.map is None and not self._hub.knows(source_version(told)):
                await _send(response, "reset", {})
            async with _woken_by(request, reader) as ends:
                while not self._hub.has_ended:
                    granted = await self._granted(reader, namespaces)
                    version = version_for(self._hub.version, granted)
                    if version != told:
                        told = version
                        for topic in topics.others:
                            await _send(response, topic, {"version": told}, told)
                    await response.write(following.events(granted))
                    if await self._quiet(source_version(told), following, ends):
                        await self._door.still(reader)
                        return

    async def _granted(self, reader: Reader, namespaces: Sequence[str]) -> Granted:
        """What this reader may see now. Raises Refused if that is nothing any longer."""
        await self._door.still(reader, early=True)
        return await self._door.authority.granted(reader.login, reader.user, namespaces, early=True)

    async def _quiet(self, told: str, following: _Following, ends: list[asyncio.Task[Any]]) -> bool:
        """Wait until there is something to do. Returns whether one of `ends` has come."""
        changes = {
            asyncio.create_task(self._hub.next(told), name="change"),
            asyncio.create_task(following.next(), name="frame"),
        }
        try:
            done, _ = await asyncio.wait(
                {*changes, *ends}, timeout=self._check_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for each in changes:
                each.cancel()
        return bool(done - changes)


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
