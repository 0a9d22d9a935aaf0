"""A connection that can be cut: nobody closes it, and nothing comes through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

__all__ = ["Cable"]

HOST = "127.0.0.1"
PIECE = 65536


class Cable:
    """Passes bytes on between whoever connects and a server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._whole = asyncio.Event()
        self._whole.set()
        self._ends = set[asyncio.Task[None]]()
        self.origin = ""
        """Where to connect."""

    @classmethod
    @asynccontextmanager
    async def to(cls, origin: str) -> AsyncIterator[Cable]:
        """A cable to the server with this origin."""
        cable = cls(urlsplit(origin).port or 0)
        server = await asyncio.start_server(cable._connected, HOST, 0)
        cable.origin = f"http://{HOST}:{server.sockets[0].getsockname()[1]}/"
        try:
            yield cable
        finally:
            server.close()
            for end in cable._ends:
                end.cancel()
            await asyncio.gather(*cable._ends, return_exceptions=True)

    def cut(self) -> None:
        """Nothing comes through any longer."""
        self._whole.clear()

    def mend(self) -> None:
        """What was sent meanwhile comes through late, as after a lost packet."""
        self._whole.set()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(HOST, self._port)
        for source, sink in ((reader, back), (there, writer)):
            end = asyncio.create_task(self._pass_on(source, sink), name="one way of a cable")
            self._ends.add(end)
            end.add_done_callback(self._ends.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(PIECE):
                await self._whole.wait()
                sink.write(piece)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()
