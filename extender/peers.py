"""The leader's side of a replica that does not lead: calls are passed on to the leader, once, and for a short time.

Whatever goes wrong on the way, the caller gets an answer of this replica's own in time. See docs/decisions/0038.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, Protocol

import aiohttp
import structlog

from api.clock import Clock
from extender.configuration import PeersConfiguration
from extender.metrics import PASSED_ON
from extender.wire import Verb
from kube.descriptors import set_aside

__all__ = ["PASSED_ON_HEADER", "TURNED_DOWN_PATH", "Breaker", "Peers"]

log = structlog.get_logger(__name__)

PASSED_ON_HEADER: Final = "Reprieve-Passed-On"
"""A call with this header is answered by whoever gets it."""
TURNED_DOWN_PATH: Final = "/v1/turned-down"
"""The leader takes notices here: other replicas name the pods that they have turned down."""
REST_SECONDS: Final = 2.0
"""How long a leader that did not answer is left alone."""
NOTICE_SECONDS: Final = 1.0
"""The time between two notices of the pods that this replica has turned down."""
NOTICE_LIMIT_SECONDS: Final = 2.0
KEEPALIVE_SECONDS: Final = 60.0
"""Less than the listener keeps an idle connection."""


class Breaker:
    """Keeps calls from a leader that does not answer: each would take the whole time that a call has."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._address, self._until = "", float("-inf")

    def allows(self, address: str) -> bool:
        """Whether the leader at this address may be called now. After a failure that is one call, and then a rest."""
        if address != self._address:
            self._address, self._until = address, float("-inf")
        now = self._clock.monotonic()
        if now < self._until:
            return False
        if self._until > float("-inf"):
            self._until = now + REST_SECONDS
        return True

    def answered(self, address: str) -> None:
        """It has answered."""
        if address == self._address:
            self._until = float("-inf")

    def failed(self, address: str) -> None:
        """It has not."""
        if address == self._address:
            self._until = self._clock.monotonic() + REST_SECONDS


class Notices(Protocol):
    """The pods that this replica has turned down, and that no leader knows yet."""

    def take(self) -> bytes | None:
        """The body of a notice; None if there is nobody."""

    def put_back(self, notice: bytes) -> None:
        """It has not reached the leader."""


class Peers:
    """Calls of the replica that leads."""

    def __init__(
        self,
        configuration: PeersConfiguration,
        leader: Callable[[], str],
        notices: Notices,
        clock: Clock,
        context: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """`leader`: see `extender.service.Election`. `context`: for TLS with it; None for plain HTTP."""
        self._configuration, self._leader, self._notices = configuration, leader, notices
        self._context = context
        self._breaker = Breaker(clock)
        self._seconds: dict[Verb, float] = {
            "filter": configuration.filter_seconds,
            "preempt": configuration.preempt_seconds,
        }
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Connections are kept while the context lasts. At its end the leader gets a last notice."""
        connector = aiohttp.TCPConnector(keepalive_timeout=KEEPALIVE_SECONDS)
        async with aiohttp.ClientSession(connector=connector) as self._session:
            try:
                yield
                await self._tell()
            finally:
                self._session = None

    async def pass_on(self, verb: Verb, body: bytes) -> bytes | None:
        """The leader's answer to the scheduler's call. None if the leader does not answer in time: then we answer."""
        address = self._leader()
        if not address:
            result, answer = "nobody", None
        elif not self._breaker.allows(address):
            result, answer = "skipped", None
        else:
            answer = await self._ask(address, f"/v1/{verb}", body, self._seconds[verb])
            result = "answered" if answer is not None else "failed"
        PASSED_ON.labels(verb, result).inc()
        return answer

    async def tell(self) -> None:
        """Name the pods that this replica has turned down, until cancelled. Only the leader can bring them back."""
        while True:
            await asyncio.sleep(NOTICE_SECONDS)
            await self._tell()

    async def _tell(self) -> None:
        address = self._leader()
        notice = self._notices.take() if address else None
        if notice is None:
            return
        answer = None
        if self._breaker.allows(address):
            answer = await self._ask(address, TURNED_DOWN_PATH, notice, NOTICE_LIMIT_SECONDS)
        if answer is None:
            self._notices.put_back(notice)

    async def _ask(self, address: str, path: str, body: bytes, seconds: float) -> bytes | None:
        try:
            async with asyncio.timeout(seconds):
                status, answer = await self._post(address, path, body)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError, RuntimeError) as error:
            if isinstance(error, RuntimeError):
                set_aside(error)
            self._breaker.failed(address)
            log.warning(
                "the leader does not answer",
                address=address,
                path=path,
                error=f"{type(error).__name__}: {error}",
            )
            return None
        self._breaker.answered(address)
        return answer if status == HTTPStatus.OK else None

    async def _post(self, address: str, path: str, body: bytes) -> tuple[int, bytes]:
        """A kept connection may have ended unseen, so there is a second attempt."""
        if self._session is None:
            raise OSError("this replica does not listen")
        scheme = "http" if self._context is None else "https"
        for attempt in (1, 2):
            try:
                async with self._session.post(
                    f"{scheme}://{address}{path}",
                    data=body,
                    headers={PASSED_ON_HEADER: "true", "Content-Type": "application/json"},
                    ssl=self._context() if self._context is not None else False,
                    server_hostname=self._configuration.server_name if self._context is not None else None,
                    allow_redirects=False,
                ) as response:
                    return response.status, await response.read()
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if attempt == 2:
                    raise
        raise AssertionError("there are two attempts")
