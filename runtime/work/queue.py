"""A queue of keys for workers, with delays. It follows the rules of client-go's workqueue:

- A key that is added twice before a worker takes it is worked on once. Only the shortest of its delays counts.
- Only one worker has a key at a time. A key that is added meanwhile comes again after `done`.
- Keys come in the order in which they became due.
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

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK, Clock

__all__ = ["KeyedQueue"]

K = TypeVar("K", bound=Hashable)

DEFAULT_BACKOFF: Final = Backoff(1.0, 300.0)


class KeyedQueue(Generic[K]):
    """A queue for any number of workers on the event loop. A worker calls `get`, works, and calls `done`."""

    def __init__(self, *, backoff: Backoff = DEFAULT_BACKOFF, clock: Clock = SYSTEM_CLOCK) -> None:
        """`backoff` gives the delays of `retry`."""
        self._backoff, self._clock = backoff, clock
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()
        """Keys in `_ready`, and keys that were added while a worker has them."""
        self._working: set[K] = set()
        self._due: dict[K, float] = {}
        """The time at which each delayed key becomes due, in monotonic seconds."""
        self._heap: list[tuple[float, int, K]] = []
        """The entries of `_due` in order. An entry that differs from `_due` is void."""
        self._order = itertools.count()
        self._failures: dict[K, int] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """The number of keys that are due, including keys that were added while a worker has them."""
        self._admit()
        return len(self._wanted)

    # ---- to add keys

    def add(self, key: K) -> None:
        """Make the key due now. A delayed `add_after` of the key stays."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._working:
            self._ready.append(key)
            self._changed.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Make the key due after this many seconds. If it has a delay already, the earlier time counts."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._due.get(key, math.inf) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._changed.set()

    def retry(self, key: K, least: float = 0.0) -> float:
        """Note that the work on the key failed, and add it again after the backoff, and not before `least` seconds.
        Returns the delay in seconds."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = max(self._backoff.delay(self._failures[key]), least)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Forget the failures of the key, because it succeeded or is gone. A key that was added stays added."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often the work on the key failed in a row."""
        return self._failures.get(key, 0)

    # ---- for workers

    async def get(self) -> K:
        """Wait for the next key. The worker must call `done` after the work, even if the work fails."""
        while True:
            key = self.take()
            if key is not None:
                return key
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.due_in()):
                    await self._changed.wait()

    def take(self) -> K | None:
        """The next key that is due now, or None. The worker must call `done` after the work."""
        self._admit()
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """Note that the worker no longer has the key."""
        self._working.discard(key)
        if key in self._wanted:
            self._ready.append(key)
            self._changed.set()

    def due_in(self) -> float | None:
        """Seconds until the next delayed key is due, or None if no key is delayed."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return max(0.0, self._heap[0][0] - self._clock.monotonic()) if self._heap else None

    def _admit(self) -> None:
        """Add the delayed keys that are due."""
        while self.due_in() == 0.0:
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            self.add(key)
