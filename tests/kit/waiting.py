"""Waiting for what has no event, and must not have one for a test alone; and work that goes on beside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["beside", "until"]


async def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once it holds. TimeoutError if it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, object]) -> AsyncIterator[asyncio.Task[object]]:
    """The work goes on as long as the block does, also if the block fails. What the work raised fails the test."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        (end,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
        raise end
