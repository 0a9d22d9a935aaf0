"""Readers of the page, for `bench.page`: each holds a stream of events open. A process of its own.

    python -m bench.page_readers PORT STREAMS SILENT

The last SILENT ones read nothing of their streams. It prints a line when all are open. For each line of its input it
prints when each of the others got events since the line before, in monotonic seconds, and how many bytes they were.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from typing import Final
from urllib.parse import urlencode

import aiohttp
import msgspec
import uvloop

from bench.page_world import KINDS_OF_READERS, RACK, READER, namespaces_of
from web.questions import MAP, RESOURCE, TOPOLOGY_KEY

__all__ = ["Heard"]

LOOKS: Final = urlencode({"topics": MAP, TOPOLOGY_KEY: RACK, RESOURCE: "cpu"})
"""What the streams are about: without a key and a resource, frames have no blocks and no amounts."""
LOGIN_SECONDS: Final = 0.12
"""All together may log in ten times a second."""
WARM_UP_SECONDS: Final = 3.0
SMALL: Final = 4096
"""Bytes that a system keeps for somebody who does not read."""


class Heard(msgspec.Struct):
    """What came on the streams."""

    at: list[list[float]]
    """By stream: when an event came, in monotonic seconds."""
    count: int
    """Bytes of all of them."""


class _Stream:
    def __init__(self, number: int) -> None:
        self.number, self.at, self.count = number, list[float](), 0

    async def read(self, session: aiohttp.ClientSession, opened: asyncio.Event) -> None:
        """Read until cancelled. Pieces of one event that come apart count as several: the last one ends it."""
        async with session.get(_path(self.number), headers=_headers(self.number)) as response:
            response.raise_for_status()
            opened.set()
            async for piece in response.content.iter_any():
                if piece != b":\n\n":
                    self.at.append(time.monotonic())
                    self.count += len(piece)
        raise RuntimeError(f"the stream of {READER}{self.number % KINDS_OF_READERS} has ended")


def _path(number: int) -> str:
    kind = number % KINDS_OF_READERS
    named = f"&namespace={','.join(namespaces_of(kind))}" if kind else ""
    return f"/api/v1/events?{LOOKS}{named}"


def _headers(number: int) -> dict[str, str]:
    return {"Authorization": f"Bearer {READER}{number % KINDS_OF_READERS}"}


async def _silent(port: int, number: int) -> socket.socket:
    """A stream that nobody reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    head = f"GET {_path(number)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in _headers(number).items())
    await loop.sock_sendall(connection, f"{head}\r\n".encode())
    return connection


async def _run(port: int, streams: int, silent: int) -> None:
    loop, readers = asyncio.get_running_loop(), [_Stream(number) for number in range(streams)]
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", connector=aiohttp.TCPConnector(limit=0), timeout=timeout
    ) as session:
        tasks = list[asyncio.Task[None]]()
        for each in readers:
            opened = asyncio.Event()
            tasks.append(asyncio.create_task(each.read(session, opened)))
            await asyncio.wait(
                {asyncio.create_task(opened.wait()), tasks[-1]}, return_when=asyncio.FIRST_COMPLETED
            )
            await asyncio.sleep(LOGIN_SECONDS if each.number < KINDS_OF_READERS else 0)
        connections = [await _silent(port, streams + number) for number in range(silent)]
        await asyncio.sleep(WARM_UP_SECONDS)
        print("open", flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            for task in tasks:
                if task.done():
                    task.result()
            heard = Heard([each.at for each in readers], sum(each.count for each in readers))
            print(msgspec.json.encode(heard).decode(), flush=True)
            for each in readers:
                each.at, each.count = [], 0
        for task in tasks:
            task.cancel()
        for connection in connections:
            connection.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop_runner:
        loop_runner.run(_run(*(int(each) for each in sys.argv[1:])))
