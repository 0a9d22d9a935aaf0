"""The life of a plan of the quota plane, as a function: (life, observation) -> (life, effects).

A plan is active from before its first preemption until its preemptor holds quota, or has changed, or the deadline has
passed. While it is active, the quota that it frees is promised to the preemptor. What a plan did stays readable: its
end is stored, with a reason.

- No Workload is preempted before the plan is stored.
- A victim is called once. From then on it is evicted as soon as it can be written, as long as the plan is active.
- No victim is called after the end.

See docs/decisions/0022 and 0041.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from controllers.quota.life.planned import Planned

__all__ = [
    "ABANDONED",
    "OVERTAKEN",
    "REPLACED",
    "RETRY_US",
    "RETURNED",
    "UNREADABLE",
    "Deleted",
    "EndNotWritten",
    "EndWritten",
    "Ending",
    "Call",
    "Forget",
    "Free",
    "Life",
    "Look",
    "NOT_STORED",
    "NotWritten",
    "Observation",
    "Effect",
    "Overruled",
    "WriteEnd",
    "Written",
    "reduce",
]

RETRY_US: Final = 1_000_000
"""Time after which the write of an end that could not be stored is retried, in microseconds."""

Stage = Literal["Storing", "Evicting", "Ending", "Over"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan ended: the phase and the condition that are stored."""

    phase: Literal["QuotaReserved", "Aborted", "Expired"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Life:
    """Where a plan stands. Times are in microseconds."""

    plan: Planned
    deadline: int
    stage: Stage = "Storing"
    called: frozenset[str] = frozenset()
    """Victims (UIDs) that may be evicted."""
    ending: Ending | None = None
    write_at: int = 0
    """When the end is written again, if that failed."""
    is_writing: bool = False
    """The end is being written."""
    began: int = 0
    """When this process began to carry it out."""
    paused_since: int | None = None
    """Since when nobody may be evicted for it, because of a pause. Its deadline stands still."""

    @property
    def is_active(self) -> bool:
        """Whether its quota is promised to the preemptor."""
        return self.stage in ("Storing", "Evicting")

    @property
    def due(self) -> int | None:
        """When time alone changes something; None if it does not."""
        match self.stage:
            case "Evicting":
                return self.deadline if self.paused_since is None else None
            case "Ending":
                return None if self.is_writing else self.write_at
            case "Storing" | "Over":
                return None


# ---- observations


@dataclass(frozen=True, slots=True)
class Written:
    """The plan is stored, in the phase Evicting."""


@dataclass(frozen=True, slots=True)
class NotWritten:
    """The plan could not be stored. Somebody may find it all the same, if only the answer was lost."""

    again: int
    """When it is tried again."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the cluster shows."""

    now: int
    ending: Ending | None
    """Why the plan is over; None if it goes on. The deadline is not looked at here."""
    to_evict: frozenset[str]
    """Victims (UIDs) that hold the quota and are not on their way out. Each of them may be evicted."""
    paused: str = ""
    """Why nobody may be evicted for the plan now. Then `to_evict` is empty."""
    has_evicted: bool = False
    """Some victims have left, or are on their way out. Looked at while it is paused."""


@dataclass(frozen=True, slots=True)
class Overruled:
    """Somebody else decided: the next plan for the same preemptor is stored, or nobody carries this one out."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object is gone."""


@dataclass(frozen=True, slots=True)
class EndWritten:
    """The end is stored, or there is nothing left to store it in."""


@dataclass(frozen=True, slots=True)
class EndNotWritten:
    """The end could not be stored."""

    now: int


Observation = Written | NotWritten | Look | Overruled | Deleted | EndWritten | EndNotWritten

# ---- effects


@dataclass(frozen=True, slots=True)
class Call:
    """This victim may be evicted from now on."""

    uid: str


@dataclass(frozen=True, slots=True)
class WriteEnd:
    """Store the end."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Free:
    """The promise is over. That is like freed quota: who was parked because of it has to come back."""


@dataclass(frozen=True, slots=True)
class Forget:
    """There is nothing left to do."""


Effect = Call | WriteEnd | Free | Forget
Step = tuple[Life, tuple[Effect, ...]]

NOT_STORED: Final = Ending(
    "Aborted", "NotStored", "the plan could not be stored, so no workload is preempted for it"
)

# How plans end if somebody else decides, and not the cluster.
REPLACED: Final = Ending("Aborted", "Replaced", "the next plan for the same preemptor has taken its place")
OVERTAKEN: Final = Ending(
    "Aborted",
    "NoLongerFits",
    "the preemptor does not fit by this plan any longer, and a cycle found no other way",
)
RETURNED: Final = Ending(
    "Aborted",
    "VictimReturned",
    "the eviction of a victim was called off, and the preemptor still needs its quota: it is decided about anew",
)
PAUSED: Final = "Paused"
"""The reason of a plan that a pause has ended."""
RESUMED: Final = Ending("Aborted", PAUSED, "evictions were paused, and the preemptor is decided about anew")
ABANDONED: Final = Ending("Aborted", "NotCarriedOut", "no process carries this plan out")
UNREADABLE: Final = Ending("Aborted", "Unreadable", "the plan cannot be read")


def reduce(life: Life, seen: Observation) -> Step:
    """The next life, and what is to be done, in this order."""
    if life.stage == "Over":
        return life, ()
    match seen:
        case Written():
            return (replace(life, stage="Evicting"), ()) if life.stage == "Storing" else (life, ())
        case NotWritten(again):
            return _not_written(life, again)
        case Look():
            return _looked(life, seen)
        case Overruled(ending):
            return _end(life, ending)
        case Deleted():
            freed: tuple[Effect, ...] = (Free(),) if life.is_active else ()
            return replace(life, stage="Over"), (*freed, Forget())
        case EndWritten():
            return replace(life, stage="Over", is_writing=False), (Forget(),)
        case EndNotWritten(now):
            return replace(life, is_writing=False, write_at=now + RETRY_US), ()


def _looked(life: Life, seen: Look) -> Step:
    if life.stage == "Storing":
        return life, ()
    if life.stage == "Ending":
        is_due = not life.is_writing and life.ending is not None and seen.now >= life.write_at
        return _write(life, life.ending) if is_due and life.ending is not None else (life, ())
    if seen.ending is not None:
        return _end(life, seen.ending)
    if seen.paused:
        return _paused(life, seen)
    if life.paused_since is not None:
        if seen.to_evict:
            return _end(life, RESUMED)
        by = seen.now - life.paused_since
        life = replace(life, deadline=life.deadline + by, paused_since=None)
    if seen.now >= life.deadline:
        message = "the preemptor did not get its quota before the deadline"
        return _end(life, Ending("Expired", "DeadlineExceeded", message))
    due = seen.to_evict - life.called
    return replace(life, called=life.called | due), tuple(Call(uid) for uid in sorted(due))


def _paused(life: Life, seen: Look) -> Step:
    """A plan that has evicted somebody keeps its promise, and its deadline stands still. Another one ends."""
    if not (life.called or seen.has_evicted):
        return _end(life, Ending("Aborted", PAUSED, seen.paused))
    return replace(life, paused_since=seen.now) if life.paused_since is None else life, ()


def _not_written(life: Life, again: int) -> Step:
    """The object may be there, without an answer: its end is written, so that no later term resumes it."""
    if life.stage != "Storing":
        return life, ()
    ending = replace(life, stage="Ending", ending=NOT_STORED, write_at=again)
    return ending, (Free(),)


def _end(life: Life, ending: Ending) -> Step:
    """The plan is over at once, whenever its end is stored."""
    if not life.is_active:
        return life, ()
    following, effects = _write(replace(life, stage="Ending", ending=ending), ending)
    return following, (Free(), *effects)


def _write(life: Life, ending: Ending) -> Step:
    return replace(life, is_writing=True), (WriteEnd(ending),)
