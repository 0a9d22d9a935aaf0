"""The quota engine as one process runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, TypeVar

from quota.search.decision import Options

__all__ = ["Engine"]

T = TypeVar("T")


class Engine:
    """Decides by the options of this process, in a thread: the event loop goes on meanwhile."""

    def __init__(self, options: Options, executor: Executor) -> None:
        self.options: Final = options
        self._executor = executor

    async def run(self, decide: Callable[[Options], T]) -> T:
        """What `decide` says by these options. It gets nothing that the event loop changes meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, decide, self.options)
