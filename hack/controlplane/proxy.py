"""A TCP proxy on loopback that tests disturb. It plays a Service with several replicas, or a bad network."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Literal, Self

__all__ = ["Mode", "Proxy"]

HOST: Final = "127.0.0.1"
CHUNK: Final = 65536
RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection ends with a reset, not in order."""
JOIN_SECONDS: Final = 10.0

HELD_SECONDS: Final = 0.01
"""Between two looks whether bytes may go on."""

Mode = Literal["Pass", "Reset", "BlackHole", "HalfOpen", "Hold"]
"""Pass: bytes go through. Reset: connections are reset, also new ones. BlackHole: connections stay, no byte passes.
HalfOpen: what clients send arrives, and no answer comes back. Hold: bytes wait until the mode is another one."""


class Proxy:
    """Passes each new connection to one of the targets, in turn. It has a thread of its own while the context lasts."""

    def __init__(self, port: int, targets: Callable[[], Sequence[int]]) -> None:
        """`targets`: the ports on loopback that take connections now. Asked in the proxy's thread."""
        self.port, self._targets = port, targets
        self.mode: Mode = "Pass"
        self.delay = 0.0
        """Seconds by which each piece of data comes later."""
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=f"proxy {port}", daemon=True)
        self._listens = threading.Event()
        self._cut = asyncio.Event()
        """Set when all connections are reset. Connections that come later have another one."""
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._listens.wait(JOIN_SECONDS):
            raise OSError(f"the proxy does not listen on {self.port}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, and listen no longer."""
        if self._stop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(JOIN_SECONDS)

    def disturb(self, mode: Mode, *, delay: float = 0.0) -> None:
        """Change what happens to connections. `Reset` ends those that are open."""
        self.mode, self.delay = mode, delay
        if mode == "Reset":
            self.cut()

    def cut(self) -> None:
        """Reset all open connections."""
        self._loop.call_soon_threadsafe(self._reset_all)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, self.port)
        self._listens.set()
        await self._stop.wait()
        server.close()
        self._reset_all()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The server's own task would report a cancellation as an exception that nobody caught.
        connection = asyncio.create_task(self._carry(reader, writer, self._cut))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        """One connection of a client, until one of its sides ends it or `cut` is set."""
        self._writers.add(writer)
        try:
            behind, before = await self._connect(cut)
        except OSError:
            _reset(writer)
            self._writers.discard(writer)
            return
        self._writers.add(before)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, before, cut, answers=False))
                both.create_task(self._pass(behind, writer, cut, answers=True))
        except* OSError:
            _reset(writer)
        finally:
            self._writers -= {writer, before}
            before.close()
            writer.close()

    async def _connect(self, cut: asyncio.Event) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the next target. Raises OSError, also when all connections are reset meanwhile."""
        # Targets may be asked whether they are ready, and one that stands still takes its time.
        targets = [] if self.mode == "Reset" else list(await asyncio.to_thread(self._targets))
        if not targets:
            raise ConnectionRefusedError("there is no target")
        self._turn += 1
        behind, before = await asyncio.open_connection(HOST, targets[self._turn % len(targets)])
        if cut.is_set():
            _reset(before)
            raise ConnectionResetError("all connections are reset")
        return behind, before

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event, *, answers: bool
    ) -> None:
        """Pass on bytes in one direction, until their sender ends it. In a black hole they are lost for good."""
        lost = False
        while data := await reader.read(CHUNK):
            if self.delay:
                await asyncio.sleep(self.delay)
            while self.mode == "Hold":  # noqa: ASYNC110 - the mode is set in another thread
                await asyncio.sleep(HELD_SECONDS)
            lost = lost or self.mode == "BlackHole" or (answers and self.mode == "HalfOpen")
            if not lost:
                writer.write(data)
                await writer.drain()
        if lost:
            await cut.wait()  # not even the end of the connection comes through
            raise ConnectionResetError("all connections are reset")
        with suppress(OSError, RuntimeError):
            writer.write_eof()

    def _reset_all(self) -> None:
        self._cut.set()
        self._cut = asyncio.Event()
        for writer in list(self._writers):
            _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    own = writer.get_extra_info("socket")
    if own is not None:
        with suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    if writer.transport is not None:
        writer.transport.abort()
