"""An extender that is not reprieve: the caller answers for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

__all__ = ["answering"]

LOOPBACK: Final = "127.0.0.1"


@contextmanager
def answering(answer: Callable[[str, bytes], Mapping[str, object] | None]) -> Iterator[str]:
    """Serve while the context lasts. Yields the URL.

    `answer` gets path and body of each POST, and gives the JSON. If it gives None, nothing is sent until the caller
    stops waiting.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            given = answer(self.path, body)
            if given is None:
                self.connection.recv(1)
                return
            said = json.dumps(given).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
