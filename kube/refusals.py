"""When a request that the API server refuses is sent again: after a while, or soon if somebody asks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from api.backoff import Backoff

__all__ = ["Refusals"]

NEVER: Final = float("-inf")


class Refusals:
    """Counts the refusals in a row. Their cause is a missing CRD or a missing right, not an outage or overload."""

    def __init__(self, backoff: Backoff, least: float) -> None:
        """`backoff`: the delays. `least`: the shortest wait after a refusal, in seconds, also if somebody asks."""
        self._backoff, self._least = backoff, least
        self.times = 0
        """How often it has refused in a row. Requests that are sent because somebody asks do not count."""
        self.since = NEVER
        """The newest request that was refused was not sent before, in monotonic seconds."""
        self._due = NEVER
        """When the next request is sent that counts, in seconds of the event loop."""
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Somebody wants to know whether the API server still refuses."""
        self._asked.set()

    def begins(self) -> None:
        """A request is about to be sent. It answers all who have asked."""
        self._asked.clear()

    def note(self, since: float) -> None:
        """A request was refused that was not sent before `since`, in monotonic seconds."""
        self.since, now = since, asyncio.get_running_loop().time()
        if now >= self._due:
            self.times += 1
            self._due = now + self._backoff.delay(self.times)

    def forget(self) -> None:
        """The API server has not refused."""
        self.times, self._due = 0, NEVER

    async def wait(self) -> None:
        """Wait for the time of the next request."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(min(self._least, self._due - loop.time()))
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._due):
                await self._asked.wait()
