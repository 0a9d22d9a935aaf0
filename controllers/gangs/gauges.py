"""Gauges of gangs and plans. They are read when somebody asks for the metrics, so they never outlast a term."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from api.clock import Clock
from api.holds import COUNTED
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.life import GangPhase, GroupKey, victim_uids
from controllers.gangs.lifecycle.limits import IN_VAIN, NAMES, LimitName
from controllers.gangs.metrics import (
    GANGS,
    GANGS_IN_PIECES,
    GANGS_NOT_ASKED_ABOUT,
    IN_PIECES_SECONDS,
    LEFTOVERS,
    LIMIT_REACHED,
)
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.observing import Observing
from controllers.gangs.writing.stored import StoredPlans
from runtime.metrics import PLAN_OVERDUE_SECONDS

__all__ = ["Gauges"]


class Gauges:
    """What the gauges show of one process."""

    def __init__(
        self,
        leading: Callable[[], Leading | Observing | None],
        stored: StoredPlans,
        roster: Roster,
        clock: Clock,
        plan_seconds: float,
    ) -> None:
        """`leading`: what acts or observes now, if this process leads. `plan_seconds`: planDeadlineSeconds."""
        self._leading, self._stored, self._roster = leading, stored, roster
        self._clock, self._plan_seconds = clock, plan_seconds

    def export(self) -> None:
        """Have the metrics of this Python process show them."""
        for phase in get_args(GangPhase):
            GANGS.labels(phase).set_function(lambda phase=phase: self.gangs(phase))  # type: ignore[misc] # a default of a lambda has no type
        GANGS_IN_PIECES.set_function(self.in_pieces)
        IN_PIECES_SECONDS.set_function(self.in_pieces_seconds)
        for name in NAMES:
            LIMIT_REACHED.labels(name).set_function(lambda name=name: self.limited(name))  # type: ignore[misc] # as above
        for what in COUNTED:
            LEFTOVERS.labels(what).set_function(lambda what=what: self.left(what))  # type: ignore[misc] # as above
        GANGS_NOT_ASKED_ABOUT.set_function(self.not_asked_about)
        PLAN_OVERDUE_SECONDS.labels("nodes").set_function(self.plan_overdue_seconds)

    def gangs(self, phase: GangPhase) -> int:
        """Gangs in this phase."""
        leading = self._leading()
        return leading.gangs.phases[phase] if leading is not None else 0

    def in_pieces(self) -> int:
        """Gangs in pieces."""
        leading = self._leading()
        return len(leading.gangs.partial) if leading is not None else 0

    def in_pieces_seconds(self) -> float:
        """For how long the oldest of them has been so."""
        leading, now = self._leading(), self._clock.monotonic()
        gangs = [leading.gangs.get(key) for key in leading.gangs.partial] if leading is not None else []
        since = [gang.life.partial_since for gang in gangs if gang is not None]
        return max((now - at for at in since if at is not None), default=0.0)

    def limited(self, name: LimitName) -> int:
        """Preemptors that this limit on evictions holds back."""
        leading = self._leading()
        limiter = leading.limiter if isinstance(leading, Leading) else None
        if limiter is None:
            return 0
        found = [each.waiting for (limit, _), each in limiter.reached().items() if limit == name]
        return max(sum(found), 1) if found and name == IN_VAIN else sum(found)

    def left(self, what: str) -> int:
        """How much of this a former Enforce has left."""
        leading = self._leading()
        found: int = getattr(leading.undoing.holds(), what) if leading is not None else 0
        return found

    def not_asked_about(self) -> int:
        """Gangs that have a place by our model, and whose scheduler does not call us."""
        leading = self._leading()
        if not isinstance(leading, Leading):
            return 0
        return sum(gang.life.placed and not self._is_known(leading, gang.key) for gang in leading.gangs)

    def _is_known(self, leading: Leading, group: GroupKey) -> bool:
        """Whether every scheduler that its waiting members name has called."""
        kinds = self._roster.gang_members(group).kinds
        return all(leading.callers.has_called(each.scheduler) for each in kinds)

    def plan_overdue_seconds(self) -> float:
        """By how much the oldest plan that has not ended is beyond its deadline."""
        now, worst = self._clock.wall(), 0.0
        for plan in self._stored:
            if plan.active is None or (late := now - plan.committed - self._plan_seconds) <= worst:
                continue
            late -= self._plan_seconds * max((each.wave or 0 for each in plan.active.placements), default=0)
            worst = max(worst, late - self._roster.grace_seconds(victim_uids(plan.active)))
        return worst
