"""Several things at once, until the first of them ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["first_end"]


async def first_end(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run all of them until one ends, and cancel the others. Raises what the first one raised."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        first = next(task for task in tasks if task.done())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    first.result()
