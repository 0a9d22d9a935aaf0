"""What waits for the clock alone: things that end with time, and looks that must not wait for an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

__all__ = ["TICK_SECONDS", "Timed", "Timekeeper"]

TICK_SECONDS: Final = 1.0
"""How often to look while something waits for the clock."""


class Timed(Protocol):
    """Something that ends with time, or is looked at although nothing happens."""

    def due_in(self) -> float:
        """Seconds until `tick` has something to do on a quiet cluster; infinite if nothing waits."""

    def tick(self, *, trusted: bool) -> bool:
        """Called about once a second; `trusted`: the mirror may be trusted.

        It walks over what waits for time, and over nothing else. Returns whether something has ended that kept gangs
        off nodes.
        """


class Timekeeper:
    """Asks all of them, in their order."""

    def __init__(self, timed: Sequence[Timed]) -> None:
        self._timed = timed

    def next_tick(self) -> float:
        """Seconds until the next call is worth while on a quiet cluster."""
        return max(TICK_SECONDS, min(each.due_in() for each in self._timed))

    def tick(self, *, trusted: bool) -> bool:
        """Returns whether something has ended that kept gangs off nodes."""
        ended = [each.tick(trusted=trusted) for each in self._timed]
        return any(ended)
