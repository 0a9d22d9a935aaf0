"""The thread on which the engine searches: one search at a time, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from nodes.search.decision import Limits

__all__ = ["SearchThread"]

T = TypeVar("T")


class SearchThread:
    """Runs searches, each within the limits that operators have set."""

    def __init__(self, executor: Executor, limits: Limits) -> None:
        self._executor, self._limits = executor, limits

    async def run(self, search: Callable[[Limits], T]) -> T:
        """What the search returns. It gets values that nobody changes meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, search, self._limits)
