"""What a term has learned from the plans before: what the next plan leaves out, so that it does not fail as they did.

Pods that the API server did not delete (`Refusals`), nodes where the scheduler did not take members (`Exclusions`),
nodes where others took freed room, and owners that evict one another (`Sparing`).
"""

from __future__ import annotations

from math import inf

from api.clock import Clock
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan, Ending
from controllers.gangs.metrics import CONFIRMATIONS
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.refusals import Refusals
from controllers.gangs.planning.sparing import Sparing
from nodes.state.snapshot import Snapshot

__all__ = ["Lessons"]


class Lessons:
    """Each lesson ends with time."""

    def __init__(self, roster: Roster, exclusions: Exclusions, sparing: Sparing, clock: Clock) -> None:
        self._roster, self._sparing, self._clock = roster, sparing, clock
        self.exclusions, self._refusals = exclusions, Refusals()

    def apply(self, snapshot: Snapshot, group: GroupKey) -> Snapshot:
        """The snapshot as the group's next plan may use it."""
        return self._sparing.apply(self.prepared(snapshot, group[0]), group)

    def prepared(self, snapshot: Snapshot, namespace: str) -> Snapshot:
        """The snapshot as plans in this namespace may use it: what was refused and excluded lately counts."""
        return self.exclusions.apply(self._refusals.exempt(snapshot), namespace)

    def spares(self, group: GroupKey) -> bool:
        """Whether the group spares an owner because of a cycle."""
        return self._sparing.spares(group)

    def learn(self, plan: ActivePlan, ending: Ending) -> None:
        """The plan has ended so: leave out its refused victims, and nodes where the scheduler did not take members."""
        self._refusals.note(plan.refused, self._clock.monotonic())
        for each in ending.contradictions:
            view = self._roster.view(each.uid)
            if view is not None:
                pod, pod_class = f"{plan.namespace}/{each.name}", view.pod_class
                afar = pod_class.looks_afar
                self.exclusions.note(pod_class.key, each.node, pod, each.seen, looks_afar=afar)
            CONFIRMATIONS.labels("contradicted").inc()

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if len(self._refusals) or len(self.exclusions) or len(self._sparing) else inf

    def tick(self, *, trusted: bool) -> bool:
        """Forget what is old; whether there was any."""
        expired = (
            self._refusals.expire(self._clock.monotonic()),
            self.exclusions.expire(),
            self._sparing.expire(),
        )
        return any(expired)
