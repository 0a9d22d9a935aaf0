"""Sends requests over open TLS connections with as little Python as possible. Each connection has one request at a
time."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Final

import uvloop

__all__ = ["load"]

HOST: Final = "127.0.0.1"
END_OF_HEADERS: Final = b"\r\n\r\n"
LENGTH: Final = b"Content-Length: "
ALLOWED: Final = b'"allowed":true'


def load(
    port: int, context: ssl.SSLContext, path: str, body: bytes, connections: int, requests: int
) -> tuple[float, list[float]]:
    """The seconds of the whole run, and of each request. Raises RuntimeError for an answer that does not allow."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_load(port, context, _request(path, body), connections, requests))


def _request(path: str, body: bytes) -> bytes:
    """The request, as kube-apiserver's client sends it."""
    lines = [
        f"POST {path}?timeout=5s HTTP/1.1",
        f"Host: {HOST}",
        "User-Agent: kube-apiserver-admission",
        f"Content-Length: {len(body)}",
        "Accept: application/json, */*",
        "Content-Type: application/json",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _load(
    port: int, context: ssl.SSLContext, request: bytes, connections: int, requests: int
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

    callers = []
    for _ in range(connections):
        transport, caller = await loop.create_connection(
            lambda: _Caller(request, answered, failed), HOST, port, ssl=context
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
        self, request: bytes, answered: Callable[[float], bool], failed: Callable[[str], None]
    ) -> None:
        """`answered` gets the seconds that a request took, and returns whether to send another one."""
        self._request, self._answered, self._failed = request, answered, failed
        self.transport: asyncio.WriteTransport | None = None
        self._received = b""
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
        head, end, body = self._received.partition(END_OF_HEADERS)
        if not end:
            return
        at = head.index(LENGTH) + len(LENGTH)
        if len(body) < int(head[at : head.find(b"\r\n", at)]):
            return
        seconds = time.perf_counter() - self._sent
        self._received = b""
        if ALLOWED not in body:
            self._failed(f"not allowed: {(head + end + body)[:500]!r}")
        elif self._answered(seconds):
            self.send()
