"""A steered life: kube-scheduler evicts for a gang of its own kind, and the plan says where.

Planned → opened → handed over → Evicting → Ready → Bound. Before a plan is opened, the API server has allowed every
deletion, and every planned member is nominated to its node. Then filter offers the nodes, and our gates go. Once a pass
was offered enough of them, the scheduler may evict at any moment. So the plan stands until a victim is marked, or
until nothing can come of that pass any longer. There is no Confirmed: the scheduler's own attempt confirms.

Pure functions, which the reducer calls. See docs/decisions/0103.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Final

from controllers.gangs.lifecycle.effects import (
    Effect,
    Nominate,
    NominateFirst,
    Rehearse,
    SayAttempt,
    SayUnplanned,
)
from controllers.gangs.lifecycle.endings import ending_of, would_end
from controllers.gangs.lifecycle.judging import after_begun
from controllers.gangs.lifecycle.life import ActivePlan, Contradiction, Life
from controllers.gangs.lifecycle.noting import noted
from controllers.gangs.lifecycle.observations import (
    HandedOver,
    NeverNamed,
    NotOffered,
    Observation,
    Offered,
    PassBegan,
    PreemptCalled,
)
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.settings import LATER_SECONDS, PASS_SECONDS, REMIND_SECONDS, Settings
from controllers.gangs.lifecycle.steps import Step, advanced, ended, unsettled

__all__ = ["resumed", "steered_noted", "steered_seen"]

MOST_DOUBLINGS: Final = 4
"""How often the time between two nominations of one plan doubles."""
SAME_SECONDS: Final = 2.0
"""Estimates of the next attempt that differ by less are the same."""


def resumed(plan: ActivePlan, now: float) -> ActivePlan:
    """The plan as a new process goes on with it. A former one may just have handed it over."""
    if plan.phase == "Planned" or not plan.spec.victims:
        return replace(plan, resumed=True, handed_over=now)
    return _begun(plan, now)


def _begun(plan: ActivePlan, now: float) -> ActivePlan:
    """The scheduler evicts by the plan. So it is carried through, and its nodes are offered from now on."""
    opened = now if plan.opened is None else plan.opened
    return replace(
        plan, begun=True, evicted=True, resumed=False, handed_over=None, opened=opened, presented=now
    )


def steered_noted(plan: ActivePlan, observation: Observation, now: float) -> ActivePlan:
    """What is remembered until the plan is looked at again."""
    match observation:
        case HandedOver(plan.name):
            return _handed_over(plan, now)
        case PassBegan(plan.name):
            return replace(plan, handed_over=None, presented=now)
        case NeverNamed(uid, name) if uid in plan.members:
            seen = f"the scheduler's own filters keep pod {name} off its node"
            found = Contradiction(uid, name, plan.members[uid].node, seen)
            return replace(plan, turned_down=found, presented=now)
        case HandedOver() | PassBegan() | NeverNamed():
            return plan
        case NotOffered() | PreemptCalled():  # in a real pass the victims are still in the way
            return replace(plan, presented=now)
        case Offered():
            return replace(noted(plan, observation, now), presented=now)
        case _:
            return noted(plan, observation, now)


def _handed_over(plan: ActivePlan, now: float) -> ActivePlan:
    """From now on there is a deadline. Another pass does not put it off."""
    deadline = min(plan.deadline, now + plan.seconds)
    return replace(plan, handed_over=now, resumed=False, deadline=deadline, presented=now)


def steered_seen(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    """What follows for a plan from a look at it, while nothing is being written for it."""
    life, effects = _seen(life, plan, seen, now, settings)
    later = _with_attempt(life.plan, seen, now) if life.plan is not None else None
    if later is None:
        return life, effects
    since = now - later.handed_over if later.handed_over is not None else None
    says = SayAttempt(later, seen.next_attempt - now, seen.attempt_known, since)
    return replace(life, plan=later), (*effects, says)


def _with_attempt(plan: ActivePlan, seen: PlanSeen, now: float) -> ActivePlan | None:
    """The plan with the time of the next attempt, if that is to be stored.

    It moves a little with each call of an attempt that goes on. A time that comes soon is not worth a write.
    """
    is_new = abs(seen.next_attempt - plan.said_attempt) > SAME_SECONDS
    is_later = seen.next_attempt >= now + LATER_SECONDS
    return (
        replace(plan, said_attempt=seen.next_attempt)
        if plan.opened is not None and is_later and is_new
        else None
    )


def _seen(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    effects: tuple[Effect, ...] = ()
    if unplanned := seen.unplanned - plan.unplanned:
        plan = replace(plan, unplanned=plan.unplanned | unplanned)
        effects = (SayUnplanned(plan, unplanned),)
    plan = _answered(plan, seen, now)
    life = replace(life, plan=plan)
    if _begins(plan, seen):  # what has changed about its victims is what it waited for
        plan = _with_time(_begun(plan, now), seen, now)
        life, judged = after_begun(replace(life, plan=plan), plan)
        life, more = _goes_on(life, plan, seen, now)
        return life, (*effects, *judged, *more)
    life, more = _stands(life, plan, seen, now, settings)
    return life, (*effects, *more)


def _stands(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    """Whether the plan ends, and what follows if it does not."""
    if plan.resumed and plan.handed_over is not None and now >= plan.handed_over + PASS_SECONDS:
        plan = replace(plan, resumed=False, handed_over=None)
    ending = ending_of(plan, seen, now)
    if ending is not None:
        return ended(life, plan, ending, now, settings)
    stands = plan.handed_over is not None and not plan.begun
    given_up = bool(plan.other_room) or (stands and would_end(plan, seen, now))
    if given_up != plan.given_up:
        plan = replace(plan, given_up=given_up)
    life = replace(life, plan=plan)
    if plan.other_room:
        return life, ()
    return _goes_on(life, plan, seen, now) if plan.begun else _waits(life, plan, seen, now)


def _answered(plan: ActivePlan, seen: PlanSeen, now: float) -> ActivePlan:
    """The condition of the group may have changed: the scheduler says why it did not place it."""
    before, plan = plan.answer, replace(plan, answer=seen.answer)
    if before is None or not seen.answer or seen.answer == before or plan.begun:
        return plan
    if seen.preempts and plan.opened is not None:
        return _handed_over(plan, now)
    return plan if seen.preempts else replace(plan, handed_over=None)


def _begins(plan: ActivePlan, seen: PlanSeen) -> bool:
    """Whether the scheduler has begun to evict by the plan. It has not done so before filter offered anything.

    What a former process offered counts, too, unless the scheduler frees room by its own rule.
    """
    offers = plan.opened is not None or (plan.resumed and not plan.other_room)
    return bool(seen.marked) and offers and not plan.begun and not seen.group_gone


def _with_time(plan: ActivePlan, seen: PlanSeen, now: float) -> ActivePlan:
    """The plan enters a phase. The group comes back by its backoff, which may be longer than a plan may take."""
    return replace(plan, deadline=max(now, seen.next_attempt) + plan.seconds)


def _goes_on(life: Life, plan: ActivePlan, seen: PlanSeen, now: float) -> Step:
    """The scheduler evicts, or has evicted. The room is free once the victims are gone."""
    if plan.phase == "Planned":
        return advanced(life, plan, "Evicting", now)
    if plan.phase == "Evicting":
        return advanced(life, _with_time(plan, seen, now), "Ready", now) if seen.is_free else (life, ())
    return _nominated(life, plan, seen, now)


def _waits(life: Life, plan: ActivePlan, seen: PlanSeen, now: float) -> Step:
    """Nobody was evicted yet."""
    if plan.resumed and plan.opened is None and seen.has_nominations:
        plan = replace(plan, rehearsed=True, nominated=True)  # a former process has done that, in this order
    if plan.spec.victims and not plan.rehearsed:
        if plan.rehearsing:
            return life, ()
        plan = replace(plan, rehearsing=True)
        return replace(life, plan=plan), (Rehearse(plan),)
    if not plan.nominated:
        if plan.nominating or now < plan.write_again or unsettled(plan, seen, now):
            return life, ()
        plan = replace(plan, nominating=True)
        return replace(life, plan=plan), (NominateFirst(plan),)
    if plan.opened is None:
        if not seen.trusted:
            return life, ()
        plan = replace(plan, opened=now, presented=now, deadline=inf, next_wake=now + REMIND_SECONDS)
        return replace(life, plan=plan), ()
    if plan.phase != "Ready" and not plan.spec.victims and seen.is_free and not seen.gated:
        return advanced(life, plan, "Ready", now)
    return _nominated(life, plan, seen, now)


def _nominated(life: Life, plan: ActivePlan, seen: PlanSeen, now: float) -> Step:
    """The scheduler withdraws nominations when it turns members down. Without its own, a member is shown a sample of
    the nodes, and its node may not be among them.
    """
    if seen.has_nominations or plan.handed_over is not None or now < plan.next_wake:
        return life, ()
    wait = REMIND_SECONDS * 2 ** min(plan.wakes, MOST_DOUBLINGS)
    plan = replace(plan, wakes=plan.wakes + 1, next_wake=now + wait)
    return replace(life, plan=plan), (Nominate(plan),)
