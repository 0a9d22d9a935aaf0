"""A term: the time during which one process may act."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol

from api.clock import Clock
from runtime.metrics import LEADING

__all__ = ["EternalTerms", "Term", "Terms"]


class Term:
    """The time during which this process may write.

    `number` grows from term to term of a process. `holder` names the process, and is another one after each start. Both
    together name one term. Nothing may be written after the end (monotonic seconds), which whoever made the term may
    put off. A writer begins no write in the last `margin` seconds. Nobody else has written since `began` (monotonic
    seconds; now if it is not given).
    """

    def __init__(
        self,
        number: int,
        clock: Clock,
        *,
        holder: str = "",
        end: float = math.inf,
        margin: float = 0.0,
        began: float | None = None,
    ) -> None:
        self.number, self.holder = number, holder
        self.began = clock.monotonic() if began is None else began
        self._clock, self._end, self._margin = clock, end, margin
        self._ended = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether the process may no longer act."""
        return self.seconds_left() <= 0.0

    def allows(self) -> bool:
        """Whether a writer of this term may send a write now."""
        return self.seconds_left() > self._margin

    def seconds_left(self) -> float:
        """Until the end: no request may last longer. Infinite if there is no end; never negative."""
        if self._ended.is_set():
            return 0.0
        return max(0.0, self._end - self._clock.monotonic())

    def put_off(self, end: float) -> None:
        """The term ends later. Without effect if it is over: whoever acted in it has stopped."""
        if not self.is_over:
            self._end = max(self._end, end)

    def end(self) -> None:
        """The term is over now."""
        self._ended.set()

    async def over(self) -> None:
        """Wait until the term is over."""
        while not self.is_over:
            left = self.seconds_left()
            with suppress(TimeoutError):
                async with asyncio.timeout(left if math.isfinite(left) else None):
                    await self._ended.wait()


class Terms(Protocol):
    """The source of terms."""

    def term(self) -> AbstractAsyncContextManager[Term]:
        """Wait for the next term of this process, which lasts as long as the context at most.

        Leave the context only when nothing acts in the term any longer: then another process may have a term.
        """

    async def follow(self) -> None:
        """Keep up with who has a term, without wanting one, until cancelled: for a process that ends."""


class EternalTerms:
    """One term without an end, for a single process without an election."""

    def __init__(self, clock: Clock, holder: str = "") -> None:
        self._clock, self._holder = clock, holder
        self._number, self._began = 0, clock.monotonic()

    @asynccontextmanager
    async def term(self) -> AsyncIterator[Term]:
        """See `Terms`."""
        self._number += 1
        gauge = LEADING.labels("")
        gauge.set(1)
        try:
            yield Term(self._number, self._clock, holder=self._holder, began=self._began)
        finally:
            gauge.set(0)

    async def follow(self) -> None:
        """See `Terms`."""
        await asyncio.Event().wait()
