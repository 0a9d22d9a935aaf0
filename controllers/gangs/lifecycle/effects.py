"""What a gang's life asks for: the output of the reducer. The planner carries effects out in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Former
from nodes.search.unmodelled import why_blocked

__all__ = [
    "Advance",
    "Ask",
    "CannotSchedule",
    "Commit",
    "Count",
    "CountObserved",
    "Effect",
    "End",
    "Evict",
    "GiveBack",
    "Judge",
    "Nominate",
    "NominateFirst",
    "Record",
    "Rehearse",
    "Remind",
    "SayAstray",
    "SayKept",
    "SayPreempting",
    "SayReleasing",
    "SayScheduled",
    "SayAttempt",
    "SayUnplanned",
    "Wake",
    "record_of",
]


@dataclass(frozen=True, slots=True)
class Record:
    """Store a decision by which nothing is evicted, or that is only observed."""

    spec: PreemptionPlanSpec
    phase: Literal["Unschedulable", "Blocked", "Observed"]
    reason: str
    changed: str = ""
    """See `controllers.gangs.lifecycle.observations.Decided`."""


def record_of(spec: PreemptionPlanSpec) -> Record | None:
    """How the decision is stored if it is not carried out, so that nothing is evicted; None for a plan to act on."""
    if spec.mode == "Observe":
        return Record(spec, "Observed", why_blocked(spec) or spec.reason)
    if spec.outcome in ("Unschedulable", "SearchBudgetExhausted"):
        return Record(spec, "Unschedulable", spec.reason)
    blocked = why_blocked(spec)
    return Record(spec, "Blocked", blocked) if blocked else None


@dataclass(frozen=True, slots=True)
class Commit:
    """Reserve the plan's room, then store the plan as Planned. Answered by Stored or NotStored."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The plan could not be stored: its room is not reserved any longer."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Advance:
    """Write the plan's next phase. Answered by Stored or NotStored."""

    plan: ActivePlan
    phase: Literal["Confirmed", "Evicting", "Ready"]
    message: str = ""
    """What the phase's condition says."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Bring members back to the scheduler, for its word on their nodes. Answered by Asked, when it is their turn."""

    plan: ActivePlan
    members: tuple[str, ...]
    """UIDs."""


@dataclass(frozen=True, slots=True)
class Count:
    """A plan was confirmed: count its members by who said that they fit."""

    by_scheduler: int
    by_model: int


@dataclass(frozen=True, slots=True)
class CountObserved:
    """A decision is observed that is another one than before: count it."""

    outcome: str
    state: Literal["Same", "Changed"] = "Same"
    """Whether it was made on the state before the scheduler began."""


@dataclass(frozen=True, slots=True)
class Rehearse:
    """Have the API server check every mark and deletion without doing any. Answered by Rehearsed."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Evict:
    """Ask for the deletion of every victim, beside everything else. Answered by EvictorStopped."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Nominate:
    """Give each unbound member whose turn it is its nomination, and bring it back to the scheduler.

    Members of a steered plan are nominated only, and also if they have our scheduling gate: nothing brings them back.
    """

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class NominateFirst:
    """Give each unbound member its nomination before the first eviction. Answered by Nominated."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Remind:
    """Bring each unbound member whose turn it is back to the scheduler once more."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class End:
    """Give the plan's room back, store how it ended, and bring back whoever was held because of it."""

    plan: ActivePlan
    ending: Ending


@dataclass(frozen=True, slots=True)
class Judge:
    """Store whether the evictions of a former plan were in vain, and count them if they were."""

    former: Former
    in_vain: bool
    reason: str
    """A word in CamelCase, as conditions have it."""
    message: str


@dataclass(frozen=True, slots=True)
class CannotSchedule:
    """Say on the PodGroup and its pods that nothing is evicted for the gang, and why."""

    phase: Literal["Unschedulable", "Blocked"]
    reason: str
    """A word in CamelCase, as conditions have it."""
    message: str
    repeated: bool
    """It was said before, and nothing else has happened since. New members have not heard it."""


@dataclass(frozen=True, slots=True)
class SayAstray:
    """Say that members are bound outside of the gang's domain."""

    message: str


@dataclass(frozen=True, slots=True)
class SayPreempting:
    """Say that the first eviction is about to be asked for."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class SayKept:
    """Say that the gang is in pieces, and why its bound members stay."""

    reason: str


@dataclass(frozen=True, slots=True)
class SayReleasing:
    """Say that the gang's own bound members are about to be evicted."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class SayUnplanned:
    """Store and say that kube-scheduler has evicted pods for the gang that its plan does not name."""

    plan: ActivePlan
    pods: frozenset[str]
    """UIDs. They were not said before."""


@dataclass(frozen=True, slots=True)
class SayAttempt:
    """Store when kube-scheduler tries the gang again. People read it, and nothing else."""

    plan: ActivePlan
    seconds: float
    """From now to the attempt, at the latest."""
    is_known: bool
    """Otherwise it is an upper bound."""
    handed_over: float | None
    """Seconds since the plan was handed over; None if it is not."""


@dataclass(frozen=True, slots=True)
class SayScheduled:
    """Say that minCount members are bound."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Bring back the pods that were held because of the gang."""

    reason: str
    message: str


Effect = (
    Record
    | Ask
    | Commit
    | GiveBack
    | Advance
    | Count
    | CountObserved
    | Rehearse
    | Evict
    | Nominate
    | NominateFirst
    | Remind
    | End
    | Judge
    | CannotSchedule
    | SayAstray
    | SayAttempt
    | SayKept
    | SayPreempting
    | SayReleasing
    | SayScheduled
    | SayUnplanned
    | Wake
)
