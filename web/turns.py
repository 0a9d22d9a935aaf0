"""Answers that take long: in a thread of their own, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, TypeVar

from web.errors import too_many

__all__ = ["Turns"]

T = TypeVar("T")

QUEUE: Final = 32
AFTER_SECONDS: Final = 1.0


class Turns:
    """A queue before one thread."""

    def __init__(self, executor: Executor, queue: int = QUEUE) -> None:
        """`executor` has one thread. `queue`: questions that may wait for it."""
        self._executor, self._most = executor, queue + 1
        self._count = 0

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, or its error. Raises Refused if the queue is full."""
        if self._count >= self._most:
            raise too_many("too many questions wait for an answer", AFTER_SECONDS)
        self._count += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def _done(self, future: asyncio.Future[T]) -> None:
        self._count -= 1
        if not future.cancelled():
            future.exception()  # whoever asked may be gone
