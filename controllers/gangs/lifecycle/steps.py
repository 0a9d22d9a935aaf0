"""Steps that all plans share: a phase is written, a plan ends, and the gang waits.

Pure functions, which the rules of lives call (`controllers.gangs.lifecycle.reducer` and `steered`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from controllers.gangs.lifecycle.effects import Advance, CannotSchedule, Effect, End, GiveBack
from controllers.gangs.lifecycle.endings import AT_ONCE, CONTINUED, LONGER, MODE_CHANGED, NOT_STORED, SAID
from controllers.gangs.lifecycle.gathering import at_rest
from controllers.gangs.lifecycle.judging import after_bound, after_end, setback
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Life
from controllers.gangs.lifecycle.limits import LIMIT, REACHED
from controllers.gangs.lifecycle.observations import NotStored
from controllers.gangs.lifecycle.pausing import PAUSED
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.settings import REPLANS_AT_ONCE, REWRITE_SECONDS, SETTLED_SECONDS, Settings

__all__ = ["Step", "advanced", "cannot", "ended", "failed", "not_stored", "unsettled", "with_other_room"]

Step = tuple[Life, tuple[Effect, ...]]

HELD_BACK: Final = frozenset({PAUSED, LIMIT, REACHED})
"""Endings that are no failure of the plan. The gang is decided anew, and waits."""


def advanced(
    life: Life,
    plan: ActivePlan,
    phase: Literal["Confirmed", "Evicting", "Ready"],
    now: float,
    message: str = "",
) -> Step:
    """A phase is written before anything is done in it."""
    if now < plan.write_again:
        return life, ()
    plan = replace(plan, writing=phase)
    return replace(life, plan=plan), (Advance(plan, phase, message),)


def with_other_room(plan: ActivePlan, seen: PlanSeen, now: float) -> ActivePlan:
    """The plan, which remembers that the scheduler has freed other room for its group."""
    if plan.other_room or not seen.other_room:
        return plan
    return replace(plan, other_room=seen.other_room, other_room_since=now)


def unsettled(plan: ActivePlan, seen: PlanSeen, now: float) -> bool:
    """Whether the scheduler may be evicting for the group by its own rule, and nothing shows it yet.

    It tried the group just before this term began, and nobody answered. It tries no gated pods.
    """
    return plan.taken_up is not None and not seen.gated and now < plan.taken_up + SETTLED_SECONDS


def not_stored(life: Life, plan: ActivePlan, failure: NotStored, now: float, settings: Settings) -> Step:
    if not plan.stored:
        life, effects = cannot(
            replace(life, plan=None, looked=False),
            "Unschedulable",
            "NotStored",
            f"its plan cannot be stored: {failure.error}",
            now,
            settings,
        )
        return life, (GiveBack(plan), *effects)
    if failure.for_good:
        return ended(life, replace(plan, writing=None), NOT_STORED, now, settings)
    return replace(life, plan=replace(plan, writing=None, write_again=now + REWRITE_SECONDS)), ()


# ---- the end


def ended(life: Life, plan: ActivePlan, ending: Ending, now: float, settings: Settings) -> Step:
    """The plan is over. What follows for the gang depends on how it ended."""
    life = replace(life, plan=None, looked=False, complete=False)
    end = End(plan, ending)
    life, judged = after_bound(life) if ending.phase == "Bound" else after_end(life, plan, ending)
    life, effects = _goes_on(life, plan, ending, now, settings)
    return life, (end, *judged, *effects)


def _goes_on(life: Life, plan: ActivePlan, ending: Ending, now: float, settings: Settings) -> Step:
    if ending.phase == "Bound":
        return at_rest(replace(life, phase="Bound", has_run=True, partial_since=None)), ()
    if plan.releases:
        return replace(life, phase="Gathering", partial_since=None), ()
    if ending is MODE_CHANGED:
        return replace(life, phase="Gathering", reason="", message="", due=now), ()
    if ending.reason in HELD_BACK:
        return replace(life, phase="Gathering", reason=ending.reason, message=ending.message, due=now), ()
    if ending.reason in SAID:
        return cannot(life, "Unschedulable", ending.reason, ending.message, now, settings, again=True)
    life = replace(life, phase="Gathering", reason=ending.reason, message=ending.message)
    at_once = ending.reason in AT_ONCE or (plan.begun and ending.reason in CONTINUED)
    if at_once and life.replans < REPLANS_AT_ONCE:
        return replace(life, replans=life.replans + 1, due=now), ()
    return failed(life, now, settings, again=ending.reason in LONGER), ()


def cannot(
    life: Life,
    phase: Literal["Unschedulable", "Blocked"],
    reason: str,
    message: str,
    now: float,
    settings: Settings,
    *,
    again: bool = False,
) -> Step:
    repeated = (life.phase, life.reason, life.message) == (phase, reason, message)
    life = replace(life, phase=phase, reason=reason, message=message, probing=None)
    life = failed(life, now, settings, again=again)
    return life, (CannotSchedule(phase, reason, message, repeated),)


def failed(life: Life, now: float, settings: Settings, *, again: bool = False) -> Life:
    """A plan was in vain. The delay doubles if the plan was made as soon as the last delay let it, or with `again`."""
    life = setback(life, now, settings)
    in_a_row = life.failures > 0 and (again or now < life.due + settings.backoff.delay(life.failures))
    failures = life.failures + 1 if in_a_row else 1
    return replace(life, failures=failures, due=now + settings.backoff.delay(failures))
