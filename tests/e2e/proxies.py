"""An HTTP proxy that tunnels to whatever host it is asked for, and remembers whom."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["tunnel"]


@contextmanager
def tunnel() -> Iterator[tuple[str, list[str]]]:
    """The URL of a proxy on loopback, and the hosts to which it was asked to tunnel."""
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            method, target, _ = self.rfile.readline().decode().split(" ", 2)
            while self.rfile.readline().strip():
                pass
            assert method == "CONNECT"
            asked.append(target)
            host, _, port = target.rpartition(":")
            with socket.create_connection((host, int(port))) as there:
                self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pump, args=(there, self.connection))
                back.start()
                _pump(self.connection, there)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until one side has ended."""
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
