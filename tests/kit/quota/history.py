"""What Workloads and queues went through, as an API server's watches told it. What must hold of it is in `quota_rules`
and `quota_rest`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from api.checks import AdmissionCheck
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.meta import Condition, ObjectMeta, Struct
from api.plans import PreemptionPlan
from api.workloads import EVICTED, PREEMPTED, Workload

__all__ = [
    "KINDS",
    "Change",
    "Event",
    "Object",
    "QuotaHistory",
    "becomes",
    "condition_of",
    "is_evicted_now",
    "is_true",
    "preemptor_of",
]

Json = dict[str, Any]


class Regarding(Struct):
    """The object that an event is about."""

    uid: str = ""


class Event(Struct):
    """What the rules need of an Event of events.k8s.io/v1."""

    metadata: ObjectMeta
    regarding: Regarding
    reason: str = ""


Object = (
    ClusterQueue | Cohort | ResourceFlavor | AdmissionCheck | LocalQueue | Workload | PreemptionPlan | Event
)

KINDS: Final[Mapping[str, type[Object]]] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "ResourceFlavor": ResourceFlavor,
    "AdmissionCheck": AdmissionCheck,
    "LocalQueue": LocalQueue,
    "Workload": Workload,
    "PreemptionPlan": PreemptionPlan,
    "Event": Event,
}
"""What is recorded."""


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch: an object as it was, and as it is."""

    version: int
    before: Object | None
    after: Object | None
    at: float = 0.0
    """When the watch sent it, in seconds since the epoch."""


@dataclass
class QuotaHistory:
    """All states of all objects of `KINDS`."""

    faults: list[tuple[float, float]] = field(default_factory=list)
    """When a process or a connection was taken away, and when it came back, in seconds since the epoch."""
    _seen: dict[tuple[int, str], tuple[str, Object, float]] = field(default_factory=dict)
    """By version and UID: ADDED, MODIFIED or DELETED, the object, and when the watch sent it."""
    _lines: dict[tuple[int, str], Json] = field(default_factory=dict)
    _gaps: list[tuple[int, int]] = field(default_factory=list)

    def record(self, event: str, body: Json, at: float = 0.0) -> None:
        """One event of a watch. An event that a second watch tells again is no other event."""
        meta = body["metadata"]
        key = int(meta["resourceVersion"]), meta["uid"]
        if key in self._seen and event != "DELETED":
            return
        item = msgspec.convert(body, KINDS[body["kind"]], strict=False)
        self._seen[key], self._lines[key] = (event, item, at), {"event": event, "at": at, "body": body}

    def gap(self, first: int, last: int) -> None:
        """Nobody watched all kinds between these versions. Each object is known again as it was at `last`."""
        self._gaps.append((first, last))

    def is_known(self, version: int) -> bool:
        """Whether the states of all objects at this version are known."""
        return not any(first < version <= last for first, last in self._gaps)

    def write(self, path: Path) -> None:
        """Every event as a line of JSON, in order, for whoever looks for a cause."""
        path.write_text("".join(f"{json.dumps(self._lines[key])}\n" for key in sorted(self._lines)))

    def changes(self) -> Iterator[Change]:
        """All events, in the order of their versions."""
        last: dict[str, Object] = {}
        for (version, uid), (event, item, at) in sorted(self._seen.items(), key=lambda each: each[0]):
            before = last.pop(uid, None)
            if event == "DELETED":
                yield Change(version, before, None, at)
                continue
            last[uid] = item
            yield Change(version, before, item, at)

    def workloads(self) -> Iterator[tuple[int, Workload | None, Workload]]:
        """Version, state before, and state of each Workload that came or changed."""
        for change in self.changes():
            before, after = change.before, change.after
            if isinstance(after, Workload):
                yield change.version, before if isinstance(before, Workload) else None, after

    def evictions(self) -> list[tuple[int, Workload]]:
        """Version and state of each Workload at its eviction."""
        return [
            (version, after) for version, before, after in self.workloads() if is_evicted_now(before, after)
        ]

    def last(self) -> list[Object]:
        """All objects that are there in the end."""
        there: dict[str, Object] = {}
        for change in self.changes():
            for each in (change.before, change.after):
                if each is not None:
                    there.pop(each.metadata.uid, None)
            if change.after is not None:
                there[change.after.metadata.uid] = change.after
        return list(there.values())


def condition_of(workload: Workload, kind: str) -> Condition | None:
    """The condition of this type."""
    return next((each for each in workload.status.conditions or () if each.type == kind), None)


def is_true(workload: Workload, kind: str) -> bool:
    """Whether the condition of this type is True."""
    found = condition_of(workload, kind)
    return found is not None and found.status == "True"


def becomes(kind: str, before: Object | None, after: Workload) -> bool:
    """Whether the condition is True, and was not."""
    return is_true(after, kind) and not (isinstance(before, Workload) and is_true(before, kind))


def is_evicted_now(before: Object | None, after: Workload) -> bool:
    """Whether this is an eviction; another reason, or a later time, is another one."""
    if becomes(EVICTED, before, after):
        return True
    old = condition_of(before, EVICTED) if isinstance(before, Workload) else None
    new = condition_of(after, EVICTED)
    if old is None or new is None or new.status != "True":
        return False
    return (old.reason, old.last_transition_time) != (new.reason, new.last_transition_time)


def preemptor_of(workload: Workload) -> str:
    """The UID of the Workload that it was evicted for; empty if it was evicted for another reason."""
    evicted = condition_of(workload, EVICTED)
    if evicted is None or evicted.reason != PREEMPTED:
        return ""
    _, _, rest = evicted.message.partition("UID: ")
    return rest.partition(",")[0].rstrip(")")
