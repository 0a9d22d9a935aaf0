"""The connections of a listener: how many there may be, and how long one may keep us waiting.

aiohttp's only bound before a handler runs is its keep-alive, which has to be long. It bounds neither the time that a
request's head may take, nor the time that an answer may be left unread, nor the number of connections.

See docs/decisions/0021.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, cast

from aiohttp import web

__all__ = ["Connections", "begin"]

LOOKS: Final = 4
"""A wait is over after so many looks at it. They are counted, since a clock goes on while this process is paused."""
DRAIN_LOOK_SECONDS: Final = 0.05
QUIET_LOOKS: Final = 10
"""A listener that ends is drained once this many looks in a row have found no request."""
TOO_MANY: Final = b"too many connections\n"
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(TOO_MANY), TOO_MANY)
)


class State(Enum):
    """What a connection is about."""

    IDLE = auto()
    """Nothing of a request has come; or all has, and the answer is on its way."""
    HEAD = auto()
    """A request has begun."""
    BUSY = auto()
    """The request's head is there; `Limits` bounds the wait for its body."""


class Connections:
    """Those of one listener; calling it makes the protocol of the next one."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int, seconds: float) -> None:
        """`make`: aiohttp's protocol; `seconds`: for the head of a request, and for the reading of an answer."""
        self._make, self._most, self._seconds = make, most, seconds
        self.open: set[Connection] = set()
        self._is_ending = False
        self._quiet_looks = 0

    def __call__(self) -> asyncio.Protocol:
        """For `create_server`."""
        return Connection(self, self._make())

    @property
    def is_full(self) -> bool:
        """Whether there may be no more."""
        return len(self.open) >= self._most

    def begun(self) -> None:
        """A request has begun on one of them."""
        self._quiet_looks = 0

    async def watch(self) -> None:
        """Break those that keep us waiting; never returns."""
        while True:
            await asyncio.sleep(self._seconds / LOOKS)
            for each in [each for each in self.open if each.is_late()]:
                each.abort()

    async def answered(self, request: web.Request, response: web.StreamResponse) -> None:
        """Signal handler, for `on_response_prepare`."""
        connection = _of(request)
        if connection is not None:
            connection.state = State.IDLE
        if self._is_ending:
            response.force_close()
            response.headers["Connection"] = "close"  # aiohttp has made its headers already

    async def drain(self, seconds: float) -> None:
        """Close each connection with its next answer; return when no more requests come, or after `seconds`.

        To close one that is idle would lose the request that may be on its way.
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
    """aiohttp's protocol, watched."""

    __slots__ = ("_all", "_inner", "_is_unread", "_looks", "_transport", "state")

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._all, self._inner = connections, inner
        self._transport: asyncio.Transport | None = None
        """None before it is made, after it is lost, and if it is refused."""
        self._is_unread = False
        """What is written does not fit into the buffers."""
        self._looks = 0
        """Since the wait began."""
        self.state = State.IDLE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refused, if there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        if self._all.is_full:
            self._transport.write(REFUSAL)
            self._transport.close()
            self._transport = None
            return
        self._all.open.add(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """The first bytes of a request begin the wait for its head."""
        if self._transport is None:
            return
        if self.state is State.IDLE:
            self.state, self._looks = State.HEAD, 0
            self._all.begun()
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
        """The other side does not read; the wait for it begins."""
        self._is_unread, self._looks = True, 0
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The other side has read."""
        self._is_unread = False
        self._inner.resume_writing()

    def is_late(self) -> bool:
        """Count one more look; whether that was one too many."""
        if self.state is not State.HEAD and not self._is_unread:
            return False
        self._looks += 1
        return self._looks > LOOKS

    def abort(self) -> None:
        """Close it at once, whatever is still to be sent."""
        if self._transport is not None:
            self._transport.abort()


def begin(request: web.Request) -> None:
    """The head of a request is there."""
    connection = _of(request)
    if connection is not None:
        connection.state = State.BUSY


def _of(request: web.Request) -> Connection | None:
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol if isinstance(protocol, Connection) else None
