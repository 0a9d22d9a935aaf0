"""Asks the limits on evictions for each decision and each plan, and wakes the gangs that wait for them.

The rules are `controllers.gangs.lifecycle.limits`. See docs/decisions/0112.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

import structlog

from api.clock import Clock
from api.plan_names import PlanKey, whole_plan_name
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan, Life
from controllers.gangs.lifecycle.limiting import may_wait
from controllers.gangs.lifecycle.limits import (
    IN_VAIN,
    NOWHERE,
    Asked,
    EvictionLimits,
    Limited,
    Pods,
    Scope,
    Tally,
    brake,
    limited,
    namespaces_of,
)
from controllers.gangs.lifecycle.observations import LimitSeen
from controllers.gangs.mirror.evicted_pods import EvictedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.writing.writer import Writer
from kube.errors import ApiError
from runtime.mirror.pauses import Pauses

__all__ = ["Limiter", "Reached", "find_names"]

log = structlog.get_logger(__name__)

SAID_AGAIN_SECONDS: Final = 60.0
"""The time until which a gang waits is written again if it differs by this much."""
KEPT: Final = 4
"""Victims are kept for this number of plans for each gang with a plan. Then all are read again."""
NAMED_AT_ONCE: Final = 8


class Reached(NamedTuple):
    """A limit that keeps preemptors waiting."""

    waiting: int
    """Number of preemptors. 0 if nobody is evicted because of plans in vain, and nobody waits for that."""
    until: float | None
    """When the first of them may go on at the earliest, in seconds since the epoch; None if that is not known."""


@dataclass(slots=True)
class _Moment:
    """What all answers of one moment share."""

    now: float
    """In seconds since the epoch."""
    evicted: Tally
    braked: float


class Limiter:
    """Made for one term. It knows the plans that the gangs have now, and what was evicted before."""

    def __init__(
        self,
        limits: EvictionLimits,
        evicted: EvictedPods,
        gangs: Gangs,
        roster: Roster,
        pauses: Pauses,
        clock: Clock,
    ) -> None:
        self._limits, self._evicted, self._gangs, self._roster = limits, evicted, gangs, roster
        self._pauses, self._clock = pauses, clock
        self._pods: dict[PlanKey, Pods] = {}
        """Victims by plan, of plans that gangs have."""

    # ---- questions

    def of(self, group: GroupKey, pods: Pods) -> Limited | None:
        """See `controllers.gangs.lifecycle.limiting.Limiting`.

        Plans of the same priority and above come first. So do preemptors that wait, if their priority is higher, or
        the same and they have waited for longer.
        """
        gang = self._gangs.get(group)
        life = gang.life if gang is not None else Life()
        return self._of(group, pods, life, self._moment())

    def of_plan(self, plan: ActivePlan) -> Limited | None:
        """See `Limiting`. Plans of the same priority have an order, too."""
        if not may_wait(plan):
            return None
        priority = plan.spec.preemptor.priority
        return limited(
            self._limits,
            self._asked(
                self._moment(),
                self._pods_of(plan),
                [
                    self._pods_of(each)
                    for each in self._plans(plan.group)
                    if not may_wait(each) or _rank(each) < _rank(plan)
                ],
                self._waiting(lambda gang: self._priority(gang.key) > priority),
            ),
        )

    def _of(self, group: GroupKey, pods: Pods, life: Life, moment: _Moment) -> Limited | None:
        priority, since = self._priority(group), life.limited_since if life.waits_for_limit else inf

        def is_first(gang: Gang) -> bool:
            first = -self._priority(gang.key), gang.life.limited_since, gang.key
            return gang.key != group and first < (-priority, since, group)

        ahead = [
            self._pods_of(each)
            for each in self._plans(group)
            if not may_wait(each) or each.spec.preemptor.priority >= priority
        ]
        return limited(self._limits, self._asked(moment, pods, ahead, self._waiting(is_first)))

    def reached(self) -> dict[Scope, Reached]:
        """The limits that hold preemptors back, or that would: after plans in vain, nobody is evicted."""
        counts, until = Counter[Scope](), dict[Scope, float]()
        braked = self._moment().braked
        if self._clock.wall() < braked:
            counts[IN_VAIN, NOWHERE], until[IN_VAIN, NOWHERE] = 0, braked
        for _, each in self._held():
            for scope in each.scopes:
                counts[scope] += 1
                if each.until is not None:
                    until[scope] = min(each.until, until.get(scope, inf))
        return {scope: Reached(count, until.get(scope)) for scope, count in counts.items()}

    # ---- the clock

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if any(each.waits for _, each in self._held()) else inf

    def tick(self, *, trusted: bool) -> bool:
        """Have gangs decided anew that the limits allow now, the first ones first."""
        if trusted and (held := [each for each in self._held() if each[1].waits]):
            self._look(held)
        return False

    def _look(self, held: list[tuple[Gang, Limited]]) -> None:
        moment, taken = self._moment(), list[Pods]()
        for gang, before in sorted(held, key=lambda each: self._order(each[0])):
            if not gang.life.looked:
                taken.append(before.pods)  # it is decided anew already
                continue
            now = self._of(gang.key, before.pods, gang.life, moment)
            if now is None and taken:  # those before it may take all that is left
                now = limited(self._limits, self._asked(moment, before.pods, taken, {}))
            if now is None:
                taken.append(before.pods)
                self._gangs.observe(gang, LimitSeen(None))
            elif _differs(now.until, before.until):
                self._gangs.observe(gang, LimitSeen(now))

    # ---- what the answers depend on

    def _moment(self) -> _Moment:
        verdicts = self._evicted.in_vain() if self._limits.in_vain is not None else ()
        now, resumed = self._clock.wall(), self._pauses.resumed
        return _Moment(now, self._evicted.tally(), brake(verdicts, self._limits.in_vain, resumed))

    def _asked(
        self, moment: _Moment, pods: Pods, planned: list[Pods], waiting: dict[Scope, float | None]
    ) -> Asked:
        return Asked(pods, moment.evicted, moment.now, planned, waiting, moment.braked)

    def _plans(self, group: GroupKey) -> Iterator[ActivePlan]:
        """The plans of other gangs that evict, or may soon. Those that are Ready have evicted."""
        plans = (self._gangs.life_of(key).plan for key in self._gangs.planned if key != group)
        return (plan for plan in plans if plan is not None and plan.spec.victims and plan.phase != "Ready")

    def _pods_of(self, plan: ActivePlan) -> Pods:
        key = plan.namespace, plan.name
        pods = self._pods.get(key)
        if pods is None:
            if len(self._pods) > KEPT * (len(self._gangs.planned) + 1):
                self._pods.clear()
            pods = self._pods[key] = namespaces_of(plan.spec)
        return pods

    def _held(self) -> list[tuple[Gang, Limited]]:
        gangs = (self._gangs.get(key) for key in self._gangs.limited)
        return [
            (gang, gang.life.limited) for gang in gangs if gang is not None and gang.life.limited is not None
        ]

    def _waiting(self, is_first: Callable[[Gang], bool]) -> dict[Scope, float | None]:
        """What preemptors wait for that come first."""
        found: dict[Scope, float | None] = {}
        for gang, each in self._held():
            if each.waits and is_first(gang):
                found |= dict.fromkeys(each.scopes, each.until)
        return found

    def _priority(self, group: GroupKey) -> int:
        priority = self._roster.group_priority(group)
        return priority if priority is not None else 0

    def _order(self, gang: Gang) -> tuple[int, float, GroupKey]:
        return -self._priority(gang.key), gang.life.limited_since, gang.key


def _rank(plan: ActivePlan) -> tuple[int, str, str]:
    return -plan.spec.preemptor.priority, plan.namespace, plan.name


def _differs(now: float | None, before: float | None) -> bool:
    if now is None or before is None:
        return now is not before
    return abs(now - before) >= SAID_AGAIN_SECONDS


async def find_names(evicted: EvictedPods, writer: Writer) -> None:
    """Read the namespaces of evicted pods that are gone, where the PreemptionPlans withhold them.

    If they cannot be read, these pods count for every namespace: less may be evicted then, and never more.
    """
    slots = asyncio.Semaphore(NAMED_AT_ONCE)

    async def one(key: PlanKey) -> None:
        async with slots:
            try:
                whole = await writer.find_whole_plan(whole_plan_name(*key))
                if whole is not None:
                    evicted.named(key, whole.spec)
            except (ApiError, ValueError) as error:
                log.warning("what a plan evicted counts for every namespace", plan=key, error=str(error))

    await asyncio.gather(*(one(key) for key in evicted.unnamed()))
