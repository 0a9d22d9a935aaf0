"""The life of what is proposed for one Workload, as a function: (life, observation) -> (life, effects).

A Workload that waits for a closed preemption gate has one plan in the phase Proposed, which says what it would cost.
The spec of a plan cannot change. So another decision is another object:

- The former object is deleted before the next one is created. There is at most one.
- An object that says the same as the decision stays, however old it is. Work that goes on being lost is no news.
- The next one is created at the earliest `EVERY_US` after the one before it.
- When the wait ends, nothing is left.

See docs/decisions/0096.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as replace_fields

from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec

__all__ = [
    "EVERY_US",
    "Create",
    "Created",
    "Decided",
    "Delete",
    "Deleted",
    "Due",
    "Effect",
    "Found",
    "NotCreated",
    "NotDeleted",
    "Observation",
    "Over",
    "ProposalLife",
    "Vanished",
    "reduce",
    "same_decision",
]

EVERY_US: Final = 10_000_000
"""The least time between two objects for one Workload, in microseconds."""
RETRY_US: Final = 5_000_000
"""Time after which a write that failed is tried again at first, in microseconds."""
LONGEST_US: Final = 300_000_000
"""The longest such time."""


@dataclass(frozen=True, slots=True)
class ProposalLife:
    """Where the proposal of a Workload stands. Times are in microseconds since 1970."""

    wanted: PreemptionPlanSpec | None = None
    """The newest decision; None: the Workload does not wait for a gate."""
    there: frozenset[str] = frozenset()
    """Names of the objects that exist, or may exist because an answer was lost."""
    current: str = ""
    """The name of the object that is known to be complete; "" if there is none."""
    says: PreemptionPlanSpec | None = None
    """What that object says."""
    writing: str = ""
    """The object that is being created or deleted; "" if none is."""
    next_at: int = 0
    """The next object is not created before."""
    again_at: int = 0
    """After a failure nothing is written before."""
    failures: int = 0
    """In a row."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do, and nothing that the next proposal depends on."""
        return self.wanted is None and not self.there and not self.writing

    @property
    def due(self) -> int | None:
        """When time alone changes something; None if it does not."""
        if self.writing or (not self.there and self.wanted is None):
            return None
        if self.wanted is None or self.there - {self.current}:
            return self.again_at
        return None if self._is_said else max(self.next_at, self.again_at)

    @property
    def _is_said(self) -> bool:
        said, wanted = self.says, self.wanted
        return bool(self.current) and said is not None and wanted is not None and same_decision(said, wanted)


def same_decision(one: PreemptionPlanSpec, other: PreemptionPlanSpec) -> bool:
    """Whether both preempt the same Workloads by the same rules, for the same quota and at the same cost.

    Work that is lost grows while the decision stays. What is free changes, too, and the names of others are withheld
    where the plan is stored.
    """
    return _essence(one) == _essence(other)


def _essence(spec: PreemptionPlanSpec) -> object:
    quota, cost = spec.preemptor.quota, spec.cost
    return (
        (spec.preemptor.uid, spec.preemptor.priority),
        quota and (quota.cluster_queue, quota.path, quota.generation, quota.borrowing),
        quota and [(each.flavor, each.resource, each.asked) for each in quota.amounts],
        sorted((each.uid, each.priority, str(each.quota)) for each in spec.victims),
        cost and replace_fields(cost, pod_seconds=0),
    )


# ---- observations


@dataclass(frozen=True, slots=True)
class Decided:
    """A cycle decided for whom the Workload would preempt others, and the nodes plane agrees."""

    spec: PreemptionPlanSpec
    now: int


@dataclass(frozen=True, slots=True)
class Over:
    """The Workload does not wait for a gate any longer, or would preempt nobody."""

    now: int


@dataclass(frozen=True, slots=True)
class Found:
    """An object that this process did not write. `says`: None if it cannot be read."""

    name: str
    says: PreemptionPlanSpec | None
    created: int
    now: int


@dataclass(frozen=True, slots=True)
class Created:
    """The object is stored, with its phase."""

    name: str
    spec: PreemptionPlanSpec
    now: int


@dataclass(frozen=True, slots=True)
class NotCreated:
    """It could not be stored. It may exist all the same."""

    now: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """We have deleted the object, or it was gone."""

    name: str
    now: int


@dataclass(frozen=True, slots=True)
class Vanished:
    """The watch says that the object is gone."""

    name: str
    now: int


@dataclass(frozen=True, slots=True)
class NotDeleted:
    """It could not be deleted. It may be gone all the same."""

    now: int


@dataclass(frozen=True, slots=True)
class Due:
    """It is time."""

    now: int


Observation = Decided | Over | Found | Created | NotCreated | Deleted | Vanished | NotDeleted | Due

# ---- effects


@dataclass(frozen=True, slots=True)
class Create:
    """Store this decision under this name."""

    name: str
    spec: PreemptionPlanSpec


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this object."""

    name: str


Effect = Create | Delete


def reduce(life: ProposalLife, seen: Observation) -> tuple[ProposalLife, tuple[Effect, ...]]:
    """The next life, and what is to be written: one object at a time."""
    return _next(_observed(life, seen), seen.now)


def _observed(life: ProposalLife, seen: Observation) -> ProposalLife:
    match seen:
        case Decided(spec, _):
            return replace(life, wanted=spec)
        case Over():
            return replace(life, wanted=None)
        case Found(name, says, created, now):
            next_at = max(life.next_at, min(created, now) + EVERY_US)
            found = replace(life, there=life.there | {name}, next_at=next_at)
            return found if life.current or says is None else replace(found, current=name, says=says)
        case Created(name, spec, _):
            there = life.there | {name}
            return replace(life, writing="", there=there, current=name, says=spec, failures=0)
        case NotCreated(now):
            return _failed(replace(life, next_at=0), now)
        case Deleted(name, _):
            return _without(replace(life, writing="", failures=0), name)
        case Vanished(name, _):
            # A name may be used again: what is being written is not what has vanished.
            return life if name == life.writing else _without(life, name)
        case NotDeleted(now):
            # It may be gone, if only the answer was lost.
            unsure = replace(life, current="", says=None) if life.writing == life.current else life
            return _failed(unsure, now)
        case Due():
            return life


def _failed(life: ProposalLife, now: int) -> ProposalLife:
    wait = min(RETRY_US << life.failures, LONGEST_US)
    return replace(life, writing="", again_at=now + wait, failures=min(life.failures + 1, 10))


def _without(life: ProposalLife, name: str) -> ProposalLife:
    left = replace(life, there=life.there - {name})
    return replace(left, current="", says=None) if life.current == name else left


def _next(life: ProposalLife, now: int) -> tuple[ProposalLife, tuple[Effect, ...]]:
    due = life.due
    if due is None or due > now:
        return life, ()
    stale = sorted(life.there - {life.current}) or sorted(life.there)
    if stale:
        return replace(life, writing=stale[0]), (Delete(stale[0]),)
    if life.wanted is None:
        return life, ()
    name = plan_name(life.wanted)
    creating = replace(life, writing=name, there=life.there | {name}, next_at=now + EVERY_US)
    return creating, (Create(name, life.wanted),)
