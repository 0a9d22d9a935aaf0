"""Gangs without a plan whose members look at pods on other nodes: by affinity, anti-affinity or topology spread.

A pod that comes to a node or leaves one may help them, wherever that is, and whether or not room becomes free.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from api.clock import Clock
from controllers.gangs.lifecycle.life import GroupKey
from nodes.search.preemptors.demand import Demand
from nodes.state.slots import Slots

__all__ = ["PAUSE_SECONDS", "LookingAfar"]

PAUSE_SECONDS: Final = 5.0
"""Such a gang is searched for again after this time at the earliest: pods come and go all the time."""


class _Look(NamedTuple):
    at: float
    moves: int


class LookingAfar:
    """When each of them was searched for, and which pods had come and gone until then.

    The one that waits for the longest comes first. Pods have come or gone since any search only if they have since the
    first one. So an event costs the same, however many gangs wait.
    """

    def __init__(self, slots: Slots, clock: Clock) -> None:
        self._slots, self._clock = slots, clock
        self._looks: OrderedDict[GroupKey, _Look] = OrderedDict()

    def looked(self, key: GroupKey, demand: Demand) -> None:
        """The gang was searched for, and there is no plan."""
        if any(each.looks_afar for each, _ in demand.waiting):
            self._note(key)

    def forget(self, key: GroupKey) -> None:
        """The gang wants no plan."""
        self._looks.pop(key, None)

    def take(self) -> list[GroupKey]:
        """The gangs that a pod may have helped since. They are named once."""
        helped = list[GroupKey]()
        while self.due_in() == 0.0:
            helped.append(key := next(iter(self._looks)))
            self._note(key)
        return helped

    def due_in(self) -> float | None:
        """Seconds until `take` names one; None if nothing has happened."""
        first = next(iter(self._looks.values()), None)
        if first is None or first.moves == self._slots.moves:
            return None
        return max(0.0, first.at + PAUSE_SECONDS - self._clock.monotonic())

    def _note(self, key: GroupKey) -> None:
        self._looks[key] = _Look(self._clock.monotonic(), self._slots.moves)
        self._looks.move_to_end(key)
