"""The client of a worker cluster. What the worker answers is never shown: errors have our words and the HTTP code.

It reads no configuration of its environment: no proxy, no netrc, no kubeconfig. It follows no redirects.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import aiohttp

from api.clock import Clock
from controllers.multikueue.clusters.addresses import AddressGuard, refusal_in
from controllers.multikueue.clusters.kubeconfigs import Access
from controllers.multikueue.clusters.reach import Promptness
from controllers.multikueue.clusters.tls import context_of
from kube.client import JSON, READ_BUFFER_BYTES, REQUEST_SECONDS, ApiClient, Pieces
from kube.errors import ApiError, LargeAnswerError, SilenceError
from kube.lines import MAX_LINE

__all__ = ["MOST_LISTED", "MOST_REQUESTS", "NO_DRY_RUN", "Line", "WorkerClient", "opened"]

MOST_REQUESTS: Final = 16
"""Requests to one cluster that are in flight at once. Watches do not count."""
MOST_BYTES: Final = MAX_LINE
"""Of an answer with one object, and of a line of a watch."""
MOST_LISTED: Final = 64 << 20
"""Bytes of a page of a list."""
UNSUPPORTED: Final = "does not support dry run"
"""How the answer of an API server ends that has a webhook with side effects (NewDryRunUnsupportedErr)."""
NO_DRY_RUN: Final = "a webhook there takes no dry run"
REASON: Final = re.compile("[A-Z][A-Za-z]{0,63}")
"""What reasons of API servers look like: AlreadyExists, NotFound, ..."""


class Line:
    """What several clients of one cluster share: the session, the kubeconfig, and how promptly it answers."""

    def __init__(self, session: aiohttp.ClientSession, access: Access, clock: Clock) -> None:
        self.session, self.access, self.clock = session, access, clock
        self.promptness = Promptness(clock)
        self.excess = ""
        """Which answer was too large; empty if none was. Lists and watches are judged by whoever follows them."""

    @property
    def is_prompt(self) -> bool:
        """Whether the cluster answers within a second lately."""
        return self.promptness.is_prompt

    def refuse(self, error: LargeAnswerError) -> None:
        """The cluster has answered with more than an API server does."""
        self.excess = error.message

    def use_token(self, token: str) -> None:
        """Use this token from the next request on. Watches go on."""
        self.access = replace(self.access, token=token)


class WorkerClient(ApiClient):
    """A client of a worker cluster. A request that fails raises ApiError."""

    def __init__(self, line: Line, cluster: str) -> None:
        """`cluster` names it in metrics."""
        super().__init__(
            line.session,
            line.access.server,
            credentials=self._authorize,
            server_hostname=line.access.tls_server_name or None,
            cluster=cluster,
            clock=line.clock,
        )
        self._line = line
        self._slots = asyncio.Semaphore(MOST_REQUESTS)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        seconds: float = REQUEST_SECONDS,
        most: int | None = None,
    ) -> bytes:
        """See `ApiClient`. `seconds` is the limit for the whole request, with the time that it waits for others."""
        loop = asyncio.get_running_loop()
        end, is_list = loop.time() + seconds, query is not None and "limit" in query
        try:
            async with asyncio.timeout_at(end):
                await self._slots.acquire()
        except TimeoutError:
            raise ApiError(0, "Busy", "too many requests to the cluster wait for an answer") from None
        left = max(0.001, end - loop.time())
        try:
            with self._judged(left):
                return await super().request(
                    method,
                    path,
                    query=query,
                    body=body,
                    content_type=content_type,
                    accept=accept,
                    seconds=left,
                    most=most or (MOST_LISTED if is_list else MOST_BYTES),
                )
        except LargeAnswerError as error:
            if not is_list:
                self._line.refuse(error)
            raise
        finally:
            self._slots.release()

    @contextmanager
    def _judged(self, seconds: float) -> Iterator[None]:
        """A request inside, with this limit, says how promptly the cluster answers. Its errors get our words."""
        promptness = self._line.promptness
        number = promptness.begins() if seconds <= REQUEST_SECONDS else None
        try:
            yield
        except ApiError as error:
            raise self._in_our_words(error) from None
        finally:
            if number is not None:
                promptness.ends(number)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], read_seconds: float
    ) -> AsyncIterator[Pieces]:
        """See `ApiClient`."""
        try:
            async with super().stream(path, query=query, read_seconds=read_seconds) as content:
                yield _Lines(content)
        except ApiError as error:
            raise self._in_our_words(error) from None

    async def _authorize(self, headers: dict[str, str]) -> None:
        if token := self._line.access.token:
            headers["Authorization"] = f"Bearer {token}"

    def _in_our_words(self, error: ApiError) -> ApiError:
        reason = error.reason if REASON.fullmatch(error.reason) else ""
        words = _phrase(error.status) if error.status else _fault(error.__cause__)
        if error.status == HTTPStatus.BAD_REQUEST and error.message.endswith(UNSUPPORTED):
            words = f"{words}: {NO_DRY_RUN}"
        if isinstance(error, LargeAnswerError):
            return error  # it has our words
        if isinstance(error, SilenceError):
            return SilenceError(0, reason, "no data came for too long")
        return ApiError(
            error.status,
            reason,
            words,
            error.retry_after,
            over_budget=error.over_budget,
            continue_=error.continue_,
        )


class _Lines:
    """Lines that are not too long, in pieces."""

    def __init__(self, content: Pieces) -> None:
        self._content = content

    async def iter_any(self) -> AsyncIterator[bytes]:
        """See `Pieces`."""
        size = 0
        async for piece in self._content.iter_any():
            end = piece.find(b"\n")  # of the line that has begun: a piece is smaller than the limit
            size += len(piece) if end < 0 else end
            if size > MOST_BYTES:
                raise LargeAnswerError(
                    0, "TooLarge", f"a line of a watch has more than {MOST_BYTES >> 20} MiB"
                )
            if end >= 0:
                size = len(piece) - piece.rfind(b"\n") - 1
            yield piece


@asynccontextmanager
async def opened(access: Access, guard: AddressGuard, clock: Clock) -> AsyncIterator[Line]:
    """What clients for a kubeconfig share. Raises KubeconfigError for a bad certificate."""
    connector = aiohttp.TCPConnector(ssl=context_of(access), socket_factory=guard.socket)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=READ_BUFFER_BYTES,
        trust_env=False,
    ) as session:
        yield Line(session, access, clock)


def _phrase(code: int) -> str:
    try:
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


def _fault(cause: BaseException | None) -> str:
    """Why there was no answer."""
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return "the server's certificate is not trusted"
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return "the server's name has no address"
    if isinstance(cause, aiohttp.ClientConnectorError) and (said := refusal_in(cause.os_error)):
        return said
    if isinstance(cause, aiohttp.ClientSSLError | ssl.SSLError):
        return "the TLS handshake failed"
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, aiohttp.ClientConnectorError):
        return "no connection to the server"
    return "the connection ended without a full answer"
