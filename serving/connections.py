"""The connections of a listener: a limit for their number, and for how long one may keep us waiting.

Before a handler runs, aiohttp has only one limit: its keep-alive, which must be long. It does not limit the time for
the head of a request, the time for the client to read an answer, or the number of connections.

See docs/decisions/0021.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, cast

from aiohttp import web

__all__ = ["Connections", "begin", "lost"]

LOOKS: Final = 4
"""A wait is too long after this many looks at it. Looks are counted because a clock runs on while the process is
paused."""
DRAIN_LOOK_SECONDS: Final = 0.05
QUIET_LOOKS: Final = 10
"""A listener that ends is drained after this many looks in a row without a request."""
TOO_MANY: Final = b"too many connections\n"
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(TOO_MANY), TOO_MANY)
)


class State(Enum):
    """What a connection waits for."""

    IDLE = auto()
    """No part of a request has come, or the answer to the last one is on its way."""
    HEAD = auto()
    """The first bytes of a request have come, but not its whole head."""
    BUSY = auto()
    """The head of the request has come. `Limits` limits the wait for its body."""


class Connections:
    """The connections of one listener. A call makes the protocol of a new connection."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int, seconds: float) -> None:
        """`make` makes aiohttp's protocol. `most` is the maximum number of connections.

        `seconds` is the time for the head of a request, and the time for the client to read an answer.
        """
        self._make, self._most, self._seconds = make, most, seconds
        self.open: set[Connection] = set()
        self._is_ending = False
        self._quiet_looks = 0

    def renew(self) -> None:
        """Close each connection that is open now with its next answer. Those that come later stay.

        It does not close an idle connection, because a request may be on its way.
        """
        for each in self.open:
            each.is_old = True

    def __call__(self) -> asyncio.Protocol:
        """Make the protocol of a new connection: the protocol factory for `create_server`."""
        return Connection(self, self._make())

    @property
    def is_full(self) -> bool:
        """Whether the listener has its maximum number of connections."""
        return len(self.open) >= self._most

    def begun(self) -> None:
        """Note that a request has begun on a connection."""
        self._quiet_looks = 0

    async def watch(self) -> None:
        """Break the connections that keep us waiting too long. Never returns."""
        while True:
            await asyncio.sleep(self._seconds / LOOKS)
            for each in [each for each in self.open if each.is_late()]:
                each.abort()

    async def answered(self, request: web.Request, response: web.StreamResponse) -> None:
        """Note that an answer begins. A signal handler for `on_response_prepare`."""
        connection = _of(request)
        if connection is not None:
            connection.state = State.IDLE
        if self._is_ending or (connection is not None and connection.is_old):
            response.force_close()
            response.headers["Connection"] = "close"  # aiohttp has made its headers already

    async def drain(self, seconds: float) -> None:
        """Close each connection with its next answer. Returns when no more requests come, or after `seconds`.

        It does not close an idle connection, because a request may be on its way.
        """
        self._is_ending = True
        self._quiet_looks = 0
        for _ in range(math.ceil(seconds / DRAIN_LOOK_SECONDS)):
            if not self.open or self._quiet_looks >= QUIET_LOOKS:
                return
            await asyncio.sleep(DRAIN_LOOK_SECONDS)
            is_quiet = all(each.state is State.IDLE for each in self.open)
            self._quiet_looks = self._quiet_looks + 1 if is_quiet else 0


class Connection(asyncio.Protocol):
    """A wrapper of aiohttp's protocol that measures waits."""

    __slots__ = ("_all", "_inner", "_is_unread", "_looks", "_transport", "is_old", "lost", "state")

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._all, self._inner = connections, inner
        self._transport: asyncio.Transport | None = None
        """None before the connection is made, after it is lost, and if it is refused."""
        self._is_unread = False
        """True if the buffers are full because the other side does not read."""
        self._looks = 0
        """The number of looks since the wait began."""
        self.state = State.IDLE
        self.is_old = False
        """Its next answer closes it."""
        self.lost = asyncio.Event()
        """Set when it is lost."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or answer 503 if there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        if self._all.is_full:
            self._transport.write(REFUSAL)
            self._transport.close()
            self._transport = None
            return
        self._all.open.add(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass the data on. The first bytes of a request start the wait for its head."""
        if self._transport is None:
            return
        if self.state is State.IDLE:
            self.state, self._looks = State.HEAD, 0
            self._all.begun()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on to aiohttp, unless the connection was refused."""
        return self._inner.eof_received() if self._transport is not None else None

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection, and pass it on to aiohttp unless it was refused."""
        self._all.open.discard(self)
        self.lost.set()
        if self._transport is not None:
            self._transport = None
            self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        """The other side does not read. The wait for it starts now."""
        self._is_unread, self._looks = True, 0
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The other side has read. The wait is over."""
        self._is_unread = False
        self._inner.resume_writing()

    def is_late(self) -> bool:
        """Count one more look. Returns whether the wait is too long."""
        if self.state is not State.HEAD and not self._is_unread:
            return False
        self._looks += 1
        return self._looks > LOOKS

    def abort(self) -> None:
        """Close the connection at once, even if data waits to be sent."""
        if self._transport is not None:
            self._transport.abort()


def begin(request: web.Request) -> None:
    """Note that the head of the request has come."""
    connection = _of(request)
    if connection is not None:
        connection.state = State.BUSY


def lost(request: web.Request) -> asyncio.Event:
    """Set when the connection of the request is lost: its handler may wait, and write nothing that would notice it."""
    connection = _of(request)
    if connection is None:
        gone = asyncio.Event()
        gone.set()
        return gone
    return connection.lost


def _of(request: web.Request) -> Connection | None:
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, Connection) else None
