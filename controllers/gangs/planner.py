"""The loop that moves gangs through their lives, and searches for those that want a plan.

A step concerns only the gangs to which something has happened, and searches for one gang at most. Nothing is written
here: see `controllers.gangs.writing.writes`.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from api.clock import Clock
from controllers.gangs.following import Following, Wakes
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.planning.turns import Turns
from controllers.gangs.timekeeping import TICK_SECONDS, Timekeeper

__all__ = ["Planner"]

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 1.0

BURST_SECONDS: Final = 0.02
"""Changes come in bursts, such as the evictions of a plan. One look serves all changes within this time."""


class Planner:
    """One actor. Plans are committed one at a time; writes and evictions run beside it."""

    def __init__(
        self,
        mirror: Mirror,
        following: Following,
        turns: Turns,
        waking: Wakes,
        timekeeper: Timekeeper,
        clock: Clock,
        nudged: asyncio.Event,
    ) -> None:
        """`nudged` is set by whoever wants the planner to look again."""
        self._mirror, self._following, self._turns, self._waking = mirror, following, turns, waking
        self._timekeeper, self._clock, self._nudged = timekeeper, clock, nudged
        self._ticked = 0.0

    async def run(self) -> None:
        """Follow the mirror until cancelled."""
        while True:
            try:
                more = await self.step()
            except Exception:
                log.exception("the planner failed and goes on")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if not more:
                await self._wait()
                await asyncio.sleep(BURST_SECONDS)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience()):
                await self._nudged.wait()
        except TimeoutError:
            return
        finally:
            self._nudged.clear()

    def _patience(self) -> float:
        """Seconds until there is something to do on a quiet cluster."""
        if not self._mirror.is_trusted():
            return TICK_SECONDS
        return min(self._timekeeper.next_tick(), self._turns.due_in())

    async def step(self) -> bool:
        """Everything that is due, and one search. Returns whether another search is due at once."""
        self._following.follow()
        if self._clock.monotonic() >= self._ticked + TICK_SECONDS:
            self._tick()
        self._waking.let_in()
        turn = self._turns.next() if self._mirror.is_trusted() else None
        if turn is None:
            return False
        await self._turns.take(turn)
        self._following.follow()
        return True

    def _tick(self) -> None:
        self._ticked = self._clock.monotonic()
        if self._mirror.tell_time():
            self._nudged.set()
        if self._timekeeper.tick(trusted=self._mirror.is_trusted()):
            self._turns.freed(None)
        self._following.stir_plans()
        self._following.follow()
