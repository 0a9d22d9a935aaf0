"""Waiting for what has no event, and must not have one for a test alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["until"]


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Return once it holds. TimeoutError if it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)
