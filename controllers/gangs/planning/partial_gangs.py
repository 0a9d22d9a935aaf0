"""Gangs in pieces: finds those that have waited long enough, and has their bound members evicted if the rule says so.

The rule is `controllers.gangs.lifecycle.partial`. `Inquiry` finds out what it asks, and the reducer hears the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.core import Pod
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import ToKeep, ToRelease
from controllers.gangs.lifecycle.partial import Keep, Release, resolve
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.pieces_inquiry import Found, Inquiry
from controllers.gangs.writing.writes import Writes
from kube.errors import ApiError
from nodes.groups.keys import is_foreign

__all__ = ["PartialGangs"]

log = structlog.get_logger(__name__)

AGAIN: Final = Backoff(5.0, 300.0, jitter=0.0)
"""How long a gang whose members stay waits for the next look. A look reads from the API server."""


class PartialGangs:
    """Made for one term. What it knows of looks ends with it."""

    def __init__(
        self,
        inquiry: Inquiry,
        gangs: Gangs,
        roster: Roster,
        writes: Writes,
        patience: float,
        clock: Clock,
        ask: Callable[[GroupKey, Sequence[str]], None],
    ) -> None:
        """`patience`: how long such gangs may take to complete, in seconds. `ask`: have the scheduler try these members
        (UIDs) of a gang."""
        self._inquiry, self._gangs, self._roster, self._writes = inquiry, gangs, roster, writes
        self._patience, self._clock, self._ask = patience, clock, ask
        self._looks: dict[GroupKey, tuple[int, float]] = {}
        """By gang in pieces: how often it was looked at, and when it is looked at again (monotonic seconds)."""

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if self._gangs.partial else inf

    def tick(self, *, trusted: bool) -> bool:
        """Begin to look at the gangs that are due."""
        for gang in self._due() if trusted else ():
            self._writes.put(gang.key, partial(self._resolve, gang))
        return False

    def _due(self) -> list[Gang]:
        """The gangs in pieces that are to be looked at now, in the order of the queue."""
        now, pieces = self._clock.monotonic(), self._gangs.partial
        self._looks = {key: look for key, look in self._looks.items() if key in pieces}
        found = [gang for key in pieces if (gang := self._gangs.get(key)) and self._is_due(gang, now)]
        for gang in found:
            looks = self._looks.get(gang.key, (0, 0.0))[0] + 1
            self._looks[gang.key] = looks, now + AGAIN.delay(looks)
        return sorted(found, key=lambda gang: self._roster.rank(gang.key))

    def _is_due(self, gang: Gang, now: float) -> bool:
        since = gang.life.partial_since
        if self._gangs.modes.observes(gang.key[0]):
            return False
        waited = since is not None and now >= since + self._patience
        return waited and now >= self._looks.get(gang.key, (0, 0.0))[1]

    async def _resolve(self, gang: Gang) -> None:
        """Look at the gang. Observed as ToRelease or ToKeep, or not at all."""
        if is_foreign(gang.key[1]):
            self._gangs.observe(gang, ToKeep("it is no PodGroup of reprieve"))
            return
        try:
            found = await self._inquiry.about(gang)
        except ApiError as error:
            log.warning("a gang in pieces is looked at later", group=gang.key, error=str(error))
            return
        if found is not None and not self._gangs.modes.observes(gang.key[0]):  # its label may have changed
            self._observe(gang, found)

    def _observe(self, gang: Gang, found: Found) -> None:
        pieces, bound = found
        if not pieces.called:
            self._ask(gang.key, [each.uid for each in self._roster.members(gang.key) if each.node is None])
        limited = self._gangs.limits.of(gang.key, {pod.metadata.uid: gang.key[0] for pod in bound})
        if limited is not None:
            pieces = replace(pieces, limited=limited.message)
        verdict = resolve(pieces)
        if isinstance(verdict, Keep):
            self._gangs.observe(gang, ToKeep(verdict.reason))
        spec = self._plan(gang.key, pieces.minimum, bound) if isinstance(verdict, Release) else None
        if spec is not None:
            grace = self._roster.grace_seconds(pod.metadata.uid for pod in bound)
            self._gangs.observe(gang, ToRelease(plan_name(spec), spec, grace))

    def _plan(self, key: GroupKey, minimum: int, bound: list[Pod]) -> PreemptionPlanSpec | None:
        """The decision to evict these members, as one unit; None if the group has no known priority."""
        group, priority = self._roster.group(key), self._roster.group_priority(key)
        if group is None or priority is None:
            return None
        uid = group.metadata.uid
        pods = [
            VictimPod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, pod.spec.node_name)
            for pod in sorted(bound, key=lambda pod: pod.metadata.name)
        ]
        return PreemptionPlanSpec(
            preemptor=Preemptor("PodGroup", group.api_version, *key, uid, priority),
            outcome="Releases",
            reason=f"PodGroup {'/'.join(key)} never ran whole, and {len(pods)} of {minimum} members are bound: "
            "they are released, so that the gang waits as a whole",
            victims=[Victim("PodGroup", *key, uid, priority, False, pods)],
        )
