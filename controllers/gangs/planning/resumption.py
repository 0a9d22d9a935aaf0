"""The end of pauses: gangs that waited for it are decided anew, in the order of the queue."""

from __future__ import annotations

from math import inf

from controllers.gangs.gangs import Gangs
from controllers.gangs.lifecycle.observations import PauseEnded
from runtime.mirror.pauses import Pauses

__all__ = ["Resumption"]


class Resumption:
    """Made for one term. Time alone ends some pauses, so it looks once a second."""

    def __init__(self, pauses: Pauses, gangs: Gangs) -> None:
        self._pauses, self._gangs = pauses, gangs
        self._seen = pauses.state

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if self._gangs.paused else inf

    def tick(self, *, trusted: bool) -> bool:
        """If a pause has changed or ended, all gangs that wait are decided anew. Another pause may hold for some."""
        del trusted
        before, self._seen = self._seen, self._pauses.state
        if before != self._seen:
            for key in list(self._gangs.paused):
                self._gangs.report(key, PauseEnded())
        return False
