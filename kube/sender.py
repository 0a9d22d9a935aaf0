"""Sender that are tried again: for a while, when the API server is away or overloaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from kube.client import JSON, ApiClient, ApiError
from kube.metrics import WRITE_RETRIES, WRITE_SECONDS
from kube.retry import Backoff, Retry

__all__ = ["Sender"]

log = structlog.get_logger(__name__)

ATTEMPTS: Final = 6
DEFAULT_BACKOFF: Final = Backoff(0.2, 5.0)


class Sender:
    """Sends requests that may safely be sent twice."""

    def __init__(
        self,
        client: ApiClient,
        *,
        attempts: int = ATTEMPTS,
        backoff: Backoff = DEFAULT_BACKOFF,
        allowed: Callable[[], bool] = lambda: True,
    ) -> None:
        """`allowed` is asked before every request: once it says no, nothing is sent any longer."""
        self._client, self._attempts, self._backoff = client, attempts, backoff
        self._allowed = allowed

    async def send(
        self, what: str, method: str, path: str, *, body: bytes | None = None, content_type: str = JSON
    ) -> bytes:
        """The answer's body; ApiError at once for what will not get better, or after the last attempt.

        `what` names the kind of write in metrics and logs.
        """
        retry = Retry(self._backoff)
        with WRITE_SECONDS.labels(what).time():
            while True:
                if not self._allowed():
                    raise ApiError(0, "TermOver", f"{what}: this process may no longer write")
                try:
                    return await self._client.request(method, path, body=body, content_type=content_type)
                except ApiError as error:
                    wait = retry.failed(error)
                    if not error.is_retriable or retry.failures >= self._attempts:
                        raise
                    WRITE_RETRIES.labels(what).inc()
                    log.info("write is tried again", what=what, error=str(error), wait=round(wait, 2))
                await asyncio.sleep(wait)
