"""Raw requests to the API server: bytes in, bytes out, every one with a time-out.

kubernetes-asyncio reads the configuration, opens the session and refreshes credentials; its models and its watch
are not used (they cost a hundred times more, and its requests have no time-out). It is imported on connecting,
because importing it takes over a second.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
from yarl import URL

from api.clock import SYSTEM_CLOCK, Clock
from kube.metrics import API_REQUESTS

__all__ = [
    "APPLY_PATCH",
    "JSON",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "ApiClient",
    "ApiError",
    "get_or_none",
]

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
"""RFC 6902: a list of operations, of which `test` lets the whole patch fail (422)."""
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
"""Server-side apply. JSON is YAML."""
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

CONNECT_SECONDS: Final = 5.0
REQUEST_SECONDS: Final = 15.0
RELOAD_SECONDS: Final = 10.0
"""Credentials that were refused are read again, but not more often than this."""

RETRIABLE: Final = frozenset({0, 429, 500, 502, 503, 504})

Credentials = Callable[[dict[str, str]], Awaitable[None]]
"""Adds the authorization to a request's headers."""


class StatusDetails(msgspec.Struct, rename="camel"):
    """meta/v1 StatusDetails, in part."""

    retry_after_seconds: int = 0


class Status(msgspec.Struct, rename="camel"):
    """meta/v1 Status: what the API server answers when it does not do as asked."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: StatusDetails | None = None


class ApiError(Exception):
    """The API server did not do as asked.

    `status` is the HTTP status, 0 when there was no answer; `reason` is the API's word for it (NotFound,
    Conflict, AlreadyExists, Expired, ...); `retry_after` is in seconds, None where the server did not say.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status or 'no answer'} {reason}: {message}".replace("\n", " ")[:2000])
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def is_retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in RETRIABLE


class ApiClient:
    """One API server. Raises ApiError, and nothing else, when a request does not succeed."""

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
    ) -> None:
        self._clock = clock
        self.cluster = cluster
        """Its name in metrics and logs; empty where there is only one."""
        self._session = session
        self.server = server.rstrip("/")
        """Its URL."""
        self._credentials = credentials
        self._reload = reload
        self._reloaded = float("-inf")
        self._proxy = proxy
        self._server_hostname = server_hostname

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, kubeconfig: str | Path | None = None, *, cluster: str = "", clock: Clock = SYSTEM_CLOCK
    ) -> AsyncIterator[ApiClient]:
        """A client for a kubeconfig's current context; without one for the cluster that this process runs in.

        Raises ApiError (status 0) when the configuration is unusable.
        """
        from kubernetes_asyncio import client, config  # noqa: PLC0415 - takes over a second, and only serving needs it

        configuration = client.Configuration()

        async def load() -> None:
            try:
                if kubeconfig is None:
                    config.load_incluster_config(client_configuration=configuration)
                else:
                    await config.load_kube_config(str(kubeconfig), client_configuration=configuration)
            except Exception as error:
                # The library fails in many ways on a file that is not as it expects.
                raise ApiError(0, "Configuration", f"{kubeconfig or 'in-cluster'}: {error}") from error

        await load()
        try:
            api_client = client.ApiClient(configuration)
        except OSError as error:
            raise ApiError(0, "Configuration", f"{kubeconfig or 'in-cluster'}: {error}") from error

        async def credentials(headers: dict[str, str]) -> None:
            await api_client.update_params_for_auth(headers, [], ["BearerToken"])

        try:
            yield cls(
                api_client.rest_client.pool_manager,
                configuration.host,
                credentials=credentials,
                reload=load,
                proxy=configuration.proxy,
                server_hostname=configuration.tls_server_name,
                cluster=cluster,
                clock=clock,
            )
        finally:
            await api_client.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """The body of a 2xx answer. `seconds` bounds the whole exchange."""
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        async with self._answer(method, path, query, body, content_type, timeout) as response:
            return await response.read()

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], read_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """The body of a 2xx answer as it arrives; `read_seconds` bounds every wait for more of it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=read_seconds)
        async with self._answer("GET", path, query, None, JSON, timeout) as response:
            yield response.content

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        timeout: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Accept": JSON, "User-Agent": "reprieve"}
        if body is not None:
            headers["Content-Type"] = content_type
        if self._credentials is not None:
            await self._credentials(headers)
        url = URL(self.server + path, encoded=True).with_query(query)
        code = 0
        try:
            async with self._session.request(
                method,
                url,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=self._proxy,
                server_hostname=self._server_hostname,
                allow_redirects=False,
            ) as response:
                code = response.status
                if not 200 <= code < 300:
                    raise _error(response, await response.read())
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, type(error).__name__, str(error) or "no answer in time") from error
        finally:
            API_REQUESTS.labels(self.cluster, method, str(code)).inc()
            if code == 401:
                await self._refused()

    async def _refused(self) -> None:
        """Read the credentials again for the next request: a token may have been replaced."""
        now = self._clock.monotonic()
        if self._reload is not None and now - self._reloaded > RELOAD_SECONDS:
            self._reloaded = now
            with suppress(ApiError):
                await self._reload()


async def get_or_none(
    client: ApiClient, path: str, *, query: Mapping[str, str] | None = None
) -> bytes | None:
    """What is at the path, None where nothing is (404). Raises ApiError."""
    try:
        return await client.request("GET", path, query=query)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def _error(response: aiohttp.ClientResponse, body: bytes) -> ApiError:
    """From the answer's Status, or from whatever a proxy in between has put there."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status(reason=response.reason or "", message=body[:200].decode(errors="replace"))
    after: float | None = None
    header = response.headers.get("Retry-After", "")
    if header.isdecimal():
        after = float(header)
    elif status.details is not None and status.details.retry_after_seconds > 0:
        after = float(status.details.retry_after_seconds)
    return ApiError(response.status, status.reason or response.reason or "", status.message, after)
