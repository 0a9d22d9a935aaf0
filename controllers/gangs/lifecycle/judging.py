"""What follows for a life from evictions in vain: verdicts on former plans, and how long the gang evicts nothing.

Pure functions, which the reducer calls.
"""

from __future__ import annotations

from dataclasses import replace

from controllers.gangs.lifecycle.effects import Judge
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Former, Life
from controllers.gangs.lifecycle.observations import Decided, Remembered
from controllers.gangs.lifecycle.pausing import PAUSED
from controllers.gangs.lifecycle.settings import VAIN_AT_MOST, Settings
from controllers.gangs.lifecycle.stored_plan import FORGIVEN
from controllers.gangs.lifecycle.vain import continues

__all__ = ["after_begun", "after_bound", "after_end", "after_group", "remembered", "setback", "verdict"]

Verdict = tuple[Life, tuple[Judge, ...]]


def verdict(life: Life, decided: Decided, now: float, settings: Settings) -> Verdict:
    """What the next decision shows of the former plan.

    A plan that goes on with its room leaves the question open until it evicts itself, or ends.
    """
    former, room = life.former, decided.room
    if former is None or room is None:
        return life, ()
    if not room.pods:
        return replace(life, former=None), ()
    if not continues(former, room, decided.spec):
        return _in_vain(life, "no later plan goes on with the room that it made", now, settings)
    return life, ()


def after_begun(life: Life, plan: ActivePlan) -> Verdict:
    """The plan evicts. If a former one waits for its verdict, this one goes on with its room."""
    if not plan.spec.victims or plan.releases:
        return life, ()
    return _acquitted(life, "Continued", f"plan {plan.name} goes on with the room that it made")


def after_bound(life: Life) -> Verdict:
    """The gang runs. That resets everything."""
    life, effects = _acquitted(life, "Bound", "the gang runs")
    return replace(life, vain=0, setbacks=0, barred=0.0), effects


def after_group(life: Life, now: float, settings: Settings) -> Verdict:
    """The group is gone, and had no plan any more."""
    return _in_vain(life, "the PodGroup was deleted after the plan had ended", now, settings)


def after_end(life: Life, plan: ActivePlan, ending: Ending) -> Verdict:
    """The plan has ended, and not as Bound."""
    if ending.reason == PAUSED:
        return life, ()  # a former plan gets its verdict from the next decision
    if ending.reason in FORGIVEN:
        return _acquitted(life, ending.reason, ending.message)
    if plan.begun and plan.spec.victims and not plan.releases:
        life, effects = after_begun(life, plan)
        return replace(life, former=Former(plan.name, plan.spec)), effects
    return life, ()


def setback(life: Life, now: float, settings: Settings) -> Life:
    """The gang came to nothing once more. After an eviction in vain, each setback doubles the time without one."""
    if not life.vain or life.former is not None or now < life.barred:
        return life
    life = replace(life, setbacks=life.setbacks + 1)
    return replace(life, barred=now + _barred_seconds(life, settings))


def remembered(life: Life, seen: Remembered, settings: Settings) -> Life:
    """The life of a gang that a former process knew."""
    life = replace(life, former=seen.former, vain=seen.vain, setbacks=seen.vain)
    if not seen.vain or seen.relented:
        return life
    return replace(life, barred=seen.at + _barred_seconds(life, settings))


def _acquitted(life: Life, reason: str, message: str) -> Verdict:
    if life.former is None:
        return life, ()
    return replace(life, former=None), (Judge(life.former, False, reason, message),)


def _in_vain(life: Life, why: str, now: float, settings: Settings) -> Verdict:
    if life.former is None:
        return life, ()
    judge = Judge(life.former, True, "EvictedInVain", why)
    life = replace(life, former=None, vain=life.vain + 1, setbacks=life.setbacks + 1)
    return replace(life, barred=now + _barred_seconds(life, settings)), (judge,)


def _barred_seconds(life: Life, settings: Settings) -> float:
    return settings.vain_seconds if life.vain >= VAIN_AT_MOST else settings.vain_delay(life.setbacks)
