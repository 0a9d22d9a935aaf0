"""A queue of keys to look at, with delays: the rules of client-go's workqueue.

A key that is added twice before anybody takes it is worked on once; of its delays only the shortest counts. While one
worker has it, nobody else gets it; if it is added meanwhile, it comes again after `done`. Keys come in the order in
which they became due.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from api.clock import SYSTEM_CLOCK, Clock
from kube.retry import Backoff

__all__ = ["KeyedQueue"]

K = TypeVar("K", bound=Hashable)

DEFAULT_BACKOFF: Final = Backoff(1.0, 300.0)


class KeyedQueue(Generic[K]):
    """Used on the event loop, by any number of workers: each calls `get`, works, and calls `done`."""

    def __init__(self, *, backoff: Backoff = DEFAULT_BACKOFF, clock: Clock = SYSTEM_CLOCK) -> None:
        """`backoff` is that of `retry`."""
        self._backoff, self._clock = backoff, clock
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()
        """Keys in `_ready`, and keys that were added while somebody works on them."""
        self._working: set[K] = set()
        self._due: dict[K, float] = {}
        """When a delayed key is added."""
        self._heap: list[tuple[float, int, K]] = []
        """The same in order; an entry that differs from `_due` is void."""
        self._order = itertools.count()
        self._failures: dict[K, int] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Keys that are due, those included that somebody works on at this moment."""
        self._admit()
        return len(self._wanted)

    # ---- for those who want something looked at

    def add(self, key: K) -> None:
        """Have somebody look at it now. A later look that was asked for stays asked for."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._working:
            self._ready.append(key)
            self._changed.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Have somebody look at it in so many seconds; if that was asked for already, at the earlier time."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._due.get(key, math.inf) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._changed.set()

    def retry(self, key: K) -> float:
        """It failed: have somebody look at it after the backoff's delay, which is returned (in seconds)."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(self._failures[key])
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """It succeeded, or is gone: the next failure is the first one again. What was added stays added."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often it failed in a row."""
        return self._failures.get(key, 0)

    # ---- for workers

    async def get(self) -> K:
        """The next key, when there is one. `done` must follow, whatever comes of the work."""
        while True:
            key = self.take()
            if key is not None:
                return key
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.due_in()):
                    await self._changed.wait()

    def take(self) -> K | None:
        """The next key if there is one now. `done` must follow."""
        self._admit()
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """Nobody works on it any more."""
        self._working.discard(key)
        if key in self._wanted:
            self._ready.append(key)
            self._changed.set()

    def due_in(self) -> float | None:
        """Seconds until the next delayed key is due; None if there is none."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return max(0.0, self._heap[0][0] - self._clock.monotonic()) if self._heap else None

    def _admit(self) -> None:
        """Add the delayed keys that are due."""
        while self.due_in() == 0.0:
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            self.add(key)
