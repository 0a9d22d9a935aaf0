"""A client that sends many requests at once and decodes as little as possible."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

import aiohttp
import orjson

from hack.controlplane.access import access_of

__all__ = ["APPLY", "MERGE", "Api", "RefusedError"]

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json"
IN_FLIGHT: Final = 32
SECONDS: Final = 60.0
LINE_BYTES: Final = 2**21
"""An object in one event of a watch has at most 1.5 MiB."""
LATER: Final = frozenset({429, 500, 503, 504})
ATTEMPTS: Final = 20


class RefusedError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


class Api:
    """One API server."""

    def __init__(self, session: aiohttp.ClientSession, server: str, in_flight: int) -> None:
        self._session, self._server = session, server.rstrip("/")
        self._free = asyncio.Semaphore(in_flight)
        self.sent: Counter[str] = Counter()
        """How many requests succeeded, by what they were for."""
        self.refused: Counter[str] = Counter()
        """How many were refused."""

    @classmethod
    @asynccontextmanager
    async def connect(cls, kubeconfig: Path, *, in_flight: int = IN_FLIGHT) -> AsyncIterator[Self]:
        """A client that has at most `in_flight` requests on their way. Raises ValueError (see `access_of`)."""
        access = access_of(kubeconfig)
        headers = {"Authorization": f"Bearer {access.token}"} if access.token else {}
        connector = aiohttp.TCPConnector(ssl=access.context, limit=0)
        async with aiohttp.ClientSession(
            connector=connector, headers=headers, read_bufsize=LINE_BYTES
        ) as session:
            yield cls(session, access.server, in_flight)

    async def send(
        self, what: str, method: str, path: str, body: object = None, content_type: str = JSON
    ) -> bytes:
        """The answer. Repeats what the API server puts off. Raises RefusedError."""
        data = orjson.dumps(body) if body is not None else None
        headers = {"Content-Type": content_type}
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        attempts = 0
        while True:
            attempts += 1
            async with (
                self._free,
                self._session.request(
                    method, self._server + path, data=data, headers=headers, timeout=timeout
                ) as answer,
            ):
                content = await answer.read()
                if answer.status < 300:
                    self.sent[what] += 1
                    return content
            if answer.status not in LATER or attempts == ATTEMPTS:
                self.refused[what] += 1
                raise RefusedError(answer.status, content.decode(errors="replace"))
            await asyncio.sleep(float(answer.headers.get("Retry-After", "0.5")))

    async def lines(self, path: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The lines of a watch, until it ends. Raises RefusedError."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SECONDS * 10)
        async with self._session.get(self._server + path, params=query, timeout=timeout) as answer:
            if answer.status >= 300:
                raise RefusedError(answer.status, await answer.text())
            async for line in answer.content:
                yield line
