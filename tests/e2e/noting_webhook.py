"""A webhook that allows everything, and notes who was asked about which request."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from hack.controlplane.client import Json
from hack.controlplane.components import HOST
from hack.controlplane.pki import Authority

__all__ = ["Call", "NotingWebhook", "noting"]


class Call(NamedTuple):
    """A request that a webhook was asked about."""

    hook: str
    """The path of its URL."""
    operation: str
    resource: str
    """With the subresource."""
    namespace: str
    name: str


class NotingWebhook:
    """What is asked of a server at loopback."""

    def __init__(self, url: str, authority: Path) -> None:
        self._url, self._authority = url, authority
        self.refuses: set[str] = set()
        """Hooks that refuse everything."""
        self._calls: set[Call] = set()
        self._lock = threading.Lock()

    def client_config(self, hook: str) -> Json:
        """For the configuration of a webhook."""
        bundle = base64.b64encode(self._authority.read_bytes()).decode()
        return {"url": f"{self._url}/{hook}", "caBundle": bundle}

    def take(self) -> set[Call]:
        """The calls since the last time."""
        with self._lock:
            calls, self._calls = self._calls, set()
        return calls

    def note(self, hook: str, review: Json) -> Json:
        """Answer a review."""
        asked = review["request"]
        resource = "/".join(filter(None, (asked["resource"]["resource"], asked.get("subResource"))))
        call = Call(hook, asked["operation"], resource, asked.get("namespace", ""), asked.get("name", ""))
        with self._lock:
            self._calls.add(call)
        return {**review, "response": {"uid": asked["uid"], "allowed": hook not in self.refuses}}


@contextmanager
def noting(folder: Path) -> Iterator[NotingWebhook]:
    """Serve while the context lasts. `folder`: for certificates."""
    authority = Authority(folder, "noting webhook")
    pair = authority.server("webhook", [HOST])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = json.dumps(webhook.note(self.path.partition("?")[0].strip("/"), review)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        webhook = NotingWebhook(f"https://{HOST}:{server.server_port}", authority.pair.certificate)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield webhook
        finally:
            server.shutdown()
            thread.join()
