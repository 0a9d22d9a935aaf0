"""What the limits on evictions do to a plan and to a gang that waits. Pure functions, which the reducer calls.

A plan that has evicted nobody ends, and the gang waits. One that has begun is carried through.

See docs/decisions/0112.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.effects import CannotSchedule, Effect
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Life
from controllers.gangs.lifecycle.limits import REACHED, Limited, Pods
from controllers.gangs.lifecycle.plan_seen import PlanSeen

__all__ = ["Limiting", "NoLimits", "limited_ending", "may_wait", "still_waits", "waits_for_limit"]


class Limiting(Protocol):
    """Who knows how many pods may be evicted now."""

    def of(self, group: GroupKey, pods: Pods) -> Limited | None:
        """Why these pods may not be evicted for the group now; None if they may. It has no plan yet."""

    def of_plan(self, plan: ActivePlan) -> Limited | None:
        """The same for a plan that is stored, or about to be."""


class NoLimits:
    """Nothing is limited."""

    def of(self, group: GroupKey, pods: Pods) -> Limited | None:
        """See `Limiting`."""
        del group, pods
        return None

    def of_plan(self, plan: ActivePlan) -> Limited | None:
        """See `Limiting`."""
        del plan
        return None


def may_wait(plan: ActivePlan) -> bool:
    """Whether the plan has evicted nobody for certain, and need not.

    kube-scheduler may evict by a steered plan as soon as that is open, and a former process may have opened it.
    """
    if not plan.spec.victims or plan.begun or plan.phase not in ("Planned", "Confirmed"):
        return False
    return not plan.is_steered or (plan.opened is None and not plan.resumed)


def limited_ending(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    """How the limits end the plan, before its first eviction only."""
    if seen.limited is None or not may_wait(plan):
        return None
    return Ending("Aborted", seen.limited.reason, seen.limited.message)


def waits_for_limit(life: Life, limited: Limited, now: float) -> tuple[Life, tuple[Effect, ...]]:
    """The gang gets no plan that evicts now. That is no failure: it is decided anew when the limits allow it."""
    since = life.limited_since if life.waits_for_limit else now
    repeated = (life.phase, life.reason, life.message) == ("Unschedulable", REACHED, limited.message)
    life = replace(
        life,
        phase="Unschedulable",
        reason=REACHED,
        message=limited.message,
        placed=False,
        probing=None,
        limited=limited,
        limited_since=since,
    )
    return life, (CannotSchedule("Unschedulable", REACHED, limited.message, repeated),)


def still_waits(life: Life, limited: Limited | None) -> tuple[Life, tuple[Effect, ...]]:
    """The limits were looked at again for a gang that waits. None: it is decided anew."""
    if not life.waits_for_limit:
        return life, ()
    if limited is None:
        return replace(life, looked=False), ()
    return waits_for_limit(life, limited, life.limited_since)
