"""One question at a time for each key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Together"]

K = TypeVar("K")
V = TypeVar("V")


class Together(Generic[K, V]):
    """Callers with the same key at the same time wait for one question. If one of them is cancelled, the others still
    get the answer."""

    def __init__(self, what: str) -> None:
        """`what`: the name of the tasks."""
        self._what = what
        self._asking: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """What `ask` answers, or its error. It is called if nobody asks yet."""
        task = self._asking.get(key)
        if task is None:
            task = asyncio.create_task(_of(ask), name=self._what)
            self._asking[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def _done(self, key: K, task: asyncio.Task[V]) -> None:
        del self._asking[key]
        if not task.cancelled():
            task.exception()  # whoever asked may be gone


async def _of(ask: Callable[[], Awaitable[V]]) -> V:
    return await ask()
