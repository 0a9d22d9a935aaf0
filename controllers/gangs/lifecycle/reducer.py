"""The rules of a gang's life: (life, observation, now) → (life, effects).

A pure function. It is the only place where a life changes: planner, verbs, evictor and waker report observations and
carry out effects. The next phase of a life belongs here.

See docs/decisions/0022.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import UNSET

from controllers.gangs.lifecycle.confirming import Confirmed, Unknown, confirm
from controllers.gangs.lifecycle.effects import (
    Ask,
    Commit,
    Count,
    Effect,
    Evict,
    Nominate,
    NominateFirst,
    Record,
    Rehearse,
    Remind,
    SayKept,
    SayPreempting,
    SayReleasing,
    record_of,
)
from controllers.gangs.lifecycle.endings import (
    MODE_CHANGED,
    QUOTA_WITHDRAWN,
    RELEASED_INSTEAD,
    ending_of,
    gone,
)
from controllers.gangs.lifecycle.gathering import members_seen
from controllers.gangs.lifecycle.judging import (
    after_begun,
    after_group,
    remembered,
    verdict,
)
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Life
from controllers.gangs.lifecycle.limiting import still_waits, waits_for_limit
from controllers.gangs.lifecycle.limits import Limited
from controllers.gangs.lifecycle.noting import noted
from controllers.gangs.lifecycle.observations import (
    Asked,
    Compared,
    Decided,
    EnforcementBegan,
    EnforcementEnded,
    Failed,
    GatesRemoved,
    GroupGone,
    LimitSeen,
    MembersSeen,
    Nominated,
    NotDecided,
    NotStored,
    Observation,
    PauseEnded,
    Relented,
    Remembered,
    Resumed,
    Stored,
    ToKeep,
    ToRelease,
)
from controllers.gangs.lifecycle.observed import enforced, observed
from controllers.gangs.lifecycle.pausing import standing, waits
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.probing import Alike, first_round, may_speak, next_round
from controllers.gangs.lifecycle.settings import (
    REMIND_SECONDS,
    Settings,
)
from controllers.gangs.lifecycle.steered import resumed, steered_noted, steered_seen
from controllers.gangs.lifecycle.steps import (
    Step,
    advanced,
    cannot,
    ended,
    failed,
    not_stored,
    unsettled,
    with_other_room,
)

__all__ = ["Step", "reduce"]


def reduce(life: Life, observation: Observation, now: float, settings: Settings) -> Step:
    """The life after the observation, and what has to be done. `now` is in monotonic seconds."""
    match observation:
        case MembersSeen():
            return members_seen(life, observation, now)
        case Decided():
            return _decided(life, observation, now, settings)
        case NotDecided(reason):
            life = replace(life, looked=True, placed=False)
            return cannot(life, "Unschedulable", "Unschedulable", reason, now, settings)
        case GatesRemoved() if life.untried_until is not None:
            return replace(life, untried_until=now + settings.untried_seconds), ()
        case Resumed(plan) if life.plan is None:
            if plan.is_native or plan.is_steered:
                plan = replace(plan, taken_up=now)
            plan = resumed(plan, now) if plan.is_steered else plan
            return replace(life, phase=plan.phase, plan=plan), ()
        case Remembered() if life.plan is None:
            return remembered(life, observation, settings), ()
        case PauseEnded() if life.is_paused:
            return replace(life, looked=False), ()
        case EnforcementBegan() if life.plan is None:
            return enforced(life, now), ()
        case LimitSeen(limited):
            return still_waits(life, limited)
        case Relented():
            return replace(life, barred=0.0, looked=False), ()
        case GroupGone() if life.plan is None:
            return after_group(life, now, settings)
        case ToRelease():
            return _to_release(life, observation, now, settings)
        case ToKeep(reason) if life.partial_since is not None and reason != life.kept:
            return replace(life, kept=reason), (SayKept(reason),)
        case Failed():
            return _fault(life, now, settings)
        case _ if life.plan is not None:
            return _of_plan(life, life.plan, observation, now, settings)
        case _:
            return life, ()


# ---- without a plan


def _decided(life: Life, decided: Decided, now: float, settings: Settings) -> Step:
    if life.plan is not None or (decided.only_free and decided.spec.outcome != "Fits"):
        return life, ()
    if decided.observed:
        return observed(life, decided, now)
    life, judged = verdict(replace(life, looked=True), decided, now, settings)
    life, effects = _decided_anew(life, decided, now, settings)
    return life, (*judged, *effects)


def _decided_anew(life: Life, decided: Decided, now: float, settings: Settings) -> Step:
    spec, former = decided.spec, life.probing
    life = replace(life, placed=False, probing=None)
    record = record_of(spec)
    if record is not None:
        return _recorded(life, record, now, settings)
    if spec.victims and now < life.barred:
        return replace(life, looked=False), ()  # it was made before the verdict; the next one evicts nobody
    if spec.victims and decided.paused:
        return waits(life, decided.paused)
    if decided.limited is not None:
        return _limited(life, decided.limited, now, settings)
    life = replace(life, placed=True)
    alike: Alike = ()
    if spec.victims and spec.evicted_by != "Scheduler":  # otherwise the first attempt is to find the plan
        alike = decided.alike if may_speak(spec, in_vain=life.vain > 0) else ()
        probing = first_round(alike, decided.members, now)
        life = replace(life, probing=probing.decided_again(former))
        until = life.untried_until
        if until is None or decided.gated:
            until = now + settings.untried_seconds
        if decided.gated or (decided.untried and settings.confirmation != "Off" and now < until):
            return replace(life, looked=False, untried_until=until), ()
    seconds = settings.plan_seconds + decided.grace_seconds
    plan = ActivePlan(
        name=decided.name,
        spec=spec,
        members=decided.members,
        alike=alike,
        deadline=now + seconds,
        made=now,
        seconds=seconds,
        writing="Planned",
    )
    return replace(life, phase="Planned", reason="", message="", plan=plan), (Commit(plan),)


def _recorded(life: Life, record: Record, now: float, settings: Settings) -> Step:
    """A decision by which nothing is evicted. It is stored for readers, and made again when something has changed."""
    phase, mismatch = record.phase, record.spec.mismatch
    if phase == "Observed":
        return life, (record,)
    reason = phase if mismatch is UNSET else mismatch
    life, effects = cannot(life, phase, reason, record.reason, now, settings)
    return life, (record, *effects)


def _limited(life: Life, limited: Limited, now: float, settings: Settings) -> Step:
    """The limits on evictions do not allow the decision: now, or at all. It is not stored."""
    if limited.waits:
        return waits_for_limit(life, limited, now)
    life = replace(life, limited=limited)
    return cannot(life, "Blocked", limited.reason, limited.message, now, settings)


def _fault(life: Life, now: float, settings: Settings) -> Step:
    """A fault of ours. What was being written has not been written."""
    life = failed(life, now, settings)
    if life.plan is not None and life.plan.nominating:
        life = replace(life, plan=noted(life.plan, Nominated(done=False), now))
    if life.plan is None or life.plan.writing is None:
        return life, ()
    return not_stored(life, life.plan, NotStored(life.plan.writing, "internal error", False), now, settings)


def _to_release(life: Life, seen: ToRelease, now: float, settings: Settings) -> Step:
    """The bound members of a gang are evicted, by a plan of its own. A plan that frees nothing yet gives way.

    If the gang has lost its quota, any plan gives way. Units that have begun are finished anyway.
    """
    former, since, effects = life.plan, life.partial_since, tuple[Effect, ...]()
    if not seen.demanded and (since is None or now < since + settings.partial_seconds):
        return life, ()
    if former is not None:
        continues = former.withdraws if seen.demanded else former.releases
        frees = former.makes_room and not seen.demanded
        stands = former.handed_over is not None
        if frees or continues or stands or former.writing is not None:
            return life, ()
        ending = QUOTA_WITHDRAWN if seen.demanded else RELEASED_INSTEAD
        life, effects = ended(life, former, ending, now, settings)
    deadline = now + settings.plan_seconds + seen.grace_seconds
    plan = ActivePlan(name=seen.name, spec=seen.spec, members={}, deadline=deadline, writing="Planned")
    return replace(life, phase="Planned", reason="", message="", plan=plan), (*effects, Commit(plan))


# ---- with a plan


def _of_plan(life: Life, plan: ActivePlan, observation: Observation, now: float, settings: Settings) -> Step:
    match observation:
        case GroupGone():
            return ended(life, plan, gone(plan), now, settings)
        case EnforcementEnded():
            return ended(life, plan, MODE_CHANGED, now, settings)
        case PlanSeen():
            return _plan_seen(life, plan, observation, now, settings)
        case Stored(phase) if phase == plan.writing:
            return _stored(life, plan, now, settings)
        case NotStored() if observation.phase == plan.writing:
            return not_stored(life, plan, observation, now, settings)
        case Asked():
            return replace(life, plan=replace(plan, asked=now)), ()
        case Compared(""):
            plan = replace(plan, begun=True, resumed=False)
            return after_begun(replace(life, plan=plan), plan)
        case _:
            note = steered_noted if plan.is_steered else noted
            return replace(life, plan=note(plan, observation, now)), ()


def _plan_seen(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    if plan.writing is not None:
        return life, ()
    plan = with_other_room(standing(plan, seen, now), seen, now)
    life = replace(life, plan=plan)
    if plan.is_steered:
        return steered_seen(life, plan, seen, now, settings)
    ending = ending_of(plan, seen, now)
    if ending is not None:
        return ended(life, plan, ending, now, settings)
    if plan.other_room:
        return life, ()
    if plan.phase == "Planned" and plan.spec.victims:
        return _confirmed(life, plan, seen, now, settings)
    if plan.phase == "Confirmed":
        return _after_confirmed(life, plan, seen, now)
    if plan.phase == "Ready":
        return _ready(life, plan, seen, now, settings)
    if (plan.phase == "Planned" or plan.evicted) and seen.is_free:
        if not seen.gated:
            return advanced(life, plan, "Ready", now)
        return replace(life, plan=replace(plan, room_is_free=True)), ()
    if plan.phase == "Evicting" and not (plan.evicted or plan.evicting or seen.paused) and seen.trusted:
        if not plan.begun and unsettled(plan, seen, now):
            return life, ()
        plan = replace(plan, evicting=True)
        return replace(life, plan=plan), (Evict(plan),)
    return life, ()


def _confirmed(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    """Delayed preemption: the scheduler must agree before anything is evicted."""
    effects: tuple[Effect, ...] = ()
    if not plan.rehearsed and not plan.rehearsing:
        plan = replace(plan, rehearsing=True)
        life, effects = replace(life, plan=plan), (Rehearse(plan),)
    if plan.releases:  # nobody is placed, so there is nothing that the scheduler could say
        return advanced(life, plan, "Evicting", now) if seen.trusted and plan.rehearsed else (life, effects)
    confirmed = confirm(plan, seen, now, settings, after_vain=life.vain > 0)
    if not isinstance(confirmed, Confirmed) and life.probing is not None and seen.gates:
        probing = next_round(life.probing, seen.gates, seen.unbound, now, tried=seen.tried)
        life = replace(life, probing=probing)
    match confirmed:
        case Confirmed() if seen.trusted and plan.rehearsed and not seen.shut:
            life, effects = advanced(life, plan, "Confirmed", now, str(confirmed))
            return life, (*effects, *(Count(confirmed.by_scheduler, confirmed.by_model) for _ in effects))
        case Unknown(members, asked):
            plan = replace(plan, asking=bool(members), asked=asked, asked_again=plan.asking)
            return replace(life, plan=plan), (*effects, *([Ask(plan, members)] if members else []))
        case Ending() as ending:
            return ended(life, plan, ending, now, settings)
        case _:
            return life, effects


def _after_confirmed(life: Life, plan: ActivePlan, seen: PlanSeen, now: float) -> Step:
    if plan.nominated or not plan.nominates_first:
        return advanced(life, plan, "Evicting", now)
    if plan.nominating or now < plan.write_again or unsettled(plan, seen, now):
        return life, ()
    plan = replace(plan, nominating=True)
    return replace(life, plan=plan), (NominateFirst(plan),)


def _ready(life: Life, plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings) -> Step:
    """The members of a wave come back when all members of earlier waves are bound. Each wave has its own time."""
    wave = min((plan.members[uid].wave for uid in seen.unbound), default=plan.wave)
    if wave <= plan.wave:
        return _reminded(life, plan, now)
    until = now + settings.plan_seconds
    plan = replace(plan, wave=wave, wave_deadline=until, next_wake=now + REMIND_SECONDS, wakes=0)
    return replace(life, plan=plan), (Nominate(plan),)


def _reminded(life: Life, plan: ActivePlan, now: float) -> Step:
    if now < plan.next_wake:
        return life, ()
    wakes = plan.wakes + 1
    plan = replace(plan, wakes=wakes, next_wake=now + REMIND_SECONDS * 2**wakes)
    return replace(life, plan=plan), (Remind(plan),)


def _stored(life: Life, plan: ActivePlan, now: float, settings: Settings) -> Step:
    match plan.writing:
        case "Confirmed":
            plan = replace(plan, phase="Confirmed", writing=None)
            return replace(life, phase="Confirmed", plan=plan), ()
        case "Evicting":
            plan = replace(plan, phase="Evicting", writing=None)
            life = replace(life, phase="Evicting", plan=plan, partial_since=None)
            return life, (SayReleasing(plan) if plan.releases else SayPreempting(plan),)
        case "Ready":
            plan = replace(
                plan, phase="Ready", resumed=False, writing=None, next_wake=now + REMIND_SECONDS, wakes=0
            )
            if plan.is_native:  # it gets its room by the attempt after the next one at the latest
                until = now + 2 * settings.attempts.longest(len(plan.members))
                plan = replace(plan, wave_deadline=max(plan.wave_deadline, until))
            since = None if plan.makes_room else life.partial_since
            effects = () if plan.is_steered else (Nominate(plan),)  # its members have their nominations
            return replace(life, phase="Ready", plan=plan, partial_since=since), effects
        case _:
            return replace(life, plan=replace(plan, stored=True, writing=None)), ()
