"""Slots that go to whoever ranks highest, not to whoever came first."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

__all__ = ["Rank", "RankedSlots"]

Rank = tuple[int, ...]
"""A lower one is served first."""


class RankedSlots:
    """At most so many holders at a time. A free slot goes to the waiter of the lowest rank, then to the one who came
    first."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiting: list[tuple[Rank, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def acquire(self, rank: Rank) -> None:
        """Wait for a slot. Whoever gets one must `release` it."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # it was given a slot, and nobody will use it
            raise

    @asynccontextmanager
    async def held(self, rank: Rank) -> AsyncIterator[None]:
        """A slot while the context lasts."""
        await self.acquire(rank)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Give a slot back."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            with suppress(asyncio.InvalidStateError):
                turn.set_result(None)
                return
        self._free += 1
