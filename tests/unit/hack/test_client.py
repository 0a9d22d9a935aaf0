"""The client of tests and demos asks a busy API server again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hack.controlplane.client import ApiError, Client


class Busy(ThreadingHTTPServer):
    """Answers 429 this number of times."""

    left = 2


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Busy)
        self.server.left -= 1
        body = b'{"message": "storage is (re)initializing"}'
        self.send_response(429 if self.server.left >= 0 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PATCH = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Busy]:
    monkeypatch.setattr("hack.controlplane.client.time.sleep", lambda _: None)
    with Busy(("127.0.0.1", 0), Answer) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_a_read_is_sent_again(server: Busy) -> None:
    client = Client(f"http://127.0.0.1:{server.server_port}")
    assert client.request("GET", "/x")["message"]
    assert server.left == -1
    client.close()


def test_a_read_is_not_sent_again_without_end(server: Busy) -> None:
    server.left = 1000
    client = Client(f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(ApiError, match="429: storage"):
        client.request("GET", "/x")
    client.close()


def test_a_write_is_not_sent_again(server: Busy) -> None:
    client = Client(f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(ApiError, match="429: storage"):
        client.request("PATCH", "/x", {})
    client.close()
