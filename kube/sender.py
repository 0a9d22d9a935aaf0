"""Sends requests, and repeats them for a while if the API server is away or overloaded."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import structlog

from api.backoff import Backoff
from kube.client import JSON, REQUEST_SECONDS, ApiClient
from kube.errors import ApiError
from kube.metrics import WRITE_RETRIES, WRITE_SECONDS
from kube.retry import Retry

__all__ = ["Fence", "FencedError", "Sender", "WithdrawnError"]

log = structlog.get_logger(__name__)

ATTEMPTS: Final = 6
DEFAULT_BACKOFF: Final = Backoff(0.2, 5.0)


class Fence(Protocol):
    """What ends the right to write."""

    def allows(self) -> bool:
        """Whether a write may be sent now."""

    def seconds_left(self) -> float:
        """How long a request may last."""


class _Open:
    """There is no fence."""

    def allows(self) -> bool:
        return True

    def seconds_left(self) -> float:
        return math.inf


OPEN: Final = _Open()


class FencedError(ApiError):
    """This process may not write, because its term is over, or is about to end. In another term, or if the Lease is
    renewed late, the same request may succeed."""

    def __init__(self, what: str) -> None:
        super().__init__(0, "Fenced", f"{what} is not sent: the term is over")


class WithdrawnError(ApiError):
    """Whoever sends the request does not want it any longer."""

    def __init__(self, what: str) -> None:
        super().__init__(0, "Withdrawn", f"{what} is not sent any longer")


def _always() -> bool:
    return True


def _pass_by(_: ApiError) -> None:
    """Nobody wants to know of failures."""


class Sender:
    """Sends requests that may safely be sent twice."""

    def __init__(
        self,
        client: ApiClient,
        *,
        attempts: int = ATTEMPTS,
        backoff: Backoff = DEFAULT_BACKOFF,
        fence: Fence = OPEN,
    ) -> None:
        """The sender asks `fence` before each attempt. A sender that acts in a term gets the term."""
        self._client, self._attempts, self._backoff, self._fence = client, attempts, backoff, fence
        self.cluster = client.cluster
        """The cluster's name in metrics."""

    @property
    def may_send(self) -> bool:
        """Whether the fence allows a write now."""
        return self._fence.allows()

    @property
    def is_over(self) -> bool:
        """Whether the fence will never allow a write again."""
        return self._fence.seconds_left() <= 0.0

    async def send(
        self,
        what: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        wanted: Callable[[], bool] = _always,
        failed: Callable[[ApiError], object] = _pass_by,
    ) -> bytes:
        """The body of the answer. `what` names the kind of write in metrics and logs. `accept`: see `kube.client`.

        `wanted` is asked right before each attempt. Raises WithdrawnError if the request is no longer wanted: then
        nothing was sent, or an earlier attempt failed. `failed` gets each failure that another attempt may mend.

        Raises ApiError at once if a repetition cannot help, otherwise after the last attempt. Raises FencedError if
        the fence does not allow it: then nothing was sent, or an earlier attempt failed.
        """
        retry = Retry(self._backoff)
        with WRITE_SECONDS.labels(self.cluster, what).time():
            while True:
                if not self._fence.allows():
                    raise FencedError(what)
                if not wanted():
                    raise WithdrawnError(what)
                try:
                    return await self._client.request(
                        method,
                        path,
                        query=query,
                        body=body,
                        content_type=content_type,
                        accept=accept,
                        seconds=min(REQUEST_SECONDS, self._fence.seconds_left()),
                    )
                except ApiError as error:
                    wait = retry.failed(error)
                    if error.is_retriable:
                        failed(error)
                    if not error.is_retriable or retry.failures >= self._attempts:
                        raise
                    WRITE_RETRIES.labels(self.cluster, what).inc()
                    log.info("write is tried again", what=what, error=str(error), wait=round(wait, 2))
                await asyncio.sleep(wait)
