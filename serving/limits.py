"""Limits for a request before its handler starts: the size of its body, the time to arrive, how many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from serving.connections import begin
from serving.sections import GuardedListener

__all__ = ["Limits", "Refuse"]

Refuse = Callable[[int, str], web.Response]
"""Makes the answer for a refused request from (HTTP status, reason), and counts it."""


class Limits:
    """The limits of one listener."""

    def __init__(self, listener: GuardedListener, refuse: Refuse) -> None:
        self._bytes = listener.max_body_bytes
        self._seconds = listener.read_timeout_seconds
        self._slots = listener.max_concurrent_requests
        self._refuse = refuse

    async def body(self, request: web.Request) -> bytes | web.Response:
        """The whole body, or the answer that refuses the request.

        The application's `client_max_size` must equal the listener's `max_body_bytes`.
        """
        begin(request)
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return self._refuse(415, "compressed bodies are not accepted")
        if (request.content_length or 0) > self._bytes:
            return self._too_large()
        if self._slots <= 0:
            return self._refuse(503, "too many requests at once")
        self._slots -= 1
        try:
            async with asyncio.timeout(self._seconds):
                return await request.read()
        except TimeoutError:
            return self._refuse(408, f"the body did not arrive within {self._seconds} s")
        except ConnectionResetError:
            return self._refuse(400, "the connection broke before the body arrived")
        except web.HTTPRequestEntityTooLarge:
            return self._too_large()
        finally:
            self._slots += 1

    def _too_large(self) -> web.Response:
        return self._refuse(413, f"the body is larger than {self._bytes} bytes")
