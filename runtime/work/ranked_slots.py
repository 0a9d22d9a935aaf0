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
    """At most `slots` holders at a time. A free slot goes to the waiter of the lowest rank, then to the one who came
    first."""

    def __init__(self, slots: int) -> None:
        self._most = self._slots = slots
        self._held, self._since = 0, 0
        """Holders, and how many have given their slot back since the number of slots last changed."""
        self._waiting: list[tuple[Rank, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @property
    def size(self) -> int:
        """How many may hold a slot at present."""
        return self._slots

    async def acquire(self, rank: Rank) -> None:
        """Wait for a slot. Whoever gets one must `release` it."""
        if self._held < self._slots and not self._waiting:
            self._held += 1
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
        self._held -= 1
        self._since += 1
        if self._slots < self._most and self._since >= self._slots:
            self._slots, self._since = self._slots + 1, 0
        self._hand_out()

    def resize(self, slots: int) -> None:
        """At most this number may hold a slot from now on. Those that hold one keep it."""
        if slots != self._most:
            self._most = self._slots = slots
            self._hand_out()

    def halve(self) -> None:
        """Half as many holders at a time. One slot comes back whenever all that are left have been used once."""
        self._slots, self._since = max(1, self._slots // 2), 0

    def _hand_out(self) -> None:
        while self._waiting and self._held < self._slots:
            _, _, turn = heapq.heappop(self._waiting)
            with suppress(asyncio.InvalidStateError):
                turn.set_result(None)
                self._held += 1
