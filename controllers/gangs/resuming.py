"""What a new term resumes: the plans that a former process or term was carrying out."""

from __future__ import annotations

from dataclasses import replace

import structlog

from api.clock import Clock
from api.plans import PreemptionPlanSpec
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.gangs import Gangs
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import Resumed
from controllers.gangs.lifecycle.stored_plan import StoredPlan
from controllers.gangs.mirror.pausing import why_paused
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import with_names
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.promised.claims import Claims

__all__ = ["Resuming"]

log = structlog.get_logger(__name__)


class Resuming:
    """Makes lives from stored plans. Nothing in them is believed: each plan is compared with the cluster again."""

    def __init__(
        self,
        claims: Claims,
        roster: Roster,
        gangs: Gangs,
        evictions: Evictions,
        verdicts: Verdicts,
        clock: Clock,
        *,
        plan_seconds: float,
    ) -> None:
        self._claims, self._roster, self._gangs = claims, roster, gangs
        self._evictions, self._verdicts = evictions, verdicts
        self._clock, self._plan_seconds = clock, plan_seconds
        self._pauses = evictions.mirror.pauses

    def resume(self) -> None:
        """Go on from the plans that a former process was carrying out."""
        for owner in self._claims.stored.owners():
            plans = self._claims.stored.of(owner)
            group = plans[-1].group
            seen = self._verdicts.remember(group, plans)
            if seen is not None:
                self._gangs.observe(self._gangs.gather(group), seen)
        for stored in self._claims.stored:
            spec = stored.active or stored.to_finish
            if spec is not None:
                self._go_on(stored, self._resumed(stored, spec))

    def _go_on(self, stored: StoredPlan, plan: ActivePlan) -> None:
        if stored is not self._claims.stored.to_carry_out(stored.owner):
            self._evictions.finish(plan)
            return
        gang = self._gangs.gather(stored.group)
        self._gangs.observe(gang, Resumed(plan))
        if plan.phase == "Evicting" and not plan.releases:
            self._verdicts.begin(plan)
        log.info("resuming", plan=stored.meta.name, phase=stored.phase)

    def _resumed(self, stored: StoredPlan, spec: PreemptionPlanSpec) -> ActivePlan:
        spec = with_names(spec, self._roster)
        victims = [pod.uid for victim in spec.victims for pod in victim.pods]
        seconds = self._plan_seconds + self._roster.grace_seconds(victims)
        age = max(
            0.0, self._clock.wall() - stored.committed
        )  # a time that is still to come gives no more time
        if why_paused(self._pauses, spec):  # its deadline stood still, and since when is not stored
            age = 0.0
        if spec.evicted_by == "Scheduler":  # its time begins when it is handed over, and that is not stored
            age = 0.0
        plan = ActivePlan(
            name=stored.meta.name,
            spec=spec,
            members=self._roster.planned(spec),
            deadline=self._clock.monotonic() + seconds - age,
            seconds=seconds,
            stored=True,
        )
        if stored.phase in ("Planned", "Confirmed"):
            return plan  # what the scheduler had shown is not stored: it is asked again
        plan = self._in_its_wave(plan)
        # Evicting may be written although no pod was evicted, or by another process: the plan is compared again.
        # Ready is entered again, since it is not written down whether every member was woken.
        begun = any(self._roster.evictable(uid) is None for uid in plan.victims)
        return replace(plan, phase="Evicting", begun=begun, resumed=True, evicted=stored.phase == "Ready")

    def _in_its_wave(self, plan: ActivePlan) -> ActivePlan:
        """The plan with the wave whose turn it is. When that began is not stored: it has the time of all before it."""
        wave = min((member.wave for member in self._roster.waiting(plan).values()), default=0)
        if not wave:
            return plan
        return replace(plan, wave=wave, wave_deadline=plan.deadline + wave * self._plan_seconds)
