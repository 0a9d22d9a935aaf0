"""Sends requests over open TLS connections with as little Python as possible. Each connection has one request at a
time."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import uvloop

__all__ = ["Request", "load"]

HOST: Final = "127.0.0.1"
END_OF_HEADERS: Final = b"\r\n\r\n"
LENGTH: Final = b"Content-Length: "


@dataclass(frozen=True, slots=True)
class Request:
    """What every connection sends again and again, and a part of the answer that must come."""

    path: str
    body: bytes
    expected: bytes


def load(
    port: int, context: ssl.SSLContext, request: Request, connections: int, requests: int
) -> tuple[float, list[float]]:
    """The seconds of the whole run, and of each request. Raises RuntimeError for any other answer."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_load(port, context, request, connections, requests))


def _bytes_of(request: Request) -> bytes:
    """The request, as clients written in Go send it."""
    lines = [
        f"POST {request.path} HTTP/1.1",
        f"Host: {HOST}",
        "User-Agent: Go-http-client/1.1",
        f"Content-Length: {len(request.body)}",
        "Accept: application/json, */*",
        "Content-Type: application/json",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + request.body


async def _load(
    port: int, context: ssl.SSLContext, request: Request, connections: int, requests: int
) -> tuple[float, list[float]]:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    times: list[float] = []

    def answered(seconds: float) -> bool:
        times.append(seconds)
        if len(times) == requests and not done.done():
            done.set_result(None)
        return len(times) < requests

    def failed(what: str) -> None:
        if not done.done():
            done.set_exception(RuntimeError(what))

    callers, content = [], _bytes_of(request)
    for _ in range(connections):
        transport, caller = await loop.create_connection(
            lambda: _Caller(content, request.expected, answered, failed), HOST, port, ssl=context
        )
        caller.transport = transport
        callers.append(caller)
    start = time.perf_counter()
    for caller in callers:
        caller.send()
    await done
    seconds = time.perf_counter() - start
    for caller in callers:
        caller.close()
    return seconds, times


class _Caller(asyncio.Protocol):
    """One connection."""

    def __init__(
        self,
        request: bytes,
        expected: bytes,
        answered: Callable[[float], bool],
        failed: Callable[[str], None],
    ) -> None:
        """`answered` gets the seconds that a request took, and returns whether to send another one."""
        self._request, self._expected = request, expected
        self._answered, self._failed = answered, failed
        self.transport: asyncio.WriteTransport | None = None
        self._received = bytearray()
        self._length = 0
        """Of the answer with its headers, 0 as long as it is not known."""
        self._sent = 0.0

    def connection_lost(self, exc: Exception | None) -> None:
        self._failed(f"the connection is closed: {exc}")

    def send(self) -> None:
        """Send the next request."""
        assert self.transport is not None
        self._sent = time.perf_counter()
        self.transport.write(self._request)

    def close(self) -> None:
        """Send no more requests."""
        assert self.transport is not None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._length:
            head = self._received.find(END_OF_HEADERS)
            if head < 0:
                return
            at = self._received.index(LENGTH) + len(LENGTH)
            body = int(self._received[at : self._received.index(b"\r\n", at)])
            self._length = head + len(END_OF_HEADERS) + body
        if len(self._received) < self._length:
            return
        seconds = time.perf_counter() - self._sent
        answer, self._received, self._length = bytes(self._received), bytearray(), 0
        if self._expected not in answer:
            self._failed(f"another answer was expected: {answer[:500]!r}")
        elif self._answered(seconds):
            self.send()
