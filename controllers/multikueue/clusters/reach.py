"""How far a cluster can be reached, from when it was heard last. Pure.

Only the silence of the whole cluster counts. It is measured on the monotonic clock of this process, and a new process
begins to measure at its start: a restart makes a loss later, never earlier. Clocks of workers decide nothing.
"""

from __future__ import annotations

from typing import Final

from api.clock import Clock
from controllers.multikueue.life.seen import Reach

__all__ = ["AWAY_SECONDS", "Promptness", "Silence"]

AWAY_SECONDS: Final = 15.0
"""A cluster that is silent for this time is away: three renewals of the Lease were not answered."""
PROMPT_SECONDS: Final = 1.0
LATELY_SECONDS: Final = 5.0


class Silence:
    """Since when nothing was heard of a cluster."""

    def __init__(self, clock: Clock, lost_after: float) -> None:
        """`lost_after`: seconds of silence that make it lost."""
        self._clock, self._lost_after = clock, lost_after
        self._last = clock.monotonic()

    def heard(self, at: float) -> None:
        """There was a word, at this monotonic time."""
        self._last = max(self._last, at)

    @property
    def seconds(self) -> float:
        """For how long nothing was heard."""
        return max(0.0, self._clock.monotonic() - self._last)

    @property
    def matters(self) -> bool:
        """Whether another word would change the reach."""
        return self.seconds >= min(AWAY_SECONDS, self._lost_after)

    def reach(self, *, is_followed: bool) -> Reach:
        """`is_followed`: there is a connection, and all views of it were listed."""
        seconds = self.seconds
        if seconds >= self._lost_after:
            return "Lost"
        return "Connected" if is_followed and seconds < AWAY_SECONDS else "Away"


class Promptness:
    """Whether requests are answered within a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[int, float] = {}
        """When each request that has no answer yet was sent, in this order."""
        self._count = 0
        self._slow = float("-inf")
        """When the last slow request ended."""

    def begins(self) -> int:
        """A request is sent. Returns its number."""
        self._count += 1
        self._open[self._count] = self._clock.monotonic()
        return self._count

    def ends(self, number: int) -> None:
        """The request has ended, with or without an answer."""
        now = self._clock.monotonic()
        if now - self._open.pop(number) > PROMPT_SECONDS:
            self._slow = now

    @property
    def is_prompt(self) -> bool:
        """Whether no request waits for longer than a second, and none did in the last five seconds."""
        now = self._clock.monotonic()
        oldest = next(iter(self._open.values()), now)
        return now - oldest <= PROMPT_SECONDS and now - self._slow > LATELY_SECONDS
