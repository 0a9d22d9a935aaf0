"""A Workload's status while rules change it, and what is written in the end."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from api.conditions import condition_json
from api.meta import Condition
from api.times import rfc3339
from api.workloads import Workload, WorkloadStatus
from quota.state.amounts import QuotaError
from quota.state.workloads import time_us

__all__ = ["Counted", "Draft", "Event", "Step"]

MESSAGE: Final = 32768
"""The most characters that the API server takes in a condition's message."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event about the Workload, for when the status is written."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str
    about: Workload | None = None
    """Another Workload that the event is about."""
    series: str = ""
    """Events of one series are one object, with the note of the first. Empty: those with the same note are."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a metric counts once the status is written."""

    what: Literal["QuotaReserved", "Admitted", "Evicted", "Preempted"]
    queue: str
    """The ClusterQueue."""
    reason: str = ""
    cause: str = ""
    """Of an eviction: the underlying cause."""
    is_first: bool = False
    """Of an eviction: the Workload was not evicted for this reason and cause before."""


@dataclass(frozen=True, slots=True)
class Step:
    """What follows for a Workload. All of it may be empty."""

    workload: Workload
    """With the new status."""
    status: Mapping[str, Any]
    """A merge patch of the status: the changed fields. A list is written whole, so the patch names a version."""
    deactivates: bool
    """Whether spec.active must become false."""
    events: tuple[Event, ...]
    counted: tuple[Counted, ...]
    again: int | None
    """When time alone changes what follows, in microseconds since 1970."""

    @property
    def writes_status(self) -> bool:
        """Whether there is a status to write."""
        return bool(self.status)


class Draft:
    """The status of one Workload, which rules change one after the other. Times are microseconds since 1970."""

    def __init__(self, workload: Workload, now: int) -> None:
        self.workload, self.now = workload, now
        self.status: WorkloadStatus = copy(workload.status)
        """A copy. A rule replaces fields, and never changes what is in them."""
        self.deactivates = False
        self._conditions = {each.type: each for each in workload.status.conditions or ()}
        self._events: list[Event] = []
        self._counted: list[Counted] = []
        self._again: int | None = None

    # ---- conditions

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type as it is by now."""
        return self._conditions.get(kind)

    def is_true(self, kind: str) -> bool:
        """Whether the condition is True."""
        found = self._conditions.get(kind)
        return found is not None and found.status == "True"

    def is_false(self, kind: str) -> bool:
        """Whether the condition is there and False."""
        found = self._conditions.get(kind)
        return found is not None and found.status == "False"

    def reason(self, kind: str) -> str:
        """The reason of the condition if it is True, otherwise empty."""
        found = self._conditions.get(kind)
        return found.reason if found is not None and found.status == "True" else ""

    def since(self, kind: str) -> int:
        """When the condition got its status; now if that is unknown."""
        found = self._conditions.get(kind)
        return self.at(found.last_transition_time if found is not None else None)

    def at(self, time: str | None) -> int:
        """A time of the object; now if it is missing or cannot be read."""
        try:
            return self.now if time is None else time_us(time, "lastTransitionTime")
        except QuotaError:
            return self.now

    def set(self, kind: str, status: bool, reason: str, message: str) -> None:
        """The condition is now so. Only another status is a transition."""
        before, word = self._conditions.get(kind), "True" if status else "False"
        is_new = before is None or before.status != word
        since = self.time if before is None or is_new else before.last_transition_time
        generation = self.workload.metadata.generation
        if before is not None and not is_new and (before.reason, before.message) == (reason, message):
            generation = before.observed_generation
        self._conditions[kind] = Condition(kind, word, reason, message[:MESSAGE], since, generation)

    def remove(self, kind: str) -> None:
        """The condition is there no longer."""
        self._conditions.pop(kind, None)

    @property
    def time(self) -> str:
        """Now, as objects have it."""
        return rfc3339(self.now / 1_000_000)

    # ---- what follows besides

    def event(
        self,
        type_: Literal["Normal", "Warning"],
        reason: str,
        note: str,
        *,
        about: Workload | None = None,
        series: str = "",
    ) -> None:
        """Tell users, once the status is written. `about`, `series`: see Event."""
        self._events.append(Event(type_, reason, note, about, series))

    def count(self, counted: Counted) -> None:
        """Have a metric count it, once the status is written."""
        self._counted.append(counted)

    def look_again(self, at: int) -> None:
        """Time alone changes what follows then."""
        self._again = at if self._again is None else min(self._again, at)

    def step(self) -> Step:
        """All that follows."""
        self.status.conditions = list(self._conditions.values()) or None
        before, after = self.workload.status, self.status
        changed = {
            name: _wire(getattr(after, field))
            for field, name in FIELDS
            if getattr(after, field) != getattr(before, field)
        }
        workload = self.workload
        if changed:
            workload = msgspec.structs.replace(workload, status=after)
        return Step(
            workload,
            changed,
            self.deactivates,
            tuple(self._events),
            tuple(self._counted),
            self._again,
        )


def _wire(value: object) -> Any:
    """The value as JSON has it."""
    if isinstance(value, list):
        return [condition_json(each) if isinstance(each, Condition) else _wire(each) for each in value]
    return msgspec.to_builtins(value)


FIELDS: Final = tuple((each.name, each.encode_name) for each in msgspec.structs.fields(WorkloadStatus))
