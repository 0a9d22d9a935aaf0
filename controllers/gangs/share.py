"""How the search shares its time between gangs that it looks at for the first time and gangs that failed before."""

from __future__ import annotations

from typing import Final

__all__ = ["Share"]

ALLOWANCE_SECONDS: Final = 0.1
"""How far gangs that failed before may get ahead: so long, rank alone decides."""
MOST_SECONDS: Final = 0.5
"""A longer lead of either side is not remembered."""


class Share:
    """While both wait, gangs that failed before get half of the time at most. Otherwise rank decides."""

    def __init__(self) -> None:
        self._lead = 0.0
        """How many more seconds the search has spent on gangs that failed before, while others waited."""

    def is_new_ones_turn(self, comes_first: bool) -> bool:
        """Both wait: whether the gang that is new is next. `comes_first`: by rank."""
        return comes_first or self._lead > ALLOWANCE_SECONDS

    def spent(self, seconds: float, *, again: bool) -> None:
        """A search took so long, and the other side waited meanwhile."""
        lead = self._lead + (seconds if again else -seconds)
        self._lead = min(MOST_SECONDS, max(-MOST_SECONDS, lead))
