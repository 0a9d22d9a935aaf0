"""Writes to the API server beside the planner: in order for each object, and a few at a time in each namespace.

A slow or refused write delays what follows for the same object, and nobody else.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from runtime.work.background import stop_all

__all__ = ["Key", "Work", "Writes"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 8
"""Objects of one namespace that are written at a time."""

Key = tuple[str, str]
"""(namespace, name) of the object."""
Work = Callable[[], Awaitable[object]]


class Writes:
    """A queue for each object, with one task for each queue that is not empty. Made for one term."""

    def __init__(self, failed: Callable[[Key], object], *, at_once: int = AT_ONCE) -> None:
        """`failed` is called for an object whose work has raised an exception, which is a fault of ours."""
        self._failed, self._at_once = failed, at_once
        self._queues: dict[Key, deque[Work]] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._busy: Counter[str] = Counter()
        """How many queues each namespace has."""
        self._slots: dict[str, asyncio.Semaphore] = {}
        """By namespace, while it has queues."""

    def put(self, key: Key, work: Work) -> None:
        """Do this once everything that was put for the object before is done."""
        queue = self._queues.setdefault(key, deque())
        queue.append(work)
        if key not in self._tasks:
            self._busy[key[0]] += 1
            self._tasks[key] = asyncio.create_task(self._run(key, queue), name=f"write {'/'.join(key)}")

    def is_idle(self, key: Key) -> bool:
        """Whether nothing waits to be done for the object, and nothing is being done."""
        return key not in self._tasks

    def __len__(self) -> int:
        """Objects for which something waits or is being done."""
        return len(self._tasks)

    async def close(self) -> None:
        """Stop, wherever that is."""
        await stop_all(self._tasks.values())

    async def _run(self, key: Key, queue: deque[Work]) -> None:
        slots = self._slots.setdefault(key[0], asyncio.Semaphore(self._at_once))
        try:
            while queue:
                async with slots:
                    await self._do(key, queue.popleft())
        finally:
            del self._queues[key], self._tasks[key]
            self._busy[key[0]] -= 1
            if not self._busy[key[0]]:
                del self._busy[key[0]]
                self._slots.pop(key[0], None)

    async def _do(self, key: Key, work: Work) -> None:
        try:
            await work()
        except Exception:
            log.exception("a write failed, and what follows goes on", object="/".join(key))
            self._failed(key)
