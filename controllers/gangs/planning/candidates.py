"""What the planning queue knows of a gang that waits for a plan."""

from __future__ import annotations

from collections.abc import Callable

from api.clock import Clock
from controllers.gangs.gangs import Gang
from controllers.gangs.keys import GroupKey, lone_pod
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.probes import Probes
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.planning_queue import Candidate
from controllers.gangs.planning.singles import Singles
from nodes.state.potential import NOBODY

__all__ = ["Candidates"]


class Candidates:
    """Reads it from the mirror and from the gang's life."""

    def __init__(
        self,
        roster: Roster,
        evidence: Evidence,
        singles: Singles,
        clock: Clock,
        waits: Callable[[GroupKey], bool],
        modes: Modes,
        probes: Probes,
    ) -> None:
        """`waits`: whether a group waits for quota. Nothing is planned for it then."""
        self._roster, self._evidence, self._waits = roster, evidence, waits
        self._singles, self._clock, self._modes, self._probes = singles, clock, modes, probes

    def of(self, gang: Gang) -> Candidate | None:
        """The gang as a candidate; None if it wants no plan."""
        life = gang.life
        wants_plan = life.wants_plan and (lone_pod(gang.key) is None or self._singles.wants(gang.key))
        if wants_plan and self._waits(gang.key):
            return None
        demand = self._roster.demand(gang.key) if wants_plan else None
        if demand is None:
            return None
        return Candidate(
            rank=self._roster.rank(gang.key),
            demand=demand,
            below=self._below(gang),
            due=self._due(gang),
            looked=life.looked,
            failed=life.failures > 0,
            gathering=self._clock.monotonic() < life.gathering_until,
            observed=self._modes.observes(gang.key[0]),
        )

    def _below(self, gang: Gang) -> int:
        priority = self._roster.group_priority(gang.key)
        if (
            priority is None
            or self._clock.monotonic() < gang.life.barred
            or not self._roster.evicts(gang.key)
        ):
            return NOBODY
        return priority

    def _due(self, gang: Gang) -> float:
        """Members that the scheduler tries are awaited: it shows on which nodes they fit."""
        life = gang.life
        if self._clock.monotonic() < life.gathering_until:
            return max(life.due, life.gathering_until)
        if life.untried_until is None or self._clock.monotonic() >= life.untried_until:
            return life.due
        is_untried = self._evidence.is_untried(gang.key, self._probes.gated)
        if is_untried or not self._probes.may_be_tried(gang.key, life.probing):
            return max(life.due, life.untried_until)
        return life.due
