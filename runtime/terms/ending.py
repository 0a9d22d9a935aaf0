"""What acts in a term has to end with it. If it does not, the process ends: it would never lead again."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from api.clock import SYSTEM_CLOCK, Clock

__all__ = ["ENDING_SECONDS", "EXIT_STATUS", "Ending"]

log = structlog.get_logger(__name__)

ENDING_SECONDS: Final = 30.0
"""How long tasks may take after their cancellation. A request to the API server takes less."""
LOOK_SECONDS: Final = 1.0
EXIT_STATUS: Final = 70
"""Of a process that ends because tasks of its term did not."""


def _exit() -> None:
    """End at once. A task that swallows its cancellation would hold back every other way to end, too."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(EXIT_STATUS)


class Ending:
    """Ends the process if the tasks of a term are still there some time after their cancellation.

    The API server and the scheduler lose nothing by it: the term is over, and nobody writes in it.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK, end: Callable[[], object] = _exit) -> None:
        """`end` ends the process. It returns in tests only."""
        self._clock, self._end = clock, end

    @contextmanager
    def watched(self) -> Iterator[Callable[[Iterable[asyncio.Task[object]]], None]]:
        """A context around the tasks of one term. Call what it gives with the tasks when they are cancelled."""
        watching = list[asyncio.Task[None]]()

        def begin(tasks: Iterable[asyncio.Task[object]]) -> None:
            deadline = self._clock.monotonic() + ENDING_SECONDS
            watching.append(asyncio.create_task(self._watch(tuple(tasks), deadline), name="ending"))

        try:
            yield begin
        finally:
            for each in watching:
                each.cancel()

    async def _watch(self, tasks: tuple[asyncio.Task[object], ...], deadline: float) -> None:
        while self._clock.monotonic() < deadline:  # noqa: ASYNC110 - the clock may be that of a test
            await asyncio.sleep(LOOK_SECONDS)
        left = [task.get_name() for task in tasks if not task.done()]
        log.critical(
            "the process ends: a term is over, and what acted in it does not end",
            seconds=ENDING_SECONDS,
            tasks=left,
            status=EXIT_STATUS,
        )
        self._end()
