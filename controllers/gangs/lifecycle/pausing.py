"""What a pause does to a plan and to a gang that waits. Pure functions, which the reducer calls.

A plan that has evicted nobody ends. One that has begun keeps its room, and its deadline stands still. When the pause is
over it goes on if nobody is left to evict. Otherwise it ends, too, and the gang is decided anew.

See docs/decisions/0106.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controllers.gangs.lifecycle.effects import CannotSchedule, Effect
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Life
from controllers.gangs.lifecycle.plan_seen import PlanSeen

__all__ = ["PAUSED", "paused_ending", "standing", "waits"]

PAUSED: Final = "Paused"
"""The reason of a gang that waits for the end of a pause, and of a plan that a pause has ended."""

OVER: Final = Ending("Aborted", PAUSED, "evictions were paused, and the gang is decided anew")


def standing(plan: ActivePlan, seen: PlanSeen, now: float) -> ActivePlan:
    """The plan with the time since which it is paused. After the pause, its times are put off by how long that was."""
    since = plan.paused_since
    if seen.paused:
        return plan if since is not None else replace(plan, paused_since=now)
    if since is None or not plan.evicted:
        return plan
    by = now - since
    return replace(
        plan,
        paused_since=None,
        deadline=plan.deadline + by,
        wave_deadline=plan.wave_deadline and plan.wave_deadline + by,
    )


def paused_ending(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    """How a pause ends the plan. `standing` has seen the plan."""
    if plan.paused_since is None or plan.evicted:
        return None
    if not plan.begun:
        return Ending("Aborted", PAUSED, seen.paused) if seen.paused else OVER
    return None if seen.paused else OVER


def waits(life: Life, why: str) -> tuple[Life, tuple[Effect, ...]]:
    """The gang gets no plan that evicts now. That is no failure: it is decided anew when the pause is over."""
    repeated = (life.phase, life.reason, life.message) == ("Unschedulable", PAUSED, why)
    life = replace(life, phase="Unschedulable", reason=PAUSED, message=why, placed=False, probing=None)
    return life, (CannotSchedule("Unschedulable", PAUSED, why, repeated),)
