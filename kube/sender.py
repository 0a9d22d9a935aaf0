"""Requests that are sent again for a while when the API server is away or overloaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from kube.client import JSON, ApiClient, ApiError
from kube.metrics import WRITE_RETRIES, WRITE_SECONDS
from kube.retry import Backoff, Retry

__all__ = ["FencedError", "Sender"]

log = structlog.get_logger(__name__)

ATTEMPTS: Final = 6
DEFAULT_BACKOFF: Final = Backoff(0.2, 5.0)


class FencedError(ApiError):
    """This process may no longer write: its term is over. In another term the same request may succeed."""

    def __init__(self, what: str) -> None:
        super().__init__(0, "Fenced", f"{what} is not sent: the term is over")


class Sender:
    """Sends requests that may safely be sent twice."""

    def __init__(
        self,
        client: ApiClient,
        *,
        attempts: int = ATTEMPTS,
        backoff: Backoff = DEFAULT_BACKOFF,
        allows: Callable[[], bool] = lambda: True,
    ) -> None:
        """`allows`: asked before every attempt; the term's, for a sender that acts in one."""
        self._client, self._attempts, self._backoff, self._allows = client, attempts, backoff, allows
        self.cluster = client.cluster
        """Whose API server it is: for metrics."""

    async def send(
        self,
        what: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> bytes:
        """The answer's body; ApiError at once for what will not get better, or after the last attempt.

        FencedError where `allows` says no: then nothing was sent, or an earlier attempt had no answer.

        `what` names the kind of write in metrics and logs.
        """
        retry = Retry(self._backoff)
        with WRITE_SECONDS.labels(self.cluster, what).time():
            while True:
                if not self._allows():
                    raise FencedError(what)
                try:
                    return await self._client.request(
                        method, path, query=query, body=body, content_type=content_type
                    )
                except ApiError as error:
                    wait = retry.failed(error)
                    if not error.is_retriable or retry.failures >= self._attempts:
                        raise
                    WRITE_RETRIES.labels(self.cluster, what).inc()
                    log.info("write is tried again", what=what, error=str(error), wait=round(wait, 2))
                await asyncio.sleep(wait)
