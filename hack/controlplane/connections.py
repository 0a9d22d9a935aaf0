"""Connections to an API server: by TCP, with TLS or without, and by a Unix socket."""

from __future__ import annotations

import http.client
import socket
import ssl
from urllib.parse import urlsplit

__all__ = ["connect"]


def connect(base: str, timeout: float, context: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    """A connection that is opened by its first request. `timeout`: seconds that one read or write may take.

    `base` is an http(s) URL, or `unix:PATH`. Raises ValueError for another one.
    """
    scheme, _, path = base.partition(":")
    if scheme == "unix":
        return _UnixConnection(path, timeout)
    url = urlsplit(base)
    if url.hostname is None:
        raise ValueError(f"{base} is not a URL")
    if scheme == "https":
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
