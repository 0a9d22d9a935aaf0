"""What a gang's life asks for: the output of the reducer. The planner carries effects out in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from api.plans import MismatchReason, PreemptionPlanSpec
from controllers.gangs.life import ActivePlan, Ending

__all__ = [
    "Advance",
    "CannotSchedule",
    "Commit",
    "Effect",
    "End",
    "Evict",
    "GiveBack",
    "Nominate",
    "Record",
    "Remind",
    "SayPreempting",
    "SayScheduled",
    "Wake",
]


@dataclass(frozen=True, slots=True)
class Record:
    """Store a decision by which nobody goes."""

    spec: PreemptionPlanSpec
    phase: Literal["Unschedulable", "Blocked"]
    reason: str


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
    phase: Literal["Evicting", "Ready"]


@dataclass(frozen=True, slots=True)
class Evict:
    """Ask for the deletion of every victim, beside everything else. Answered by EvictorStopped."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Nominate:
    """Give each unbound member its nomination and bring it back to the scheduler."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Remind:
    """Bring each unbound member back to the scheduler once more."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class End:
    """Give the plan's room back, store how it ended, and bring back whoever was held because of it."""

    plan: ActivePlan
    ending: Ending


@dataclass(frozen=True, slots=True)
class CannotSchedule:
    """Say on the PodGroup and its pods that nobody goes for the gang, and why."""

    phase: Literal["Unschedulable", "Blocked"]
    reason: str
    repeated: bool
    """It was said before, and nothing else has happened since. New members have not heard it."""
    mismatch: MismatchReason | None = None
    """What stands as the reason of the event and the conditions, in place of the phase."""


@dataclass(frozen=True, slots=True)
class SayPreempting:
    """Say that the first eviction is about to be asked for."""

    plan: ActivePlan


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
    | Commit
    | GiveBack
    | Advance
    | Evict
    | Nominate
    | Remind
    | End
    | CannotSchedule
    | SayPreempting
    | SayScheduled
    | Wake
)
