"""What is kept of one stored PreemptionPlan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from api.meta import ObjectMeta
from api.plan_names import PlanKey
from api.plans import Phase, PreemptionPlanSpec, PreemptionPlanStatus
from api.stored_plans import FORGIVEN, IN_VAIN, is_judged
from api.times import parse_rfc3339
from controllers.gangs.keys import GroupKey, lone_pod
from controllers.gangs.lifecycle.effects import Record
from controllers.gangs.lifecycle.limits import HOUR_SECONDS
from controllers.gangs.lifecycle.settings import RELEASE_SECONDS

__all__ = [
    "ACTIVE",
    "COUNTED_SECONDS",
    "FINALIZER",
    "FORGIVEN",
    "IN_VAIN",
    "InVain",
    "Owner",
    "StoredPlan",
    "is_open",
    "owner_of",
    "seconds_of",
]

ACTIVE: Final[frozenset[Phase]] = frozenset({"Planned", "Confirmed", "Evicting", "Ready"})
"""Phases in which a plan holds room, and is resumed after a restart."""

FINALIZER: Final = "reprieve.dev/active-plan"
"""Keeps an active plan from being deleted in the middle of its evictions. We remove it when the plan ends."""

COUNTED_SECONDS: Final = 900.0
"""How long after a decision was concluded its plan is needed. A report has it after five minutes, and a new leader may
come in between."""
DAY_SECONDS: Final = 86400.0

ENDED_EARLY: Final = ("Aborted", "Expired", "Released")
"""Phases in which a plan may end that has not become Ready."""

Owner = tuple[str, str, str]
"""The kind of a preemptor, and the two parts of its key. Two pods of one name are two owners."""


def owner_of(key: GroupKey) -> Owner:
    """The preemptor of this key."""
    return "PodGroup" if lone_pod(key) is None else "Pod", *key


class InVain(NamedTuple):
    """The verdict that a plan's evictions were in vain."""

    at: float
    """Seconds since the epoch."""
    generation: int
    """The PodGroup's at that time."""


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What is kept of a PreemptionPlan. Times are seconds since the epoch."""

    meta: ObjectMeta
    owner: Owner
    preemptor: str
    """The UID of its owner."""
    status: PreemptionPlanStatus
    finalized: bool
    """It carries our finalizer."""
    committed: float
    """When it was planned last: the same decision, made again, is the same object."""
    touched: float
    """When its phase changed last, or the same decision was made again."""
    evicting: float
    """When it began to evict last; 0 if it did not."""
    bound: float
    """When it was Bound last; 0 if it was not."""
    in_vain: InVain | None
    spec: PreemptionPlanSpec | None
    """The decision, if the plan is one to act on: it has not ended, or has to be cleared up, or nobody knows yet
    whether it evicted in vain."""
    releases: bool = False
    """Its victims are the bound members of its own gang."""
    unwritten: Record | None = None
    """How the decision is to be stored, if nothing is evicted by it and it has no phase: its term ended before the
    second write, or that failed."""

    @property
    def group(self) -> GroupKey:
        """The preemptor, as the planner calls it."""
        return self.owner[1:]

    @property
    def made_for(self) -> tuple[str, ...]:
        """See `runtime.plans.plan_retention.Aging`."""
        return *self.owner, self.preemptor

    @property
    def decided(self) -> float | None:
        """When this decision was made last. None if the process died before it wrote the status."""
        return seconds_of(self.status.last_decision_time)

    @property
    def order(self) -> tuple[float, bool, str]:
        """Sorts a preemptor's plans by when they were decided. The end of a plan may be written after the next one.

        Times are whole seconds. Of two decisions in a second, one that has not ended is the later one.
        """
        decided = self.touched if self.decided is None else max(self.decided, self.committed)
        return decided, self.active is not None, self.meta.name

    @property
    def evicted(self) -> bool:
        """Evictions may have been asked for."""
        return self.evicting > 0.0

    @property
    def evicts(self) -> bool:
        """Evictions may still be asked for: it goes on, or units that it has begun are being finished."""
        return self.evicted and (self.phase == "Evicting" or (self.finalized and self.phase not in ACTIVE))

    @property
    def evicted_until(self) -> float:
        """The latest time at which it evicted, as far as is stored: when its room was free, or it ended without."""
        times = {
            each.type: seconds_of(each.last_transition_time) or 0.0 for each in self.status.conditions or ()
        }
        ready = times.get("Ready", 0.0)
        ended = max((times.get(type_, 0.0) for type_ in ENDED_EARLY), default=0.0)
        last = ready if ready >= self.evicting else ended
        return max(self.evicting, last)

    @property
    def has_ended(self) -> bool:
        """Nobody is to carry it out."""
        return self.active is None

    @property
    def observed(self) -> bool:
        """Nothing is done for it, in whatever mode."""
        return self.phase == "Observed"

    def is_in_account(self, now: float) -> bool:
        """Whether the account still needs it: it goes on, or was concluded so lately that no report may have it yet.

        What was not written for a day goes on for nobody.
        """
        said = self.status.instead
        if not self.observed or said is None:
            return False
        needed = COUNTED_SECONDS if said.concluded else DAY_SECONDS
        return now - (seconds_of(said.as_of) or 0.0) < needed

    @property
    def remembered_seconds(self) -> float:
        """A plan that released members is known as long as it forbids another one.

        A verdict counts for two hours (`limits.plansInVainPerHour`). It may come long after the end.
        """
        verdict = self.in_vain.at - self.touched + 2 * HOUR_SECONDS if self.in_vain is not None else 0.0
        return max(verdict, RELEASE_SECONDS if self.releases else 0.0)

    @property
    def active(self) -> PreemptionPlanSpec | None:
        """The decision, if the plan has not ended and is one to act on."""
        return self.spec if self.phase in ACTIVE else None

    @property
    def to_finish(self) -> PreemptionPlanSpec | None:
        """The decision, if the plan has ended in its evictions: begun units may not be finished, marks may be left."""
        return self.spec if self.phase not in ACTIVE and self.evicted and self.finalized else None

    @property
    def to_undo(self) -> PreemptionPlanSpec | None:
        """The decision, if something of it may be left where nothing is enforced any longer."""
        return self.spec if self.active is not None or self.finalized else None

    @property
    def to_judge(self) -> PreemptionPlanSpec | None:
        """The decision, if the plan evicted and has ended, and nobody knows yet whether that was in vain."""
        return self.spec if not self.releases and is_open(self.status) else None

    @property
    def key(self) -> PlanKey:
        """(namespace, name)."""
        return self.meta.namespace, self.meta.name

    @property
    def phase(self) -> Phase:
        """The stored phase. A process may die before it writes the first one."""
        return self.status.phase or "Planned"


def is_open(status: PreemptionPlanStatus) -> bool:
    """Whether the plan evicted and has ended, and has no verdict although it needs one."""
    return not is_judged(status)


def seconds_of(text: str | None) -> float | None:
    """Seconds since the epoch. None without a time, or with one that cannot be read: anybody may have written it."""
    try:
        return parse_rfc3339(text) if text else None
    except ValueError:
        return None
