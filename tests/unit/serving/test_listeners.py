"""Connections: who is kept waiting for how long, how many there may be, and how they end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hack.controlplane.pki import Authority
from serving import listeners
from serving.limits import Limits
from serving.listeners import CONNECTIONS, serving
from serving.sections import GuardedListener
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.waiting import beside

LOOPBACK = "127.0.0.1"
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
REQUEST = HEAD + b"\r\n{}"
LARGE = b"." * (16 << 20)
"""More than the kernel keeps for a client that does not read."""


@asynccontextmanager
async def listening(
    answer: bytes = b"{}",
    takes: float = 0,
    drain_seconds: float = 0,
    tls: ssl.SSLContext | None = None,
    apps: list[web.Application] | None = None,
    **settings: Any,
) -> AsyncIterator[int]:
    """A listener that answers POST; yields its port. `apps` gets its application."""
    listener = GuardedListener(bind_address=LOOPBACK, port=0, **settings)
    limits = Limits(listener, lambda status, text: web.Response(status=status, text=text))

    async def handle(request: web.Request) -> web.Response:
        body = await limits.body(request)
        if isinstance(body, web.Response):
            return body
        await asyncio.sleep(takes)
        return web.Response(body=answer)

    app = web.Application()
    app.router.add_post("/", handle)
    if apps is not None:
        apps.append(app)
    async with serving(app, listener, tls, drain_seconds=drain_seconds) as port:
        yield port


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and head of the next answer, its body read."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
    length = head.lower().partition(b"content-length:")[2].split()[0]
    await asyncio.wait_for(reader.readexactly(int(length)), PATIENCE_SECONDS)
    return int(head.split()[1]), head


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Waits until the other side closes; false if it says something."""
    try:
        return await asyncio.wait_for(reader.read(1), PATIENCE_SECONDS) == b""
    except ConnectionError:
        return True


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One byte after the other, for ever."""
    with suppress(ConnectionError):
        while True:
            for byte in data:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
async def test_a_head_that_never_ends_is_not_waited_for(before: int) -> None:
    async with listening(read_timeout_seconds=0.2) as port, connected(port) as (reader, writer):
        for _ in range(before):
            writer.write(REQUEST)
            assert (await answer_of(reader))[0] == 200
        writer.write(HEAD)
        async with beside(drip(writer, b"X: 1\r\n")):
            assert await is_closed(reader)


async def test_what_takes_long_once_the_body_is_there_is_waited_for() -> None:
    async with listening(takes=1.0, read_timeout_seconds=0.1) as port, connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(REQUEST)
            assert (await answer_of(reader))[0] == 200


async def test_a_connection_without_a_request_stays() -> None:
    """Go keeps some that it has not used yet."""
    async with listening(read_timeout_seconds=0.1) as port, connected(port) as (reader, writer):
        await asyncio.sleep(1.0)
        writer.write(REQUEST)
        assert (await answer_of(reader))[0] == 200


async def test_an_answer_that_is_not_read_is_not_waited_for() -> None:
    for pause in (0.5, 1, 2, 4, 8):  # the machine may be slow
        async with listening(LARGE, read_timeout_seconds=0.1) as port, connected(port) as (reader, writer):
            writer.write(REQUEST)
            await asyncio.sleep(pause)
            try:
                await answer_of(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
    pytest.fail("the whole answer was kept for whoever did not read it")


async def test_a_large_answer_that_is_read_arrives() -> None:
    async with (
        listening(LARGE, read_timeout_seconds=PATIENCE_SECONDS) as port,
        connected(port) as (reader, writer),
    ):
        writer.write(REQUEST)
        assert (await answer_of(reader))[0] == 200


async def test_more_connections_than_allowed_are_refused_at_once() -> None:
    async with listening(max_connections=2) as port:
        async with connected(port) as (reader, writer), connected(port):
            writer.write(REQUEST)
            assert (await answer_of(reader))[0] == 200
            async with connected(port) as (refused, other):
                other.write(REQUEST)
                assert (await answer_of(refused))[0] == 503
                assert await is_closed(refused)
            writer.write(REQUEST)
            assert (await answer_of(reader))[0] == 200
        status = 503
        while status == 503:  # until the others are known to be gone
            async with connected(port) as (reader, writer):
                writer.write(REQUEST)
                status, _ = await answer_of(reader)
        assert status == 200


async def test_a_handshake_that_never_comes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "HANDSHAKE_SECONDS", 0.2)
    pair = Authority(tmp_path, "ca").server("server", [LOOPBACK])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    async with listening(tls=tls) as port, connected(port) as (reader, _):
        assert await is_closed(reader)


class Client:
    """Sends one request after the other on its connection, until an answer says that it was the last."""

    def __init__(self, port: int, pause: float) -> None:
        self._port, self._pause = port, pause
        self.answered = 0

    async def run(self) -> None:
        """Raises if the connection ends without a word."""
        async with connected(self._port) as (reader, writer):
            await self._requests(reader, writer)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        last = False
        while not last:
            writer.write(REQUEST)
            status, head = await answer_of(reader)
            assert status == 200
            last = b"connection: close" in head.lower()
            self.answered += 1
            await asyncio.sleep(self._pause)


async def test_no_request_is_lost_on_a_connection_when_the_listener_ends() -> None:
    """Some clients are busy, some pause longer than a look takes; at the end none has a request without an answer."""
    clients: list[Client] = []
    async with listening(takes=0.005, drain_seconds=PATIENCE_SECONDS) as port:
        clients = [Client(port, pause) for pause in (0.0, 0.01, 0.1, 0.2) for _ in range(3)]
        tasks = [asyncio.create_task(each.run()) for each in clients]
        await asyncio.sleep(0.5)
    await asyncio.gather(*tasks)
    assert all(each.answered for each in clients)


async def test_a_listener_without_requests_ends_although_there_are_connections() -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with listening(drain_seconds=600) as port:
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(REQUEST)
            assert (await answer_of(reader))[0] == 200
        assert await is_closed(reader)
        writer.close()


async def test_connections_are_renewed_with_their_next_answer_and_no_request_is_lost() -> None:
    apps: list[web.Application] = []
    async with listening(apps=apps) as port, connected(port) as (reader, writer):
        writer.write(REQUEST)
        assert (await answer_of(reader))[0] == 200
        apps[0][CONNECTIONS].renew()
        async with connected(port) as (later, to_later):
            writer.write(REQUEST)
            status, head = await answer_of(reader)
            assert (status, b"connection: close" in head.lower()) == (200, True)
            assert await is_closed(reader)
            to_later.write(REQUEST)
            status, head = await answer_of(later)
            assert (status, b"connection: close" in head.lower()) == (200, False), "it came after"
