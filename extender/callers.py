"""Which schedulers call, and when they did last."""

from __future__ import annotations

from typing import Final

import msgspec

from api.clock import Clock
from api.times import rfc3339
from nodes.filters.profile import DEFAULT_SCHEDULER

__all__ = ["Callers"]

MOST: Final = 16
"""The number of names that are kept. A pod may name any scheduler, and the Lease must stay small."""


class Callers:
    """The schedulers by schedulerName, those that called last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._called: dict[str, float] = {}

    def saw(self, scheduler_name: str) -> None:
        """A scheduler asks about a pod with this schedulerName. A pod without one has the default scheduler."""
        name = scheduler_name or DEFAULT_SCHEDULER
        self._called.pop(name, None)
        self._called[name] = self._clock.wall()
        if len(self._called) > MOST:
            del self._called[next(iter(self._called))]

    def text(self) -> str:
        """A JSON object, for the annotation `api.published.SCHEDULERS`."""
        return msgspec.json.encode({name: rfc3339(at) for name, at in sorted(self._called.items())}).decode()
