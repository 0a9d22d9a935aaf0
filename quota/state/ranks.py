"""Numbers in the order of names. With them the search compares UIDs as integers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

__all__ = ["Name", "Ranks"]

Name = tuple[str, str]

STEP: Final = 1 << 32
"""The distance between neighbours that are numbered together. At least 32 new names fit between two of them, in any
place."""
LIMIT: Final = 1 << 62


class Ranks:
    """Sorted names, each with a number. The number of a name does not change while the name is here."""

    def __init__(self, names: Iterable[Name]) -> None:
        self._names = sorted(names)
        self._ranks = {name: index * STEP for index, name in enumerate(self._names)}

    def __getitem__(self, name: Name) -> int:
        """The number of the name. Raises KeyError."""
        return self._ranks[name]

    def add(self, name: Name) -> int | None:
        """The number of a new name. None, and nothing is changed, if there is no free number between its neighbours."""
        place = bisect_left(self._names, name)
        below = self._ranks[self._names[place - 1]] if place else None
        above = self._ranks[self._names[place]] if place < len(self._names) else None
        rank = _between(below, above)
        if rank is not None:
            self._names.insert(place, name)
            self._ranks[name] = rank
        return rank

    def remove(self, name: Name) -> None:
        """Forget a name. Raises KeyError."""
        del self._ranks[name]
        del self._names[bisect_left(self._names, name)]


def _between(below: int | None, above: int | None) -> int | None:
    if below is None:
        rank = 0 if above is None else above - STEP
    elif above is None:
        rank = below + STEP
    else:
        rank = (below + above) // 2
        if rank == below:
            return None
    return rank if -LIMIT < rank < LIMIT else None
