"""What stays of groups that are evicted whole by rule, after a scheduler has preempted a part of them.

Pure: times are given, in seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from controllers.account.costs import Amounts, Room
from controllers.account.victims import Victim
from runtime.exchange.accounted import NOTHING, OwnerKey, Stayed

__all__ = ["Remainder", "Remainders"]

LEAST_SECONDS: Final = 1.0
"""Pods of one preemption come one after the other. What stays for less than this is not said."""


@dataclass(slots=True, eq=False)
class Remainder:
    """From the preemption of one pod until the others go too, or enough run again."""

    breaker: Victim
    """The first one of its pods that was preempted. The remainder counts where that counts."""
    key: OwnerKey
    gone: Collection[str]
    """The pods (UIDs) that the group has lost. It grows."""
    room: Room
    told: bool = False
    """Whether it is known what stayed."""
    over: float | None = None

    def stays(self, stayed: Stayed | None, now: float) -> None:
        """What is left; None if the group is gone."""
        least = stayed.minimum if stayed is not None and stayed.minimum is not None else self.breaker.running
        if stayed is None or not stayed.requests or stayed.placed >= least:
            self.end(now)
            return
        self.room.change(stayed.requests, now if self.told else self.breaker.at)
        self.told = True

    def end(self, now: float) -> None:
        """Nothing is added any longer."""
        self.room.change(NOTHING, now)
        self.over = now

    def idle(self, now: float) -> Amounts:
        """What it held until now, times the time."""
        until = now if self.over is None else self.over
        return self.room.until(until) if until - self.breaker.at >= LEAST_SECONDS else {}


@dataclass(slots=True)
class _Group:
    key: OwnerKey
    victims: set[str] = field(default_factory=set)
    last: Remainder | None = None


class Remainders:
    """Those of all groups that have lost a pod, by the UID of the group."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._begun: dict[str, None] = {}

    def __len__(self) -> int:
        return sum(len(each.victims) for each in self._groups.values())

    def lost(self, victim: Victim) -> Remainder | None:
        """A pod of a group is preempted. Returns what begins by it."""
        if not victim.of_whole or victim.group_key is None:
            return None
        group = self._groups.setdefault(victim.unit, _Group(victim.group_key))
        group.victims.add(victim.uid)
        self._begun[victim.unit] = None
        if group.last is not None and group.last.over is None:
            return None
        group.last = Remainder(victim, group.key, group.victims, Room(victim.at))
        return group.last

    def open(self, group: str) -> Remainder | None:
        """What is left of the group (UID), as long as that is followed."""
        last = self._groups[group].last if group in self._groups else None
        return last if last is not None and last.over is None else None

    def begun(self) -> list[tuple[str, OwnerKey]]:
        """The groups that have lost a pod since the last call."""
        begun, self._begun = self._begun, {}
        return [(each, self._groups[each].key) for each in begun if each in self._groups]

    def drop(self, victim: Victim) -> None:
        """The pod is forgotten."""
        group = self._groups.get(victim.unit)
        if group is None:
            return
        group.victims.discard(victim.uid)
        if not group.victims:
            del self._groups[victim.unit]
