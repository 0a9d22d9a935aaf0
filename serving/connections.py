"""The connections of a listener: how many there may be, and how long one may keep us waiting.

aiohttp bounds the time until the next request is there whole, by its keep-alive, which has to be long; it does not
bound how long a request's head may take, how long an answer may be left unread, nor the number of connections.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final, cast

from aiohttp import web

__all__ = ["Connections", "begin"]

TICKS: Final = 4
"""A wait is over after so many looks at it. They are counted, since a clock goes on while this process does not."""
DRAIN_LOOK_SECONDS: Final = 0.05
QUIET_LOOKS: Final = 10
"""Of a listener that ends: without a request for so many looks."""
TOO_MANY: Final = b"too many connections\n"
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(TOO_MANY), TOO_MANY)
)


class Connections:
    """Those of one listener; calling it makes the protocol of the next one."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int, seconds: float) -> None:
        """`make`: aiohttp's protocol; `seconds`: for the head of a request, and for the reading of an answer."""
        self._make, self._most, self._seconds = make, most, seconds
        self.open: set[Connection] = set()
        self.requests = 0
        """That have begun."""
        self._ends = False

    def __call__(self) -> asyncio.Protocol:
        """For `create_server`."""
        return Connection(self, self._make())

    @property
    def are_too_many(self) -> bool:
        """Whether there may be no other."""
        return len(self.open) >= self._most

    async def watch(self) -> None:
        """Break those that keep us waiting; never returns."""
        while True:
            await asyncio.sleep(self._seconds / TICKS)
            for each in [each for each in self.open if each.is_late()]:
                each.abort()

    async def answered(self, request: web.Request, response: web.StreamResponse) -> None:
        """Signal handler, for `on_response_prepare`."""
        connection = _of(request)
        if connection is not None:
            connection.state = IDLE
        if self._ends:
            response.force_close()
            response.headers["Connection"] = "close"  # aiohttp has made its headers already

    async def drain(self, seconds: float) -> None:
        """Close each connection with its next answer; return when no requests come, or after some seconds.

        To close one that is idle would lose the request that may be on its way.
        """
        self._ends = True
        quiet, before = 0, self.requests
        for _ in range(math.ceil(seconds / DRAIN_LOOK_SECONDS)):
            if not self.open or quiet >= QUIET_LOOKS:
                return
            await asyncio.sleep(DRAIN_LOOK_SECONDS)
            is_quiet = self.requests == before and all(each.state is IDLE for each in self.open)
            quiet, before = quiet + 1 if is_quiet else 0, self.requests


IDLE: Final = "idle"
"""Nothing of a request has come, or all has, and the answer is on its way."""
HEAD: Final = "head"
"""A request has begun."""
BUSY: Final = "busy"
"""Its head is there; its body is waited for by `Limits`."""


class Connection(asyncio.Protocol):
    """aiohttp's protocol, watched."""

    __slots__ = ("_all", "_inner", "_transport", "_waited", "_writing", "state")

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._all, self._inner = connections, inner
        self._transport: asyncio.Transport | None = None
        self._writing = False
        self._waited = 0
        self.state = IDLE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refused, if there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        if self._all.are_too_many:
            self._transport.write(REFUSAL)
            self._transport.close()
            self._transport = None
            return
        self._all.open.add(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """The first of a request begins the wait."""
        if self._transport is None:
            return
        if self.state is IDLE:
            self.state, self._waited = HEAD, 0
            self._all.requests += 1
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Passed on."""
        return self._inner.eof_received() if self._transport is not None else None

    def connection_lost(self, error: Exception | None) -> None:
        """Passed on."""
        self._all.open.discard(self)
        if self._transport is not None:
            self._transport = None
            self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        """The other side does not read; the wait begins."""
        self._writing, self._waited = True, 0
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It has read."""
        self._writing = False
        self._inner.resume_writing()

    def is_late(self) -> bool:
        """One more look: whether it was one too many."""
        if self.state is not HEAD and not self._writing:
            return False
        self._waited += 1
        return self._waited > TICKS

    def abort(self) -> None:
        """At once, whatever is still to be sent."""
        if self._transport is not None:
            self._transport.abort()


def begin(request: web.Request) -> None:
    """The head of a request is there."""
    connection = _of(request)
    if connection is not None:
        connection.state = BUSY


def _of(request: web.Request) -> Connection | None:
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, Connection) else None
