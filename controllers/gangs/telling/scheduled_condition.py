"""What a gang waits for, in words and numbers: the condition `reprieve.dev/Scheduled` of its PodGroup.

Pure functions. `controllers.gangs.telling.group_status` writes what they return. The reasons are listed in
docs/nodes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

from api.groups import SCHEDULING_GATE
from api.times import rfc3339
from api.words import counted
from controllers.gangs.lifecycle.life import ActivePlan, Life
from controllers.gangs.lifecycle.pausing import PAUSED

__all__ = ["GATHERING", "Numbers", "PlanNumbers", "Said", "as_observed", "say"]


GATHERING: Final = "Gathering"
"""The reason of a gang that waits for members."""
OBSERVING: Final = "Observing"
"""The reason of a gang that waits in a namespace where nothing is done."""


@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """How far a plan is."""

    members: int
    """Planned members that are not bound yet."""
    confirmed: int = 0
    """Of these, the members that the scheduler has confirmed. Counted before the first eviction only."""
    gone: int = 0
    """Victims (pods) that do not exist any longer."""
    leaving: int = 0
    """Pods that terminate on the plan's nodes. Counted if the plan has no victims."""
    paused: str = ""
    """Why nobody is evicted for the plan now."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The gang in numbers, as the mirror shows it."""

    members: int
    required: int
    """How many must run; 0 once enough of them have succeeded."""
    bound: int
    gated: int = 0
    """Pods with a scheduling gate of another program."""
    waits_for_gates: bool = False
    """Pods have our scheduling gate."""
    plan: PlanNumbers | None = None
    """None without a plan."""


@dataclass(frozen=True, slots=True)
class Said:
    """The condition."""

    status: Literal["True", "False"]
    reason: str
    """A word in CamelCase."""
    message: str
    until: float | None = None
    """When this becomes untrue if nothing happens, in monotonic seconds. None: never."""


UNGATING: Final = Said("False", "Ungating", f"members still have the scheduling gate {SCHEDULING_GATE}")


def say(life: Life, seen: Numbers, now: float, wall: float) -> Said:
    """What the gang waits for. `now` is in monotonic seconds, `wall` is the same moment in seconds since the epoch."""
    plan = life.plan
    if plan is not None:
        if plan.phase == "Planned" and not plan.spec.victims and seen.waits_for_gates:
            return UNGATING
        return _of_plan(plan, seen.plan or PlanNumbers(len(plan.members)))
    if life.phase == "Bound":
        return Said("True", "Scheduled", _runs(seen))
    if seen.members < seen.required:
        return _gathering(seen)
    if life.phase == "Observed":
        return Said("False", OBSERVING, life.message)
    for said in (_awaits_siblings(life, seen, now), _backs_off(life, now, wall), _in_vain(life, now, wall)):
        if said is not None:
            return said
    if life.phase in ("Unschedulable", "Blocked"):
        return Said("False", life.reason, life.message)
    if life.untried_until is not None and seen.waits_for_gates:
        return UNGATING
    if life.untried_until is not None and now < life.untried_until:
        message = "a plan that evicts is made once the scheduler has tried every member"
        message = f"{message}, or at {_time(life.untried_until, now, wall)}"
        return Said("False", "ConfirmationPending", message, life.untried_until)
    return Said("False", "Queued", f"{_exist(seen)}; the group waits for its turn to be planned")


def as_observed(said: Said, why: str) -> Said:
    """The same, where nothing is done for the gang. `why`: that is so."""
    if said.status == "True":
        return said
    message = f"{why}, so nothing is done for it: {said.message}"
    return replace(said, reason=OBSERVING, message=message)


# ---- with a plan


def _of_plan(plan: ActivePlan, seen: PlanNumbers) -> Said:
    of_plan = f"(plan {plan.name})"
    if seen.paused and not plan.evicted:
        return Said("False", PAUSED, f"{seen.paused}; {_gone(plan, seen)} {of_plan}")
    if plan.withdraws:
        message = (
            f"the gang has lost its quota, and its bound members are evicted, {_gone(plan, seen)} {of_plan}"
        )
        return Said("False", "QuotaWithdrawn", message)
    if plan.releases:
        message = (
            f"the gang never ran whole, and its bound members are released, {_gone(plan, seen)} {of_plan}"
        )
        return Said("False", "ReleasingMembers", message)
    match plan.phase:
        case "Planned" if plan.spec.victims:
            message = f"the scheduler has confirmed {seen.confirmed} of {counted(seen.members, 'member')}"
            return Said("False", "ConfirmationPending", f"{message} {of_plan}")
        case "Ready":
            bound = len(plan.members) - seen.members
            message = f"the room is free; {bound} of {counted(len(plan.members), 'planned member')} are bound"
            return Said("False", "Ready", f"{message}{_chosen_by_scheduler(plan)} {of_plan}")
        case _:
            return Said("False", "FreeingRoom", f"room is being freed, {_gone(plan, seen)} {of_plan}")


def _chosen_by_scheduler(plan: ActivePlan) -> str:
    """What is said of the members whose devices are not modelled; empty if there are none."""
    free = sum(member.any_node for member in plan.members.values())
    if not free:
        return ""
    return (
        f"; devices are not modelled, so the scheduler chooses the {'node' if free == 1 else 'nodes'} of "
        f"{counted(free, 'member')}, and nothing is evicted for {'it' if free == 1 else 'them'}"
    )


def _gone(plan: ActivePlan, seen: PlanNumbers) -> str:
    if victims := len(plan.victims):
        return f"{seen.gone} of {counted(victims, 'pod')} gone"
    return f"{counted(seen.leaving, 'pod')} still {'terminates' if seen.leaving == 1 else 'terminate'}"


# ---- without a plan


def _runs(seen: Numbers) -> str:
    if not seen.required:
        return "members have succeeded, and none has to run any longer"
    return f"{_are(seen.bound, 'member')} bound, and {seen.required} must run"


def _gathering(seen: Numbers) -> Said:
    if not seen.gated:
        return Said("False", GATHERING, _exist(seen))
    has = "has" if seen.gated == 1 else "have"
    gated = f"{counted(seen.gated, 'pod')} {has} a scheduling gate of another program"
    return Said("False", "SchedulingGated", f"{_exist(seen)}; {gated}")


def _awaits_siblings(life: Life, seen: Numbers, now: float) -> Said | None:
    if now >= life.gathering_until:
        return None
    return Said("False", GATHERING, f"{_exist(seen)}; more may come soon", life.gathering_until)


def _backs_off(life: Life, now: float, wall: float) -> Said | None:
    """The last plan failed. Free room may be taken. A gang for which the search has found nothing waits for changes."""
    if now >= life.due or life.looked:
        return None
    why = f"{life.reason}: {life.message}" if life.reason else "an internal error"
    return Said(
        "False",
        "BackingOff",
        f"no eviction for it before {_time(life.due, now, wall)}, because of {why}",
        life.due,
    )


def _in_vain(life: Life, now: float, wall: float) -> Said | None:
    """Nothing is evicted for the gang for a while."""
    if now >= life.barred:
        return None
    until = _time(life.barred, now, wall)
    if life.phase in ("Unschedulable", "Blocked"):
        return Said("False", life.reason, f"{life.message}; no eviction for it before {until}", life.barred)
    why = f"{counted(life.vain, 'plan')} for it evicted pods in vain"
    return Said("False", "BackingOff", f"no eviction for it before {until}, because {why}", life.barred)


def _exist(seen: Numbers) -> str:
    return f"{seen.members} of {counted(seen.required, 'member')} exist"


def _are(number: int, noun: str) -> str:
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def _time(when: float, now: float, wall: float) -> str:
    """A moment in monotonic seconds, as RFC 3339 says it. It is rounded up to a second."""
    return rfc3339(math.ceil(wall + (when - now)))
