"""One preemptor, from the first thing that happens for it until it is bound or gone: whom schedulers preempted for it.

Pure: times are given, in seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Final, Literal

from api.plan_names import PlanKey
from controllers.account.costs import Lost, Room
from controllers.account.remainders import Remainder
from controllers.account.victims import Victim
from runtime.exchange.accounted import NOTHING, Owner, Requests, Standing

__all__ = ["LATE_SECONDS", "Case", "Decision", "Fate"]

Fate = Literal["Served", "ServedNobody", "Open"]

LATE_SECONDS: Final = 10.0
"""How long after a pod was preempted, or a preemptor was bound, an event that belongs to it may come."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An observed plan."""

    plan: PlanKey
    uid: str
    """Of the plan."""
    owner: Owner
    changed: bool
    """Whether it was not decided on the state before the scheduler began."""
    ours: Lost = field(default_factory=Lost)
    """What its victims would have lost, as of the time of the decision."""
    created: float = 0.0
    """When the plan was made, in seconds since the epoch."""
    pods: int = 0
    """How many pods it would evict."""


@dataclass(slots=True, eq=False)
class Case:
    """What happens for a preemptor. `victims` are those that are known to be preempted for it."""

    owner: Owner
    began: float
    episode: float
    """How long after its preemption a victim may still serve, in seconds."""
    decision: Decision | None = None
    complete: float | None = None
    """When the first decision was seen."""
    victims: dict[str, Victim] = field(default_factory=dict)
    ran_on: dict[str, float] = field(default_factory=dict)
    """By node: when a pod of the preemptor was first seen there."""
    whole_at: float | None = None
    end: float | None = None
    """When it was bound, or gone."""
    over: float = inf
    """Since when no other pod of it will get a node."""
    pieces_since: float | None = None
    pieces: float = 0.0
    """For how many seconds it was in pieces before `pieces_since`."""
    idle_since: float | None = None
    """Since when it has been in pieces without a break."""
    held: Room = field(init=False)
    """What it held in pieces. Room that counts as the remainder of a broken group is not in it."""
    holds: Requests = field(default_factory=dict)
    """What it holds in pieces now."""
    is_remainder: bool = False
    """Whether it is followed as the remainder of a broken group."""
    remainders: dict[str, Remainder] = field(default_factory=dict)
    """What stayed of groups that were broken for it, by the UID of the pod that was preempted first."""
    unattributed: int = 0
    """Of pods that were forgotten since."""

    def __post_init__(self) -> None:
        self.held = Room(self.began)

    @property
    def is_untouched(self) -> bool:
        """Whether no scheduler has done anything for it yet."""
        return not self.victims and not self.ran_on

    def stands(self, standing: Standing | None, now: float) -> None:
        """Its newest state; None if it is gone."""
        if standing is None:
            self._pieces(now, goes_on=False)
            self._hold(now)
            self.end = now if self.end is None else self.end
            self.over = min(self.over, now)
            return
        for node in standing.nodes:
            self.ran_on.setdefault(node, now)
        if self.end is None:
            self._pieces(now, goes_on=standing.is_in_pieces)
            self.holds = standing.held
            self._hold(now)
        if standing.is_whole:
            self.whole_at = now if self.whole_at is None else self.whole_at
            self.end = now if self.end is None else self.end
            if not standing.waiting:
                self.over = min(self.over, now)

    def _pieces(self, now: float, *, goes_on: bool) -> None:
        if self.pieces_since is not None:
            self.pieces += now - self.pieces_since
        self.pieces_since = now if goes_on and self.end is None else None
        if self.pieces_since is None:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now

    def _hold(self, now: float) -> None:
        self.held.change(NOTHING if self.is_remainder or self.pieces_since is None else self.holds, now)

    def counts_elsewhere(self, is_remainder: bool, now: float) -> None:
        """Whether the room of the gang counts as the remainder of a broken group from now on."""
        self.is_remainder = is_remainder
        self._hold(now)

    def pieces_until(self, now: float) -> float:
        """For how many seconds it was in pieces, as of now."""
        return self.pieces + (now - self.pieces_since if self.pieces_since is not None else 0.0)

    def fate(self, victim: Victim, now: float) -> Fate:
        """Whether the preemption served somebody, as far as it is known now."""
        ran = self.ran_on.get(victim.node)
        last = victim.at + self.episode
        if ran is not None and self.whole_at is not None and max(ran, self.whole_at) <= last:
            return "Served"
        return "ServedNobody" if now >= min(last, self.over) else "Open"

    def broken(self) -> int:
        """How many groups that are evicted whole lost only a part for it."""
        running, gone = dict[str, int](), dict[str, int]()
        for each in self.victims.values():
            running[each.unit] = max(running.get(each.unit, 0), each.running)
            gone[each.unit] = gone.get(each.unit, 0) + 1
        return sum(running[unit] > count for unit, count in gone.items())

    def is_concluded(self, now: float) -> bool:
        """Whether nothing of it will change."""
        if self.end is None or now < self.end + LATE_SECONDS:
            return False
        if not all(each.over is not None for each in self.remainders.values()):
            return False
        return all(self.fate(each, now) != "Open" for each in self.victims.values())
