"""Where acts are carried out: here, and in each cluster. Each place has a queue and workers of its own, so that a
cluster that hangs delays no other one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from kube.errors import ApiError
from kube.sender import FencedError
from runtime.work.queue import KeyedQueue
from runtime.work.workers import serve

__all__ = ["Place"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(0.2, 30.0)


class Place:
    """Carries out what the newest decision about a Workload has for this place: one act at a time for each."""

    def __init__(self, name: str, act: Callable[[str], Awaitable[None]], workers: int, clock: Clock) -> None:
        """`act` gets the key of a Workload, and carries out its act, if it still has one. It may raise ApiError."""
        self.name: Final = name
        self._act, self._workers = act, workers
        self._queue: KeyedQueue[str] = KeyedQueue(backoff=BACKOFF, clock=clock)

    def add(self, key: str) -> None:
        """There is an act. One that has failed waits for its time."""
        if not self._queue.failures(key):
            self._queue.add(key)

    async def run(self) -> None:
        """Act until cancelled."""
        await serve(self._queue, self._act, self._failed, name=f"acts in {self.name}", workers=self._workers)

    def _failed(self, key: str, error: ApiError, wait: float) -> None:
        if error.status != HTTPStatus.CONFLICT and not isinstance(error, FencedError):
            log.info(
                "an act is tried again", place=self.name, workload=key, error=str(error), wait=round(wait, 2)
            )
