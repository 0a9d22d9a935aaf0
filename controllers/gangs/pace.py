"""How often plans are looked at. A look at a thousand members takes milliseconds, and pods change all the time."""

from __future__ import annotations

from typing import Final

from api.clock import Clock
from controllers.gangs.life import GroupKey

__all__ = ["Pace"]

REST: Final = 9
"""A plan is left alone for so many times as long as the last look took: looks get a tenth of the time at most."""
SHORT_SECONDS: Final = 0.001
"""A look that takes less is repeated as often as somebody wants."""


class Pace:
    """Which gangs are left alone for a moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[GroupKey, float] = {}
        """In monotonic seconds."""
        self._wanted: set[GroupKey] = set()
        """Gangs that somebody wanted to look at meanwhile."""

    def looked(self, group: GroupKey, seconds: float) -> None:
        """A look at the gang took so long, and has just ended."""
        self._wanted.discard(group)
        if seconds > SHORT_SECONDS:
            self._until[group] = self._clock.monotonic() + REST * seconds
        else:
            self._until.pop(group, None)

    def rests(self, group: GroupKey) -> bool:
        """Whether the gang is left alone now. If so, `due` names it later."""
        until = self._until.get(group)
        if until is None or until <= self._clock.monotonic():
            return False
        self._wanted.add(group)
        return True

    def due(self) -> list[GroupKey]:
        """Gangs that somebody wanted to look at, and that are left alone no longer."""
        if not self._wanted:
            return []
        now = self._clock.monotonic()
        return [group for group in self._wanted if self._until.get(group, now) <= now]

    def due_in(self) -> float | None:
        """Seconds until `due` names a gang; None if nobody wants to look at one."""
        if not self._wanted:
            return None
        now = self._clock.monotonic()
        return max(0.0, min(self._until.get(group, now) for group in self._wanted) - now)

    def forget(self, group: GroupKey) -> None:
        """The gang has no plan."""
        self._until.pop(group, None)
        self._wanted.discard(group)
