"""The loop of cycles: heads are decided on a snapshot in a thread, and what came meanwhile is looked at afterwards.

A cycle follows a change, or the end of a time. It does not run because time passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from controllers.quota.scheduling.consequences import Consequences
from controllers.quota.scheduling.cycles import Cycles
from controllers.quota.scheduling.texts import Texts
from controllers.quota.workloads.following import Following

__all__ = ["Scheduling"]

log = structlog.get_logger(__name__)

BURST_SECONDS: Final = 0.01
"""Changes that come together are answered by one cycle."""
RETRY_SECONDS: Final = 1.0
BEHIND_SECONDS: Final = 0.5
"""Between two looks whether the watches are back."""


class Scheduling:
    """Cycles, one after the other, in one term."""

    def __init__(
        self,
        following: Following,
        cycles: Cycles,
        consequences: Consequences,
        texts: Texts,
        stirred: asyncio.Event,
        behind: Callable[[], str | None],
    ) -> None:
        """`stirred`: set when another cycle may have another answer. `behind`: why what is known may be out of date;
        None if it is not."""
        self._following, self._cycles, self._consequences, self._texts = (
            following,
            cycles,
            consequences,
            texts,
        )
        self._stirred, self._behind = stirred, behind

    async def run(self) -> None:
        """Run cycles until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._texts.run(), name="texts of why Workloads wait")
            tasks.create_task(self._run(), name="cycles")

    async def _run(self) -> None:
        while True:
            try:
                again = await self._cycle()
            except Exception:
                log.exception("a cycle failed, and the next one follows")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if not again:
                await self._wait()
                await asyncio.sleep(BURST_SECONDS)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._following.due_in()):
                await self._stirred.wait()

    async def _cycle(self) -> bool:
        """One cycle. Returns whether another one must follow at once."""
        if (why := self._behind()) is not None:
            log.info("no cycle runs until the watches are back", why=why)
            await asyncio.sleep(BEHIND_SECONDS)
            return True
        self._stirred.clear()
        self._following.follow()
        self._texts.add_untried(self._following.take_suspended())
        decided = await self._cycles.next()
        return decided is not None and await self._consequences.take(decided)
