"""Tasks that run beside the loop that began them, and end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

__all__ = ["Background", "stop_all"]


class Background:
    """The tasks of one term. Everything runs on the event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it, and remember it until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Wait for all of them, also those that are started meanwhile. Raises what one of them raises."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """Stop, wherever that is."""
        await stop_all(self._tasks)


async def stop_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel them, and return when none of them runs. What they raise does not count."""
    known = list(tasks)
    for task in known:
        task.cancel()
    await asyncio.gather(*known, return_exceptions=True)
