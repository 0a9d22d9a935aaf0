"""What the Lease says is still held, whoever leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from api.holds import UNKNOWN, Holds, holds_of
from api.published import HOLDS, PLANNING_MODE, SCHEDULERS

__all__ = ["Holding", "may_hold", "mode_of"]


def mode_of(notes: Mapping[str, str]) -> str | None:
    """The mode of whoever wrote these annotations of a Lease. None: nobody has, or a process without a nodes plane.

    Versions without modes enforce. They name the schedulers that call them, if they can be called.
    """
    return notes.get(PLANNING_MODE, "Enforce" if SCHEDULERS in notes else None)


def may_hold(notes: Mapping[str, str]) -> Holds:
    """What may be held, by the annotations of a Lease."""
    return UNKNOWN if mode_of(notes) == "Enforce" else holds_of(notes.get(HOLDS, ""))


class Holding:
    """Kept by a process for its Lease. Before a term has made its list, it repeats what the former leader said."""

    def __init__(
        self, former: Callable[[], Mapping[str, str] | None] = lambda: None, *, enforces: bool = False
    ) -> None:
        """`former`: the annotations of the Lease as it was seen last; None if there is no Lease. `enforces`: what a
        former process that enforced may hold is no leftover."""
        self._former, self._enforces = former, enforces
        self._list: Callable[[], Holds] | None = None

    def follow(self, listed: Callable[[], Holds]) -> None:
        """A term has made its list. `listed` says what is left."""
        self._list = listed

    def forget(self) -> None:
        """The term is over."""
        self._list = None

    @property
    def now(self) -> Holds:
        """What is held, as far as this process knows."""
        if self._list is not None:
            return self._list()
        notes = self._former()
        if notes is None:
            return Holds()
        return holds_of(notes.get(HOLDS, "")) if self._enforces else may_hold(notes)
