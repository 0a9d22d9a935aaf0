"""The proxy that disturbs connections."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hack.controlplane.ports import Ports
from hack.controlplane.processes import wait_until
from hack.controlplane.proxy import HOST, Proxy
from tests.kit.clock import PATIENCE_SECONDS

SILENCE_SECONDS = 0.3


class Named(socketserver.ThreadingTCPServer):
    """Answers each line with its name and the line."""

    daemon_threads = True
    name = b""


class Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Named)
        for line in self.rfile:
            self.wfile.write(self.server.name + line)


@contextmanager
def behind(*names: bytes) -> Iterator[Proxy]:
    """A proxy before servers with these names."""
    ports, servers = Ports(), []
    for name in names:
        server = Named((HOST, 0), Answers)
        server.name = name
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
    try:
        with Proxy(ports.take(), lambda: [each.server_address[1] for each in servers]) as proxy:
            yield proxy
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        ports.release()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=PATIENCE_SECONDS)


def asked(connection: socket.socket) -> bytes:
    connection.sendall(b"x\n")
    return connection.recv(100)


def ask_for_ever(connection: socket.socket) -> None:
    while True:
        asked(connection)


def connect_and_ask_for_ever(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        ask_for_ever(connection)


def test_each_new_connection_goes_to_the_next_target() -> None:
    with behind(b"a", b"b") as proxy:
        answers = set()
        for _ in range(2):
            with connect(proxy) as connection:
                answers.add(asked(connection))
        assert answers == {b"ax\n", b"bx\n"}


def test_open_connections_can_be_reset() -> None:
    with behind(b"a") as proxy, connect(proxy) as connection:
        assert asked(connection) == b"ax\n"
        proxy.cut()
        with pytest.raises(ConnectionError):
            ask_for_ever(connection)


def test_new_connections_are_reset() -> None:
    with behind(b"a") as proxy:
        proxy.disturb("Reset")
        with pytest.raises(ConnectionError):
            connect_and_ask_for_ever(proxy)
        proxy.disturb("Pass")
        with connect(proxy) as connection:
            assert asked(connection) == b"ax\n"


@pytest.mark.parametrize("mode", ["BlackHole", "HalfOpen"])
def test_no_answer_comes(mode: str) -> None:
    with behind(b"a") as proxy, connect(proxy) as connection:
        assert asked(connection) == b"ax\n"
        proxy.disturb(mode)  # type: ignore[arg-type]  # one of Mode
        connection.settimeout(SILENCE_SECONDS)
        with pytest.raises(TimeoutError):
            asked(connection)


def test_without_a_target_a_connection_is_reset() -> None:
    with behind() as proxy, pytest.raises(ConnectionError):
        connect_and_ask_for_ever(proxy)


def test_nothing_is_left_of_connections_that_were_reset_in_a_black_hole() -> None:
    with behind(b"a") as proxy:
        for _ in range(20):
            connection = connect(proxy)
            assert asked(connection) == b"ax\n"
            proxy.disturb("BlackHole")
            connection.sendall(b"y\n")
            connection.close()
            proxy.cut()
            proxy.disturb("Pass")
        proxy.disturb("Reset")
        wait_until(lambda: not proxy._writers, PATIENCE_SECONDS, "connections are left".__str__)


def test_a_proxy_that_is_closed_with_open_connections_reports_no_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with behind(b"a") as proxy, connect(proxy) as connection:
        assert asked(connection) == b"ax\n"
        proxy.close()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
