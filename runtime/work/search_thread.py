"""The thread on which an engine searches: one search at a time, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, Generic, TypeVar

__all__ = ["SearchThread"]

S = TypeVar("S")
T = TypeVar("T")


class SearchThread(Generic[S]):
    """Runs the searches of one engine, each with the settings of this process."""

    def __init__(self, settings: S, executor: Executor) -> None:
        self.settings: Final = settings
        self._executor = executor

    async def run(self, search: Callable[[S], T]) -> T:
        """What the search returns. It gets values that the event loop does not change meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, search, self.settings)
