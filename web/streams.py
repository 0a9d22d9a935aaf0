"""Streams of events: they say that something has changed, and the page asks for it anew with its own rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
from aiohttp import web

from kube.identity import User
from serving.connections import lost
from web.errors import Refused
from web.hub import Hub
from web.limits import AtOnce
from web.metrics import STREAMS
from web.readers.door import Door, Reader
from web.versions import source_version, version_for

__all__ = ["Streams"]

MOST_OF_USER: Final = 16
AFTER_SECONDS: Final = 5.0
HEARTBEAT_SECONDS: Final = 2.0
"""The page says within five seconds that a connection is cut, so it waits for two heartbeats (`follow.ts`)."""
HEARTBEAT: Final = b":\n\n"
TYPE: Final = "text/event-stream"


class Streams:
    """All streams of a process."""

    def __init__(self, hub: Hub, door: Door, check_seconds: float) -> None:
        """`check_seconds`: between two looks at what a quiet reader may still see."""
        self._hub, self._door = hub, door
        self._check_seconds = check_seconds
        self._of_user = AtOnce[User]("streams", MOST_OF_USER, AFTER_SECONDS)

    async def serve(
        self, request: web.Request, reader: Reader, topics: Sequence[str], namespaces: Sequence[str]
    ) -> web.StreamResponse:
        """Tell the reader of each change, of the cluster and of their rights, until one of us ends it.

        Raises Refused before it begins.
        """
        with self._of_user.hold(reader.user), STREAMS.track_inprogress():
            await self._version(reader, namespaces)
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
        topics: Sequence[str],
        namespaces: Sequence[str],
    ) -> None:
        """Raises Refused when the reader may no longer listen."""
        told = request.headers.get("Last-Event-ID", "")
        if told and not self._hub.knows(source_version(told)):
            await _send(response, "reset", {})
        async with _woken_by(request, reader) as ends:
            while not self._hub.has_ended:
                version = await self._version(reader, namespaces)
                if version != told:
                    told = version
                    for topic in topics:
                        await _send(response, topic, {"version": told}, told)
                if await self._quiet(source_version(told), ends):
                    await self._door.still(reader)
                    return

    async def _version(self, reader: Reader, namespaces: Sequence[str]) -> str:
        """The newest one for this reader. Raises Refused if they may see nothing of this any longer."""
        await self._door.still(reader, early=True)
        granted = await self._door.authority.granted(reader.login, reader.user, namespaces, early=True)
        return version_for(self._hub.version, granted)

    async def _quiet(self, told: str, ends: list[asyncio.Task[Any]]) -> bool:
        """Wait until there is something to do. Returns whether one of `ends` has come."""
        change = asyncio.create_task(self._hub.next(told), name="change")
        try:
            done, _ = await asyncio.wait(
                {change, *ends}, timeout=self._check_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            change.cancel()
        return bool(done - {change})


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
