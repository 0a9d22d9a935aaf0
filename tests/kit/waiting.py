"""Waiting for what has no event, and must not have one for a test alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["until"]


async def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once it holds. TimeoutError if it does not in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)
