"""A connection that fails closes its descriptor once."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
import sys

import pytest

from cli.serve.loops import loop_factory, loop_name

ATTEMPTS = 20
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: a socket that is closed resets its connection."""


def reset_by(server: socket.socket) -> socket.socket:
    """A connection that the server has reset."""
    sock = socket.create_connection(server.getsockname())
    sock.setblocking(False)
    peer, _ = server.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    peer.close()
    return sock


async def attempts(server: socket.socket) -> None:
    """After each attempt somebody else gets its descriptor, and keeps it."""
    loop, context = asyncio.get_running_loop(), ssl.create_default_context()
    for _ in range(ATTEMPTS):
        sock = reset_by(server)
        with pytest.raises(ConnectionError):
            await loop.create_connection(
                asyncio.Protocol, sock=sock, ssl=context, server_hostname="localhost"
            )
        await asyncio.sleep(0.01)
        assert sock.fileno() == -1, "the socket would close what has its descriptor now"
        ends = os.pipe()
        del sock
        for each in ends:
            os.fstat(each)
            os.close(each)


def test_a_connection_that_is_reset_while_it_is_made_closes_no_other_one() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        runner.run(attempts(server))


def test_the_name_says_which_loop_it_is() -> None:
    assert loop_name().startswith("uvloop ")


def test_the_name_says_that_uvloop_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert (loop_factory(), loop_name()) == (asyncio.new_event_loop, "asyncio")
