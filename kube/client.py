"""Raw requests to the API server: bytes in, bytes out. Every request has a time-out.

kubernetes-asyncio reads the configuration, opens the session and refreshes credentials. This module does not use its
models and its watch, because they cost a hundred times more, and its requests have no time-out. `connect` imports it,
because the import takes over a second.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from api.clock import SYSTEM_CLOCK, Clock
from kube.descriptors import set_aside
from kube.errors import ApiError, LargeAnswerError, SilenceError, error_of
from kube.metrics import API_REQUESTS

__all__ = [
    "APPLY_PATCH",
    "JSON",
    "JSON_PATCH",
    "METADATA",
    "METADATA_LIST",
    "MERGE_PATCH",
    "REQUEST_SECONDS",
    "STRATEGIC_MERGE_PATCH",
    "ApiClient",
    "Pieces",
    "environment_proxy",
    "get_or_none",
]

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
"""RFC 6902: a list of operations. The operation `test` can fail the whole patch (422)."""
METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""What to accept for a write whose answer is read for its metadata only: no spec and no status are encoded. A Status
comes as it is."""
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""What to accept for a list without specs and statuses."""
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
"""Server-side apply. JSON is YAML."""
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

CONNECT_SECONDS: Final = 5.0
REQUEST_SECONDS: Final = 15.0
RELOAD_SECONDS: Final = 10.0
"""The client reads refused credentials again, but waits at least this long between two reads."""

READ_BUFFER_BYTES: Final = 2**21
"""An event of a watch is one line, and etcd's limit for an object is 1.5 MiB."""

ERROR_BYTES: Final = 2**20
"""What is read of the body of an answer that is an error."""

UNAUTHORIZED: Final = 401
TOKEN: Final = re.compile(r"[!-~]{1,16384}")
"""A token as it may be in a header: RFC 6750 allows fewer characters, and API servers take any."""

Credentials = Callable[[dict[str, str]], Awaitable[None]]
"""Adds the authorization to a request's headers."""


class Pieces(Protocol):
    """The body of an answer as it arrives."""

    def iter_any(self) -> AsyncIterator[bytes]:
        """The pieces in their order. Raises ApiError."""


def environment_proxy(server: str) -> str | None:
    """The proxy for this URL, by the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). None if it names no proxy."""
    url = URL(server)
    if url.host is None or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)


class Getting(Protocol):
    """Something that reads from an API server, with credentials of its own."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Awaitable[bytes]:
        """See `ApiClient.request`."""


class ApiClient:
    """A client of one API server. A request that fails raises ApiError and no other exception."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        server: str,
        *,
        credentials: Credentials | None = None,
        reload: Callable[[], Awaitable[None]] | None = None,
        proxy: str | None = None,
        server_hostname: str | None = None,
        cluster: str = "",
        clock: Clock = SYSTEM_CLOCK,
        identified: str = "",
    ) -> None:
        """`identified`: what identifies the caller in each request of the session, whatever token the request has.
        Empty if nothing does."""
        self._clock = clock
        self.cluster = cluster
        """The cluster's name in metrics and logs. Empty if there is only one cluster."""
        self._session = session
        self.server = server.rstrip("/")
        """The URL of the API server, without a slash at the end."""
        self._credentials = credentials
        self._reload = reload
        self._reloaded = float("-inf")
        self._reloads = 0
        self._reloading = asyncio.Lock()
        self._proxy = proxy
        self._server_hostname = server_hostname
        self._identified = identified

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        kubeconfig: str | Path | None = None,
        *,
        context: str | None = None,
        user: str | None = None,
        groups: Sequence[str] = (),
        cluster: str = "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> AsyncIterator[ApiClient]:
        """A client for a context of a kubeconfig (by default its current one), or for the cluster of this process.

        `user` and `groups`: as whom the requests are made (impersonation); by default as whoever is authenticated.
        Raises ApiError (status 0) if the configuration is unusable.
        """
        async with _library(kubeconfig, context) as (api_client, load):

            async def credentials(headers: dict[str, str]) -> None:
                await api_client.update_params_for_auth(headers, [], ["BearerToken"])

            # The library's own session looks up ~/.netrc and the environment's proxies in two threads for each
            # request. What it finds in ~/.netrc would also fail requests that have a token.
            async with aiohttp.ClientSession(
                connector=api_client.rest_client.pool_manager.connector,
                connector_owner=False,
                read_bufsize=READ_BUFFER_BYTES,
                headers=_impersonating(user, groups),
                # Several users may ask over one session. What a proxy remembers of one of them is not for the others.
                cookie_jar=aiohttp.DummyCookieJar(),
            ) as session:
                configuration = api_client.configuration
                yield cls(
                    session,
                    configuration.host,
                    credentials=credentials,
                    reload=load,
                    proxy=configuration.proxy or environment_proxy(configuration.host),
                    server_hostname=configuration.tls_server_name,
                    cluster=cluster,
                    clock=clock,
                    identified=_identified(configuration, user),
                )

    def with_token(self, token: str) -> ApiClient:
        """A client that asks with somebody's token in place of our credentials, over the same session.

        Raises ApiError: with status 401 for what is no token, with status 0 if the session itself identifies the
        caller. The API server would take a client certificate, and not look at the token.
        """
        if self._identified:
            message = f"the session has {self._identified}, which would be asked in place of a token"
            raise ApiError(0, "Configuration", message)
        if not TOKEN.fullmatch(token):
            raise ApiError(UNAUTHORIZED, "Unauthorized", "this is no token")

        async def credentials(headers: dict[str, str]) -> None:
            headers["Authorization"] = f"Bearer {token}"

        return ApiClient(
            self._session,
            self.server,
            credentials=credentials,
            proxy=self._proxy,
            server_hostname=self._server_hostname,
            cluster=self.cluster,
            clock=self._clock,
        )

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
        """The body of a 2xx answer. `seconds` is the limit for the whole request, `most` for the bytes of the answer
        (None: there is no limit). Raises ApiError, which is a LargeAnswerError if the answer has more bytes.

        A GET is repeated once if its credentials are refused and have been read again since.
        """

        async def once() -> bytes:
            async with self._answer(
                method, path, query, body, content_type, accept=accept, seconds=seconds
            ) as response:
                if most is None:
                    return await response.read()
                found, is_whole = await _beginning(response, most)
                if not is_whole:
                    raise LargeAnswerError(0, "TooLarge", f"an answer has more than {most >> 20} MiB")
                return found

        reloads = self._reloads
        try:
            return await once()
        except ApiError as error:
            if error.status != UNAUTHORIZED or method != "GET" or reloads == self._reloads:
                raise
        return await once()

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], read_seconds: float
    ) -> AsyncIterator[Pieces]:
        """The body of a 2xx answer as it arrives. `read_seconds` is the limit for each wait. Raises ApiError, which is
        a SilenceError if the answer had begun."""
        async with self._answer("GET", path, query, None, JSON, read_seconds=read_seconds) as response:
            yield response.content

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        *,
        accept: str = JSON,
        seconds: float | None = None,
        read_seconds: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """`seconds` is the limit for all of it, `read_seconds` for each wait."""
        headers = {"Accept": accept, "User-Agent": "reprieve"}
        if body is not None:
            headers["Content-Type"] = content_type
        if self._credentials is not None:
            await self._credentials(headers)
        url = URL(self.server + path, encoded=True).with_query(query)
        # aiohttp's own limit for the whole request takes a cancellation at that time for its own (aiohttp 5979). The
        # task would go on in a term that is over.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=read_seconds)
        code = 0
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    timeout=timeout,
                    proxy=self._proxy,
                    server_hostname=self._server_hostname,
                    allow_redirects=False,
                ) as response,
            ):
                code = response.status
                if not 200 <= code < 300:
                    raise error_of(response, (await _beginning(response, ERROR_BYTES))[0])
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            is_silent = code != 0 and isinstance(error, aiohttp.SocketTimeoutError)
            raise (SilenceError if is_silent else ApiError)(
                0, type(error).__name__, str(error) or "no answer in time"
            ) from error
        except RuntimeError as error:
            if code:
                raise
            set_aside(error)
            raise ApiError(0, type(error).__name__, str(error)) from error
        finally:
            API_REQUESTS.labels(self.cluster, method, str(code)).inc()
            if code == UNAUTHORIZED:
                await self._refused()

    async def _refused(self) -> None:
        """Read the credentials again for the next request, because somebody may have replaced the token."""
        async with self._reloading:  # who is refused at the same time waits for what the first one reads
            now = self._clock.monotonic()
            if self._reload is not None and now - self._reloaded > RELOAD_SECONDS:
                self._reloaded = now
                with suppress(ApiError):
                    await self._reload()
                    self._reloads += 1


async def get_or_none(
    client: Getting,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    seconds: float = REQUEST_SECONDS,
) -> bytes | None:
    """The object at the path, or None if there is no object (404). Raises ApiError for another failure."""
    try:
        return await client.request("GET", path, query=query, seconds=seconds)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


@asynccontextmanager
async def _library(
    kubeconfig: str | Path | None, context: str | None
) -> AsyncIterator[tuple[Any, Callable[[], Awaitable[None]]]]:
    """The library's client, and what reads its configuration again. Raises ApiError (status 0)."""
    from kubernetes_asyncio import client, config  # noqa: PLC0415 - takes over a second, and only serving needs it

    # What the library logs of a credential plugin is in the error that follows.
    logging.getLogger(config.__name__).addHandler(logging.NullHandler())
    configuration = client.Configuration()

    async def load() -> None:
        try:
            if kubeconfig is None:
                config.load_incluster_config(client_configuration=configuration)
            else:
                await config.load_kube_config(str(kubeconfig), context, configuration)
        except Exception as error:
            # The library raises many types of errors for an invalid file.
            raise ApiError(0, "Configuration", f"{kubeconfig or 'in-cluster'}: {error}") from error

    await load()
    try:
        api_client = client.ApiClient(configuration)
    except OSError as error:
        raise ApiError(0, "Configuration", f"{kubeconfig or 'in-cluster'}: {error}") from error
    try:
        yield api_client, load
    finally:
        await api_client.close()


async def _beginning(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    """The first `most` bytes of a body, and whether they are all of it."""
    pieces, left = list[bytes](), most
    async for piece in response.content.iter_any():
        pieces.append(piece[:left])
        if len(piece) > left:
            return b"".join(pieces), False
        left -= len(piece)
    return b"".join(pieces), True


def _identified(configuration: Any, user: str | None) -> str:
    """What identifies the caller in each request of the library's session. Empty if only the credentials do."""
    if configuration.cert_file:
        return "a client certificate"
    return "a user to impersonate" if user else ""


def _impersonating(user: str | None, groups: Sequence[str]) -> list[tuple[str, str]]:
    names = [("Impersonate-User", user)] if user else []
    return [*names, *(("Impersonate-Group", each) for each in groups)]
