"""The rules of a gang's life: (life, observation, now) → (life, effects).

A pure function. It is the only place where a life changes: planner, verbs, evictor and waker report observations and
carry out effects. The next phase of a life belongs here.

See docs/decisions/0022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from msgspec import UNSET

from api.plans import MismatchReason, PreemptionPlanSpec
from controllers.gangs.effects import (
    Advance,
    CannotSchedule,
    Commit,
    Effect,
    End,
    Evict,
    GiveBack,
    Nominate,
    Record,
    Remind,
    SayPreempting,
    SayScheduled,
    Wake,
)
from controllers.gangs.life import ActivePlan, Ending, Life, Offer
from controllers.gangs.observations import (
    Compared,
    Decided,
    DeletionRefused,
    EvictorStopped,
    Failed,
    GroupGone,
    MembersSeen,
    NotDecided,
    NotOffered,
    NotStored,
    Observation,
    Offered,
    PlanSeen,
    PreemptCalled,
    Resumed,
    RoomFreed,
    Stored,
)
from kube.retry import Backoff

__all__ = ["REMIND_SECONDS", "TURNED_DOWN", "TURNED_DOWN_SECONDS", "Rules", "Step", "reduce"]

TURNED_DOWN: Final = (
    "the scheduler turned the last plan down, and nothing has changed since: nobody else is evicted"
)
TURNED_DOWN_SECONDS: Final = 2.0
"""After an offer, a member's new rejection counts only when this time has passed: an older one may be on its way."""

REMIND_SECONDS: Final = 5.0
"""How long a Ready plan's members may stay unbound before they are brought back again. It doubles each time."""

REWRITE_SECONDS: Final = 1.0
"""How long a phase that could not be written waits."""

GROUP_GONE: Final = Ending("Aborted", "PodGroupDeleted", "the PodGroup is gone")

LONGER: Final = frozenset({"TurnedDown", "EvictionRefused"})
"""Endings after which the gang waits longer than after the one before, however long the plan took."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What operators set: the delays between plans in vain, and the seconds a plan may take."""

    backoff: Backoff
    plan_seconds: float


Step = tuple[Life, tuple[Effect, ...]]


def reduce(life: Life, observation: Observation, now: float, rules: Rules) -> Step:
    """The life after the observation, and what has to be done. `now` is in monotonic seconds."""
    match observation:
        case MembersSeen():
            return _members_seen(life, observation)
        case Decided():
            return _decided(life, observation, now, rules)
        case NotDecided(version, reason):
            return _cannot(replace(life, decided=version), "Unschedulable", reason, now, rules)
        case Resumed(plan) if life.plan is None:
            return replace(life, phase=plan.phase, plan=plan), ()
        case RoomFreed():
            return replace(life, decided=None), ()
        case Failed():
            return _fault(life, now, rules)
        case _ if life.plan is not None:
            return _of_plan(life, life.plan, observation, now, rules)
        case _:
            return life, ()


# ---- without a plan


def _members_seen(life: Life, seen: MembersSeen) -> Step:
    if life.plan is not None:
        return life, ()
    satisfied = seen.bound >= seen.minimum
    gathering = seen.members < seen.minimum
    life = replace(life, complete=not gathering and not satisfied)
    if satisfied:
        effects = () if life.phase == "Bound" else (SayScheduled(), Wake("Bound", "the pod group runs"))
        return replace(life, phase="Bound", decided=None, failures=0, due=0.0), effects
    if gathering:
        return replace(life, phase="Gathering", decided=None, failures=0, due=0.0), ()
    return (replace(life, phase="Gathering") if life.phase == "Bound" else life), ()


def _decided(life: Life, decided: Decided, now: float, rules: Rules) -> Step:
    if life.plan is not None:
        return life, ()
    spec = decided.spec
    life = replace(life, decided=decided.version)
    if spec.outcome in ("Unschedulable", "SearchBudgetExhausted"):
        return _recorded(life, spec, "Unschedulable", spec.reason, now, rules)
    if spec.outcome == "Preempts" and spec.not_modelled:
        reason = f"not modelled: {', '.join(spec.not_modelled)}"
        return _recorded(life, spec, "Blocked", reason, now, rules)
    if spec.outcome == "Preempts" and life.barred == decided.version:
        return _cannot(life, "Unschedulable", TURNED_DOWN, now, rules)
    plan = ActivePlan(
        name=decided.name,
        spec=spec,
        members=decided.members,
        deadline=now + rules.plan_seconds,
        writing="Planned",
    )
    return replace(life, phase="Planned", reason="", plan=plan), (Commit(plan),)


def _recorded(
    life: Life,
    spec: PreemptionPlanSpec,
    phase: Literal["Unschedulable", "Blocked"],
    reason: str,
    now: float,
    rules: Rules,
) -> Step:
    """A decision by which nobody goes. It is stored for whoever asks, and made again when something has changed."""
    life, effects = _cannot(
        life, phase, reason, now, rules, mismatch=None if spec.mismatch is UNSET else spec.mismatch
    )
    return life, (Record(spec, phase, reason), *effects)


def _cannot(
    life: Life,
    phase: Literal["Unschedulable", "Blocked"],
    reason: str,
    now: float,
    rules: Rules,
    *,
    mismatch: MismatchReason | None = None,
) -> Step:
    repeated = (life.phase, life.reason) == (phase, reason)
    life = _failed(replace(life, phase=phase, reason=reason), now, rules)
    return life, (CannotSchedule(phase, reason, repeated, mismatch),)


def _failed(life: Life, now: float, rules: Rules, *, again: bool = False) -> Life:
    """A plan was in vain. The delay doubles if the plan was made as soon as the last delay let it, or with `again`."""
    in_a_row = life.failures > 0 and (again or now < life.due + rules.backoff.delay(life.failures))
    failures = life.failures + 1 if in_a_row else 1
    return replace(life, failures=failures, due=now + rules.backoff.delay(failures))


def _fault(life: Life, now: float, rules: Rules) -> Step:
    """A fault of ours. What was being written has not been written."""
    life = _failed(life, now, rules)
    if life.plan is None or life.plan.writing is None:
        return life, ()
    return _not_stored(life, life.plan, NotStored(life.plan.writing, "internal error", False), now, rules)


# ---- with a plan


def _of_plan(life: Life, plan: ActivePlan, observation: Observation, now: float, rules: Rules) -> Step:
    match observation:
        case GroupGone():
            return _ended(life, plan, GROUP_GONE, now, rules)
        case PlanSeen():
            return _plan_seen(life, plan, observation, now, rules)
        case Stored(phase) if phase == plan.writing:
            return _stored(life, plan, now)
        case NotStored() if observation.phase == plan.writing:
            return _not_stored(life, plan, observation, now, rules)
        case _:
            return replace(life, plan=_noted(plan, observation, now)), ()


def _noted(plan: ActivePlan, observation: Observation, now: float) -> ActivePlan:
    """What is only remembered until the plan is looked at again."""
    match observation:
        case Offered(uid, message):
            missed = {each: since for each, since in plan.missed.items() if each != uid}
            offered = plan.offered if uid in plan.offered else {**plan.offered, uid: Offer(now, message)}
            return replace(plan, offered=offered, missed=missed)
        case NotOffered(uid, name):
            since = plan.missed.get(uid)
            if since is None:
                return replace(plan, missed={**plan.missed, uid: now})
            if now - since > TURNED_DOWN_SECONDS:
                return replace(plan, turned_down=f"the scheduler's own filters keep pod {name} off its node")
            return plan
        case PreemptCalled(uid, name) if uid in plan.offered:
            return replace(plan, turned_down=f"the scheduler found no room for pod {name} on its node")
        case Compared(changed):
            return replace(plan, changed=changed) if changed else replace(plan, begun=True)
        case DeletionRefused(uid, message):
            return replace(plan, refused={**plan.refused, uid: message})
        case EvictorStopped(done):
            return replace(plan, evicting=False, evicted=plan.evicted or done)
        case _:
            return plan


def _plan_seen(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, rules: Rules) -> Step:
    if plan.writing is not None:
        return life, ()
    ending = _ending(plan, seen, now)
    if ending is not None:
        return _ended(life, plan, ending, now, rules, version=seen.version)
    if plan.phase == "Planned" and plan.spec.victims:
        # The confirmation by the scheduler (KEP-5710, "Delayed preemption") comes in here.
        return _advanced(life, plan, "Evicting", now)
    if plan.phase == "Ready":
        return _reminded(life, plan, now)
    if (plan.phase == "Planned" or plan.evicted) and seen.is_free:
        return _advanced(life, plan, "Ready", now)
    if plan.phase == "Evicting" and not (plan.evicted or plan.evicting) and seen.trusted:
        plan = replace(plan, evicting=True)
        return replace(life, plan=plan), (Evict(plan),)
    return life, ()


def _advanced(life: Life, plan: ActivePlan, phase: Literal["Evicting", "Ready"], now: float) -> Step:
    """A phase is written before anything is done in it."""
    if now < plan.write_again:
        return life, ()
    plan = replace(plan, writing=phase)
    return replace(life, plan=plan), (Advance(plan, phase),)


def _reminded(life: Life, plan: ActivePlan, now: float) -> Step:
    if now < plan.next_wake:
        return life, ()
    wakes = plan.wakes + 1
    plan = replace(plan, wakes=wakes, next_wake=now + REMIND_SECONDS * 2**wakes)
    return replace(life, plan=plan), (Remind(plan),)


def _stored(life: Life, plan: ActivePlan, now: float) -> Step:
    match plan.writing:
        case "Evicting":
            plan = replace(plan, phase="Evicting", writing=None)
            return replace(life, phase="Evicting", plan=plan), (SayPreempting(plan),)
        case "Ready":
            plan = replace(plan, phase="Ready", writing=None, next_wake=now + REMIND_SECONDS, wakes=0)
            return replace(life, phase="Ready", plan=plan), (Nominate(plan),)
        case _:
            return replace(life, plan=replace(plan, stored=True, writing=None)), ()


def _not_stored(life: Life, plan: ActivePlan, failure: NotStored, now: float, rules: Rules) -> Step:
    if not plan.stored:
        life, effects = _cannot(
            replace(life, plan=None, decided=None),
            "Unschedulable",
            f"its plan cannot be stored: {failure.error}",
            now,
            rules,
        )
        return life, (GiveBack(plan), *effects)
    if failure.for_good:
        ending = Ending("Aborted", "NotStored", "its progress cannot be written")
        return _ended(life, replace(plan, writing=None), ending, now, rules)
    return replace(life, plan=replace(plan, writing=None, write_again=now + REWRITE_SECONDS)), ()


# ---- the end


def _ending(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    """Whether the plan has come to an end; None while it goes on. The first rule that holds decides."""
    return next((ending for rule in ENDINGS if (ending := rule(plan, seen, now)) is not None), None)


def _group_gone(_: ActivePlan, seen: PlanSeen, __: float) -> Ending | None:
    return GROUP_GONE if seen.group_gone else None


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
    changed = plan.changed or (seen.changed if plan.phase == "Planned" else "")
    return Ending("Aborted", "Changed", changed) if changed else None


def _eviction_refused(plan: ActivePlan, _: PlanSeen, __: float) -> Ending | None:
    if not plan.refused:
        return None
    return Ending("Aborted", "EvictionRefused", next(iter(plan.refused.values())))


def _scheduler_turned_down(plan: ActivePlan, seen: PlanSeen, now: float) -> Ending | None:
    message = plan.turned_down or _rejected(plan, seen, now)
    return Ending("Aborted", "TurnedDown", message) if message else None


def _rejected(plan: ActivePlan, seen: PlanSeen, now: float) -> str:
    for uid, offer in plan.offered.items():
        name, message = seen.messages.get(uid, ("", ""))
        if now - offer.at > TURNED_DOWN_SECONDS and message not in ("", offer.message):
            return f"the scheduler does not bind pod {name} to its node: {message}"
    return ""


def _late(plan: ActivePlan, _: PlanSeen, now: float) -> Ending | None:
    message = "the plan was not carried out in time"
    return Ending("Expired", "DeadlineExceeded", message) if now >= plan.deadline else None


def _room_taken(_: ActivePlan, seen: PlanSeen, __: float) -> Ending | None:
    return Ending("Aborted", "RoomTaken", seen.room_taken) if seen.room_taken else None


ENDINGS: Final[tuple[Callable[[ActivePlan, PlanSeen, float], Ending | None], ...]] = (
    _group_gone,
    _member_gone,
    _members_lost,
    _bound,
    _changed,
    _eviction_refused,
    _scheduler_turned_down,
    _late,
    _room_taken,
)


def _ended(
    life: Life, plan: ActivePlan, ending: Ending, now: float, rules: Rules, *, version: int | None = None
) -> Step:
    life = replace(life, plan=None, decided=None, complete=False)
    if ending.phase == "Bound":
        life = replace(life, phase="Bound", failures=0, due=0.0)
    else:
        life = _failed(replace(life, phase="Gathering"), now, rules, again=ending.reason in LONGER)
    if ending.reason == "TurnedDown":
        life = replace(life, barred=version)
    return life, (End(plan, ending),)
