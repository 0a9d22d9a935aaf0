"""Answers that several readers get: each is made once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from typing import Final, Generic, TypeVar

from api.clock import Clock

__all__ = ["Shared"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST: Final = 64
SECONDS: Final = 1.0
"""After which an answer is made anew, because it names the moment."""


class Shared(Generic[K, V]):
    """Answers by what they depend on."""

    def __init__(self, executor: Executor, clock: Clock, most: int = MOST) -> None:
        """`executor` makes them. `most`: how many are kept."""
        self._executor, self._clock, self._most = executor, clock, most
        self._made: dict[K, tuple[asyncio.Future[V], float]] = {}
        """The answer, and when it was begun, the oldest first."""

    def has(self, key: K) -> bool:
        """Whether the answer is there, or is being made."""
        return self._known(key) is not None

    async def get(self, key: K, make: Callable[[], V]) -> V:
        """The answer, or the error of `make`."""
        if (known := self._known(key)) is not None:
            return await asyncio.shield(known)
        future = asyncio.get_running_loop().run_in_executor(self._executor, make)
        self._made.pop(key, None)
        if len(self._made) >= self._most:
            del self._made[next(iter(self._made))]
        self._made[key] = future, self._clock.monotonic()
        future.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(future)

    def _known(self, key: K) -> asyncio.Future[V] | None:
        """The answer, unless it is too old."""
        future, begun = self._made.get(key, (None, 0.0))
        if future is None or (future.done() and self._clock.monotonic() - begun >= SECONDS):
            return None
        return future

    def _done(self, key: K, future: asyncio.Future[V]) -> None:
        """Forget an answer that failed."""
        failed = future.cancelled() or future.exception() is not None
        if failed and (known := self._made.get(key)) is not None and known[0] is future:
            del self._made[key]
