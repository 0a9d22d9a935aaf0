"""The notes of events that say the same of one gang."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.clock import Clock
from controllers.gangs.lifecycle.life import GroupKey
from kube.recorder import SERIES_SECONDS

__all__ = ["Causes"]

REMEMBERED: Final = 32
"""Causes of one gang. The oldest is forgotten first."""
NUMBERS: Final = re.compile(r"\d+")


class _Cause(NamedTuple):
    reason: str
    text: str
    """Without numbers: a retry finds other ones for the same cause."""


@dataclass(slots=True)
class _Note:
    text: str
    last: float
    """When it was last used, in monotonic seconds."""


class Causes:
    """The first note of each cause, by gang. The event recorder makes events of equal notes one series."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[GroupKey, dict[_Cause, _Note]] = {}

    def note(self, key: GroupKey, reason: str, cause: str, note: str) -> str:
        """What an event with this reason says: `note`, or the note of the series that the event continues.

        Two causes are the same if their texts differ only in numbers.
        """
        notes, now = self._notes.setdefault(key, {}), self._clock.monotonic()
        first = notes.setdefault(_Cause(reason, NUMBERS.sub("", cause)), _Note(note, now))
        if now - first.last > SERIES_SECONDS:
            first.text = note
        first.last = now
        if len(notes) > REMEMBERED:
            del notes[next(iter(notes))]
        return first.text

    def forget(self, key: GroupKey) -> None:
        """The gang runs, or is gone."""
        self._notes.pop(key, None)
