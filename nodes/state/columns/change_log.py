"""Logs of changes. Who remembers how far it has read a log sees later what has changed since."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ["ChangeLog"]

T = TypeVar("T")

REMEMBERED: Final = 50_000
"""The minimum number of changes kept. Older ones are reported as unknown."""


class ChangeLog(Generic[T]):
    """The last changes in their order. What a change is said with is of type T."""

    __slots__ = ("_changes", "count")

    def __init__(self) -> None:
        self.count = 0
        """Changes so far."""
        self._changes: list[T] = []

    def note(self, change: T) -> None:
        """Something has changed."""
        self.count += 1
        self._changes.append(change)
        if len(self._changes) >= 2 * REMEMBERED:
            del self._changes[:REMEMBERED]

    def since(self, count: int) -> list[T] | None:
        """The changes since `count` was this, the oldest one first; None if they are not known any longer.

        A negative count stands for a time before all known changes.
        """
        new = self.count - count
        if count < 0 or new > len(self._changes):
            return None
        return self._changes[len(self._changes) - new :]
