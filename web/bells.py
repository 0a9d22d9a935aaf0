"""Wakes streams, some at a time: the loop never stands for all of them.

There are no more turns of the loop than needed. In each of them, it waits for the thread that makes answers: only one
of the two runs at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

__all__ = ["Bells"]

AT_ONCE: Final = 8
"""Streams that have their turn first. Each of them may have to make a frame."""
TURN_SECONDS: Final = 0.004
"""CPU time of a turn of the loop: if streams take less than half of it, twice as many have the next turn."""


class Bells:
    """The bells of all who wait for the same. A bell is an event; who waits clears it before they look."""

    def __init__(self) -> None:
        self._hung: dict[asyncio.Event, None] = {}

    @contextmanager
    def hung(self, bell: asyncio.Event) -> Iterator[None]:
        """The bell rings while the context lasts."""
        self._hung[bell] = None
        try:
            yield
        finally:
            del self._hung[bell]

    async def ring(self) -> None:
        """Ring them, some in each turn of the loop. It returns when all have had their turn."""
        bells, count = iter(tuple(self._hung)), AT_ONCE
        while some := tuple(islice(bells, count)):
            began = time.thread_time()
            for bell in some:
                bell.set()
            await asyncio.sleep(0)
            took = time.thread_time() - began
            if took < TURN_SECONDS / 2:
                count *= 2
            elif took > TURN_SECONDS:
                count = max(count // 2, 1)

    def ring_now(self) -> None:
        """Ring them all at once: the process ends."""
        for bell in self._hung:
            bell.set()
