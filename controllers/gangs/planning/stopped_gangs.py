"""Gangs that are evicted because they have lost their quota: all running members, by a plan of their own."""

from __future__ import annotations

from math import inf
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.gangs import Gangs
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.limits import namespaces_of
from controllers.gangs.lifecycle.observations import ToRelease
from controllers.gangs.mirror.roster import Roster
from runtime.exchange.queued_groups import QueuedGroups, Stop
from runtime.mirror.pauses import Pauses

__all__ = ["StoppedGangs"]

log = structlog.get_logger(__name__)

AGAIN: Final = Backoff(2.0, 60.0, jitter=0.0)
"""How long a gang waits for the next plan if pods of it are still there: evictions may be refused."""


class StoppedGangs:
    """Made for one term."""

    def __init__(
        self, queued: QueuedGroups, gangs: Gangs, roster: Roster, pauses: Pauses, clock: Clock
    ) -> None:
        self._queued, self._gangs, self._roster, self._clock = queued, gangs, roster, clock
        self._pauses = pauses
        self._said: dict[GroupKey, str] = {}
        """Why a limit on evictions keeps a gang running, as it was last said."""
        self._tries: dict[GroupKey, tuple[str, int, float]] = {}
        """By group: its UID, how many plans were asked for, and when the next one may be (monotonic seconds)."""

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if self._queued.stops else inf

    def tick(self, *, trusted: bool) -> bool:
        """Look at them."""
        if trusted:
            self._look()
        return False

    def _look(self) -> None:
        """Have a plan made for each gang that is to be evicted and has none."""
        stops, now = self._queued.stops, self._clock.monotonic()
        self._tries = {key: tried for key, tried in self._tries.items() if key in stops}
        self._said = {key: why for key, why in self._said.items() if key in stops}
        for key, stop in list(stops.items()):
            if self._pauses.why(key[0]):
                continue
            uid, tries, due = self._tries.get(key, (stop.uid, 0, 0.0))
            gang = self._gangs.gather(key)
            if gang.life.plan is not None and gang.life.plan.withdraws:
                continue
            if uid != stop.uid:
                tries, due = 0, 0.0
            spec = self._plan(key, stop) if now >= due else None
            if spec is None or self._limited(key, spec):
                continue
            self._tries[key] = stop.uid, tries + 1, now + AGAIN.delay(tries + 1)
            grace = self._roster.grace_seconds(pod.uid for pod in spec.victims[0].pods)
            self._gangs.observe(gang, ToRelease(plan_name(spec), spec, grace, demanded=True))

    def _limited(self, key: GroupKey, spec: PreemptionPlanSpec) -> bool:
        """Whether a limit on evictions does not allow it now."""
        limited = self._gangs.limits.of(key, namespaces_of(spec))
        message, before = limited.message if limited is not None else "", self._said.pop(key, "")
        if message:
            self._said[key] = message
        if message != before and message:
            log.warning("a gang without quota is not evicted yet", group=key, why=message)
        return limited is not None

    def _plan(self, key: GroupKey, stop: Stop) -> PreemptionPlanSpec | None:
        """The decision to evict all running members, as one unit; None if none runs, or it is another group now."""
        group, priority = self._roster.group(key), self._roster.group_priority(key)
        if group is None or group.metadata.uid != stop.uid or priority is None:
            return None
        running = self._roster.running_members(key)
        pods = [
            VictimPod(key[0], each.name, each.uid, each.node)
            for each in sorted(self._roster.members(key), key=lambda each: each.name)
            if each.uid in running and each.node is not None
        ]
        if not pods:
            return None
        return PreemptionPlanSpec(
            preemptor=Preemptor("PodGroup", group.api_version, *key, stop.uid, priority),
            outcome="Withdraws",
            reason=f"PodGroup {'/'.join(key)} has no quota: {stop.reason}",
            victims=[Victim("PodGroup", *key, stop.uid, priority, False, pods)],
        )
