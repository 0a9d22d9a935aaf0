"""What happened in several clusters, as the watches of all of them told it, and within which time each event came.

A watch tells an event late. So each event has bounds: it was certainly stored after the first and before the second.
They come from samples: a request that is answered with resourceVersion N was sent before N+1 was stored, and answered
after N was. A rule that compares two clusters finds a fault only if the bounds leave no doubt.
"""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["MANAGER", "Bounds", "Event", "Fault", "History", "Json", "Sample", "Span"]

Json = dict[str, Any]
MANAGER: Final = "manager"
"""The name of the manager's cluster."""


class Bounds(NamedTuple):
    """Monotonic seconds: something happened after `low` and before `high`, or at that moment if they are equal."""

    low: float
    high: float


NEVER: Final = Bounds(math.inf, math.inf)


class Span(NamedTuple):
    """A time in which something held of an object."""

    begin: Bounds
    end: Bounds
    event: Event
    """Since which it held."""

    @property
    def certain(self) -> tuple[float, float]:
        """When it certainly held. Empty if the end is not after the begin."""
        return self.begin.high, self.end.low

    def surely_has(self, moment: Bounds) -> bool:
        """Whether it certainly held when something else happened."""
        return self.begin.high < moment.low and moment.high < self.end.low


class Sample(NamedTuple):
    """A request, and the resourceVersion that was answered."""

    sent: float
    answered: float
    version: int


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a watch."""

    at: float
    """When it arrived."""
    cluster: str
    what: str
    """ADDED, MODIFIED or DELETED."""
    body: Json

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def meta(self) -> Json:
        meta: Json = self.body["metadata"]
        return meta

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.meta.get('namespace', '')}/{self.meta['name']}"

    @property
    def version(self) -> int:
        return int(self.meta["resourceVersion"])

    @property
    def identity(self) -> tuple[str, int]:
        """No other event of a cluster has it."""
        return str(self.meta["uid"]), self.version


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was taken away from `begin` to `end` (monotonic seconds; infinite while it lasts)."""

    what: str
    """`cut`: the manager cannot reach the cluster. `down`: no reprieve of this cluster works."""
    cluster: str
    begin: float
    end: float = math.inf


@dataclass
class History:
    """Events in the order of their arrival, faults, and what a test did by hand."""

    lost_after: float = 6.0
    """`workerLostTimeoutSeconds`."""
    settle: float = 10.0
    """How long the manager may need, in seconds, until it has put in order what was away."""
    heartbeat: float = 5.0
    """Seconds between renewals of the manager's Lease in a worker cluster. Where nothing else happens, the cluster may
    have been silent for as long when it is cut off. Silence is counted from the last word (decision 100)."""
    events: list[Event] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    by_hand: set[tuple[str, str, int]] = field(default_factory=set)
    """Cluster, UID and resourceVersion that a test's own write led to: no rule judges it."""
    notes: list[tuple[float, str]] = field(default_factory=list)
    """What the test did, in words."""
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    # ---- what is recorded

    def record(self, event: Event) -> None:
        """Add an event."""
        self.events.append(event)

    def sample(self, cluster: str, sample: Sample) -> None:
        """Add a sample. Those of a cluster come in order, and their versions never go back."""
        self.samples.setdefault(cluster, []).append(sample)

    def note(self, at: float, text: str) -> None:
        """What a test does now."""
        self.notes.append((at, text))

    # ---- time

    def bounds(self, event: Event) -> Bounds:
        """When the event was stored."""
        samples = self.samples.get(event.cluster, [])
        place = bisect.bisect_left(samples, event.version, key=lambda each: each.version)
        low = samples[place - 1].sent if place else (-math.inf if samples else event.at)
        high = min(event.at, samples[place].answered) if place < len(samples) else event.at
        return Bounds(min(low, high), high)

    def absences(self, cluster: str) -> list[tuple[float, float]]:
        """When the manager could not know what is in the cluster, each until it had time to put things in order."""
        return [
            (fault.begin, self._in_order(fault.end))
            for fault in self.faults
            if fault.what == "cut" and fault.cluster == cluster
        ]

    def losses(self, cluster: str) -> list[tuple[float, float]]:
        """When the cluster may have counted as lost."""
        silent = max(0.0, self.lost_after - self.heartbeat)
        return [(begin + silent, end) for begin, end in self.absences(cluster) if end - begin > silent]

    def _in_order(self, end: float) -> float:
        """When things are in order after this moment: the manager has worked for the whole time to settle."""
        ready = end + self.settle
        for fault in sorted(self.faults, key=lambda each: each.begin):
            if fault.what == "down" and fault.cluster == MANAGER and fault.begin < ready and fault.end > end:
                ready = max(ready, fault.end + self.settle)
        return ready

    # ---- what is asked

    def of(self, kind: str, *clusters: str) -> Iterator[Event]:
        """Events of a kind, of these clusters or of all."""
        return (
            each for each in self.events if each.kind == kind and (not clusters or each.cluster in clusters)
        )

    @property
    def workers(self) -> list[str]:
        """The clusters that have events, but for the manager."""
        return sorted({each.cluster for each in self.events} - {MANAGER})

    def spans(self, kind: str, cluster: str, holds: Callable[[Json], bool]) -> dict[str, list[Span]]:
        """By UID: when something held of the objects of a kind."""
        began: dict[str, Event] = {}
        found: dict[str, list[Span]] = {}
        for event in self.of(kind, cluster):
            uid = str(event.meta["uid"])
            now = event.what != "DELETED" and holds(event.body)
            if now and uid not in began:
                began[uid] = event
            elif not now and uid in began:
                first = began.pop(uid)
                found.setdefault(uid, []).append(Span(self.bounds(first), self.bounds(event), first))
        for uid, first in began.items():
            found.setdefault(uid, []).append(Span(self.bounds(first), NEVER, first))
        return found

    def last(self, cluster: str, kind: str) -> list[Json]:
        """The objects of a kind that are there in the end."""
        there: dict[str, Json] = {}
        for event in self.of(kind, cluster):
            if event.what == "DELETED":
                there.pop(str(event.meta["uid"]), None)
            else:
                there[str(event.meta["uid"])] = event.body
        return list(there.values())

    # ---- for people

    def story(self, about: str = "") -> str:
        """A line for each event that changed what rules look at, and for what the test did. `about`: part of a key."""
        first = min([each.at for each in self.events[:1]] + [at for at, _ in self.notes[:1]], default=0.0)
        lines = [(at, f"{at - first:8.3f} -------- {text}") for at, text in self.notes]
        before: dict[tuple[str, str], str] = {}
        for event in self.events:
            text = _line(event)
            place = event.cluster, str(event.meta["uid"])
            if text and about in event.key and before.get(place) != text:
                before[place] = text
                lines.append((event.at, f"{event.at - first:8.3f} {event.cluster:8} {text}"))
        return "\n".join(text for _, text in sorted(lines, key=lambda each: each[0]))

    def write(self, path: Path) -> None:
        """Everything as lines of JSON, for whoever looks for a cause."""
        with path.open("w") as file:
            head = {
                "lost_after": self.lost_after,
                "settle": self.settle,
                "heartbeat": self.heartbeat,
                "faults": [(each.what, each.cluster, each.begin, each.end) for each in self.faults],
                "by_hand": sorted(self.by_hand),
                "notes": self.notes,
                "samples": self.samples,
            }
            file.write(f"{json.dumps(head)}\n")
            for each in self.events:
                file.write(f"{json.dumps([each.at, each.cluster, each.what, each.body])}\n")

    @classmethod
    def read(cls, path: Path) -> History:
        """What `write` has written."""
        with path.open() as file:
            head = json.loads(next(file))
            history = cls(head["lost_after"], head["settle"], head["heartbeat"])
            history.faults = [Fault(*each) for each in head["faults"]]
            history.by_hand = {tuple(each) for each in head["by_hand"]}
            history.notes = [tuple(each) for each in head["notes"]]
            history.samples = {
                name: [Sample(*each) for each in found] for name, found in head["samples"].items()
            }
            history.events = [Event(*json.loads(line)) for line in file]
        return history


def _line(event: Event) -> str:
    """What rules look at, in words; empty for kinds that are not in a story."""
    body, status = event.body, event.body.get("status") or {}
    match event.kind:
        case "Workload":
            said = [
                f"{each['type']}={each['status'][0]}/{each['reason']}"
                for each in status.get("conditions") or ()
            ]
            gates = [each["position"] for each in status.get("preemptionGates") or ()]
            checks = [each["state"] for each in status.get("admissionChecks") or ()]
            rest = [body["spec"].get("active", True), status.get("clusterName"), gates, checks]
            text = f"{' '.join(said)} {rest}"
        case "Job":
            ends = [each["type"] for each in status.get("conditions") or () if each["status"] == "True"]
            text = f"suspend={body['spec'].get('suspend')} active={status.get('active')} {ends}"
        case "PreemptionPlan":
            text = f"for {body['spec']['preemptor']['name']} {status.get('phase')}"
        case "DispatchPlan":
            text = f"for {body['spec']['workload']['name']} {body['spec']['cluster']} {status.get('phase')}"
        case _:
            return ""
    return f"{event.what:8} {event.kind} {event.key} {text}"
