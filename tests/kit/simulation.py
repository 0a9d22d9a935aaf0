"""A small world in discrete time: workloads come, hold quota, are preempted and come back, as the engine decides.

Conditions are written as Kueue writes them. Nothing happens but by an event: the arrival, end or eviction of a
workload, or the time at which an entry asks to be tried again. A workload that nobody wakes is never seen again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from api.workloads import Workload
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.queues import heads
from quota.search.decision import Options
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from tests.kit.quota.objects import EPOCH, Object, completed, condition, held, seconds, set_condition, us
from tests.twins.quota.equals import equals

__all__ = ["Stay", "World"]

MICROSECONDS = 1_000_000
MAX_CYCLES = 500
"""At one moment. Whoever preempt each other in turns need more."""


@dataclass(frozen=True)
class Stay:
    """How long a workload was left its quota, in seconds, and why no longer."""

    name: str
    since: int
    until: int
    reason: str
    """Of Preempted, or Finished."""
    preemptor: str = ""


@dataclass
class World:
    """Times are seconds. `grace`: from an eviction until the quota is free. `lengths`: for how long workloads, by key,
    hold quota until they are done; by default for ever."""

    objects: Iterable[Object]
    arrivals: dict[int, list[Workload]]
    options: Options = field(default_factory=Options)
    grace: int = 0
    lengths: dict[str, int] = field(default_factory=dict)
    now: int = -1
    stays: list[Stay] = field(default_factory=list)
    """Those that ended."""
    entries: list[tuple[int, Entry]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = QuotaState()
        for thing in completed(self.objects):
            self.state.apply(thing)
        self.workloads: dict[str, Workload] = {}
        self.parked: set[str] = set()
        self.sticky: dict[str, str] = {}
        self.retries: dict[str, int] = {}

    def run(self, until: int) -> None:
        """Up to this time, from event to event."""
        while (time := self._next_event()) is not None and time <= until:
            self.now = time
            self._arrive()
            self._leave()
            self._finish()
            self._wake()
            self._settle()

    def holding(self) -> dict[str, int]:
        """Who holds quota, and since when."""
        return {
            workload.metadata.name: _seconds(workload, "QuotaReserved")
            for workload in self.workloads.values()
            if _is(workload, "QuotaReserved")
        }

    def turns(self) -> list[str]:
        """The names of those that held quota, in the order in which they got it."""
        stays = [(stay.since, stay.name) for stay in self.stays]
        stays += [(since, name) for name, since in self.holding().items()]
        return [name for _, name in sorted(stays)]

    # ---- what happens at an event

    def _next_event(self) -> int | None:
        times = list(self.arrivals)
        times += [-(-time // MICROSECONDS) - int(EPOCH.timestamp()) for time in self.retries.values()]
        for key, workload in self.workloads.items():
            if not _is(workload, "QuotaReserved"):
                continue
            if _is(workload, "Evicted"):
                times.append(_seconds(workload, "Evicted") + self.grace)
            elif key in self.lengths:
                times.append(_seconds(workload, "QuotaReserved") + self.lengths[key])
        # What asks for a time that has passed is tried again at the next second.
        return min((max(time, self.now + 1) for time in times), default=None)

    def _arrive(self) -> None:
        for workload in self.arrivals.pop(self.now, []):
            self._write(workload)

    def _leave(self) -> None:
        for workload in list(self.workloads.values()):
            if not (_is(workload, "QuotaReserved") and _is(workload, "Evicted")):
                continue
            if _seconds(workload, "Evicted") + self.grace <= self.now:
                gone = set_condition(workload, "QuotaReserved", "False", "PendingEvaluation", self.now)
                gone = set_condition(gone, "Requeued", "True", "Preempted", self.now)
                status = msgspec.structs.replace(gone.status, admission=None)
                self._write(msgspec.structs.replace(gone, status=status))
                self._freed()

    def _finish(self) -> None:
        for key, workload in list(self.workloads.items()):
            if key not in self.lengths or not _is(workload, "QuotaReserved") or _is(workload, "Evicted"):
                continue
            since = _seconds(workload, "QuotaReserved")
            if since + self.lengths[key] <= self.now:
                self.stays.append(Stay(workload.metadata.name, since, self.now, "Finished"))
                self.state.delete("Workload", key)
                del self.workloads[key]
                self._freed()

    def _freed(self) -> None:
        """All queues are of one tree."""
        self.parked.clear()
        self.retries.clear()

    def _wake(self) -> None:
        due = [queue for queue, time in self.retries.items() if time <= us(self.now)]
        for queue in due:
            del self.retries[queue]
            self.parked -= {
                key for key, workload in self.workloads.items() if workload.spec.queue_name == queue
            }

    def _settle(self) -> None:
        """Cycle after cycle, until nothing changes any more."""
        for _ in range(MAX_CYCLES):
            if not self._schedule():
                return
        raise AssertionError(f"at {self.now} s there is no end of cycles: {self.stays[-4:]}")

    def _schedule(self) -> bool:
        """One cycle. Whether another one may follow."""
        snapshot = self.state.snapshot()
        pending = [workload for workload in self.workloads.values() if not _is(workload, "QuotaReserved")]
        first = heads(snapshot, pending, us(self.now), parked=self.parked, sticky=self.sticky)
        entries = cycle(snapshot, first, us(self.now), self.options)
        parked = set(self.parked)
        changed = [self._carry_out(entry) for entry in entries]
        for entry in entries:
            if entry.requeue == "parked" and entry.requeue_reason is not None:
                self.parked.add(key_of(entry.workload))
                self.parked.update(equals(snapshot, entry.workload, entry.requeue_reason, pending))
        return any(changed) or self.parked != parked

    def _carry_out(self, entry: Entry) -> bool:
        """Whether anything was written."""
        workload, queue = entry.workload, entry.workload.spec.queue_name
        self.entries.append((self.now, entry))
        if entry.requeue_reason == "PendingPreemption":
            self.sticky[queue] = key_of(workload)
        elif self.sticky.get(queue) == key_of(workload):
            del self.sticky[queue]
        if entry.retry_at is not None:
            self.retries[queue] = min(entry.retry_at, self.retries.get(queue, entry.retry_at))
        if entry.outcome == "Admit":
            self._admit(entry)
            return True
        if entry.outcome == "Preempt":
            return self._preempt(entry)
        return False

    def _admit(self, entry: Entry) -> None:
        assert entry.decision is not None
        admitted = held(entry.workload, self.now, flavors=entry.decision.flavors["main"])
        for type_ in ("Evicted", "Preempted"):
            if _is(admitted, type_):
                admitted = set_condition(admitted, type_, "False", "QuotaReserved", self.now)
        self._write(admitted)

    def _preempt(self, entry: Entry) -> bool:
        assert entry.decision is not None
        written = False
        for target in entry.decision.targets:
            victim = self.workloads[target.holder.key]
            if _is(victim, "Evicted"):
                continue
            name, preemptor = victim.metadata.name, entry.workload.metadata.name
            self.stays.append(
                Stay(name, _seconds(victim, "QuotaReserved"), self.now, target.reason, preemptor)
            )
            victim = set_condition(victim, "Preempted", "True", target.reason, self.now)
            self._write(set_condition(victim, "Evicted", "True", "Preempted", self.now))
            written = True
        return written

    def _write(self, workload: Workload) -> None:
        self.workloads[key_of(workload)] = workload
        self.state.apply(workload)


def _is(workload: Workload, type_: str) -> bool:
    found = condition(workload, type_)
    return found is not None and found.status == "True"


def _seconds(workload: Workload, type_: str) -> int:
    """When the condition changed."""
    found = condition(workload, type_)
    assert found is not None
    return seconds(found.last_transition_time or "")
