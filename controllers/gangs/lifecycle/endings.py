"""How a plan comes to an end: a table of rules over the plan and what was last seen of it. The first one decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from api.words import counted
from controllers.gangs.keys import spoken_in
from controllers.gangs.lifecycle.confirming import contradictions
from controllers.gangs.lifecycle.life import ActivePlan, Contradiction, Ending
from controllers.gangs.lifecycle.limiting import limited_ending
from controllers.gangs.lifecycle.pausing import paused_ending
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.settings import (
    ESTIMATES,
    LEAST_ESTIMATE_SECONDS,
    PASS_SECONDS,
    SETTLED_SECONDS,
    TURNED_DOWN_SECONDS,
)

__all__ = [
    "AT_ONCE",
    "CONTINUED",
    "LONGER",
    "MODE_CHANGED",
    "NOT_STORED",
    "QUOTA_WITHDRAWN",
    "RELEASED_INSTEAD",
    "SAID",
    "ending_of",
    "gone",
    "would_end",
]

RELEASED_INSTEAD: Final = Ending(
    "Aborted", "PartialGang", "the bound members of the gang are released instead"
)
QUOTA_WITHDRAWN: Final = Ending("Aborted", "QuotaWithdrawn", "the gang has lost its quota")
MODE_CHANGED: Final = Ending("Aborted", "ModeChanged", "planning.mode is no longer Enforce")
NOT_STORED: Final = Ending("Aborted", "NotStored", "its progress cannot be written")

CONTRADICTED: Final = frozenset({"Contradicted", "TurnedDown"})
"""Endings after which the next plan is made at once, on other nodes."""
AT_ONCE: Final = frozenset({*CONTRADICTED, "SchedulerPreempted"})
"""Endings after which the next plan is made at once."""
CONTINUED: Final = frozenset({"Changed", "MemberGone", "MembersLost", "RoomTaken"})
"""Endings after which the next plan is made at once if this one has evicted: on the room that it made."""
LONGER: Final = frozenset({*CONTRADICTED, "EvictionRefused", "NotAttempted", "NotConfirmed"})
"""Endings after which the gang waits longer than after the one before, however long the plan took."""
SAID: Final = frozenset({"NotAttempted", "NotConfirmed"})
"""Endings that the group's condition tells, because the next plan would end the same."""

BEFORE_EVICTING: Final = frozenset({"Planned", "Confirmed"})

Rule = Callable[[ActivePlan, PlanSeen, float], Ending | None]


def ending_of(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    """Whether the plan has come to an end; None while it goes on."""
    rules = _rules(plan)
    return next((ending for rule in rules if (ending := rule(plan, seen, now)) is not None), None)


def would_end(plan: ActivePlan, seen: PlanSeen, now: float) -> bool:
    """Whether a plan that is handed over would end if it were not."""
    return bool(plan.other_room) or any(rule(plan, seen, now) is not None for rule in OFFERED)


def _rules(plan: ActivePlan) -> tuple[Rule, ...]:
    may_end = plan.begun or plan.opened is None or plan.handed_over is None
    if plan.other_room and may_end:
        return OTHER_ROOM
    if not plan.is_steered:
        return RULES
    if plan.begun:
        return BEGUN
    return HANDED_OVER if plan.handed_over is not None else OFFERED


def gone(plan: ActivePlan) -> Ending:
    """The preemptor does not exist any longer."""
    kind = plan.spec.preemptor.kind
    return Ending("Aborted", f"{kind}Deleted", f"the {kind} is gone")


def _group_gone(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    return gone(plan) if seen.group_gone else None


def _released(plan: ActivePlan, _: PlanSeen, __: float) -> Ending | None:
    if not (plan.releases and plan.evicted):
        return None
    return Ending(
        "Released", "Released", f"the deletion of {counted(len(plan.victims), 'pod')} was asked for"
    )


def _member_gone(_: ActivePlan, seen: PlanSeen, __: float) -> Ending | None:
    if not seen.member_gone:
        return None
    return Ending(
        "Aborted", "MemberGone", f"pod {seen.member_gone} is gone, terminating, gated or another pod now"
    )


def _members_lost(_: ActivePlan, seen: PlanSeen, __: float) -> Ending | None:
    message = "with the planned pods fewer than minCount would run"
    return Ending("Aborted", "MembersLost", message) if seen.members_lost else None


def _bound(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    message = f"all {len(plan.members)} planned pods are bound"
    return Ending("Bound", "Bound", message) if seen.all_bound else None


def _changed(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    changed = plan.changed or seen.changed
    return Ending("Aborted", "Changed", changed) if changed else None


def _eviction_refused(plan: ActivePlan, _: PlanSeen, __: float) -> Ending | None:
    if not plan.refused:
        return None
    return Ending("Aborted", "EvictionRefused", next(iter(plan.refused.values())))


def _contradicted(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    found = contradictions(plan, seen) if plan.phase in BEFORE_EVICTING else ()
    return Ending("Aborted", "Contradicted", found[0].seen, found) if found else None


def _turned_down(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    if plan.is_native:
        return (
            None  # an attempt may fail because of another member, or of what the scheduler has not seen yet
        )
    found = plan.turned_down or _rejected(plan, seen, now)
    return Ending("Aborted", "TurnedDown", found.seen, (found,)) if found is not None else None


def _rejected(plan: ActivePlan, seen: PlanSeen, now: float) -> Contradiction | None:
    for uid, offer in plan.offered.items():
        name, message = seen.messages.get(uid, ("", ""))
        if now - offer.at > TURNED_DOWN_SECONDS and message not in ("", offer.message):
            said = f"the scheduler does not bind pod {name} to its node: {message}"
            return Contradiction(uid, name, plan.members[uid].node, said)
    return None


def _late(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    if plan.paused_since is not None or now < plan.ends_at:
        return None
    found = _unbound(plan, seen) if plan.phase == "Ready" or not plan.is_steered else ()
    return Ending("Expired", "DeadlineExceeded", "the plan was not carried out in time", found)


def _late_after_pass(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    """As `_late`, but not in the middle of a pass: the scheduler may evict by the plan."""
    is_over = plan.handed_over is None or now >= plan.handed_over + PASS_SECONDS
    return _late(plan, seen, now) if is_over else None


def _never_named(plan: ActivePlan, _: PlanSeen, __: float) -> Ending | None:
    """As `_turned_down`, of a steered plan: what the scheduler says of members is about the whole group."""
    found = plan.turned_down
    return Ending("Aborted", "TurnedDown", found.seen, (found,)) if found is not None else None


def _not_presented(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    """The room of a plan that the scheduler has not come back for serves others."""
    if plan.opened is None:
        return None
    estimate = max(LEAST_ESTIMATE_SECONDS, seen.next_attempt - plan.presented)
    waited = now - plan.presented
    if waited < ESTIMATES * estimate:
        return None
    message = f"no scheduler has tried to schedule a pod of the group for {waited:.0f} seconds"
    return Ending("Aborted", "NotAttempted", message)


def _unbound(plan: ActivePlan, seen: PlanSeen) -> tuple[Contradiction, ...]:
    """Members that were offered their node, and that the scheduler did not bind until the deadline."""
    return tuple(
        Contradiction(
            uid,
            plan.members[uid].name,
            plan.members[uid].node,
            f"pod {plan.members[uid].name} was not bound there",
        )
        for uid in plan.offered
        if uid in seen.unbound and uid in plan.members
    )


def _scheduler_preempted(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    """The scheduler has acted for the group, and not by the plan. The next plan is made on the room that it frees."""
    if now < max(plan.other_room_since, seen.last_mark) + SETTLED_SECONDS:
        return None
    return Ending("Aborted", "SchedulerPreempted", plan.other_room)


def _overrun(plan: ActivePlan, seen: PlanSeen, _: float) -> Ending | None:
    if seen.overrun_by is None:
        return None
    by = spoken_in(seen.overrun_by, plan.namespace)
    return Ending("Aborted", "Overrun", f"{by} of higher priority takes its room")


def _room_taken(_: ActivePlan, seen: PlanSeen, __: float) -> Ending | None:
    return Ending("Aborted", "RoomTaken", seen.room_taken) if seen.room_taken else None


RULES: Final[tuple[Rule, ...]] = (
    _group_gone,
    _released,
    _member_gone,
    _members_lost,
    _bound,
    paused_ending,
    limited_ending,
    _changed,
    _eviction_refused,
    _contradicted,
    _turned_down,
    _late,
    _overrun,
    _room_taken,
)

OFFERED: Final[tuple[Rule, ...]] = (
    _group_gone,
    _member_gone,
    _members_lost,
    _bound,
    paused_ending,
    limited_ending,
    _changed,
    _eviction_refused,
    _never_named,
    _not_presented,
    _late,
    _overrun,
    _room_taken,
)
"""Of a steered plan before its hand-over, and when the pass of that is over."""
HANDED_OVER: Final[tuple[Rule, ...]] = (_group_gone, _bound, _late_after_pass)
"""While the scheduler may evict by it: it would do so also if the plan had ended."""
BEGUN: Final[tuple[Rule, ...]] = (
    _group_gone,
    _member_gone,
    _members_lost,
    _bound,
    _changed,
    _never_named,
    _late,
    _overrun,
    _room_taken,
)
"""Once the scheduler evicts by it."""
OTHER_ROOM: Final[tuple[Rule, ...]] = (_group_gone, _member_gone, _members_lost, _bound, _scheduler_preempted)
"""While the scheduler frees other room for the group. What the plan was made from has changed, but not by chance."""
