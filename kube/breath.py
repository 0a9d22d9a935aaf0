"""Long work on the event loop that lets others have their turn."""

from __future__ import annotations

from time import perf_counter

from kube.lane import BREATH_SECONDS, lane

__all__ = ["Breath"]


class Breath:
    """Made on the loop where the work begins, after each wait anew. The loop's time is real time, whatever clock the
    work goes by."""

    def __init__(self, seconds: float = BREATH_SECONDS) -> None:
        self._seconds = seconds
        self._lane = lane()
        self._since = perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether all long work of this turn has gone on for long enough."""
        return self._lane.count(self._since) >= self._seconds

    async def take(self) -> None:
        """Let others have their turn now."""
        await self._lane.turn()
        self._lane.begin()
        self._since = perf_counter()
