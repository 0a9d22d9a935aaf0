"""What Workloads and queues went through, as an API server's watches told it, and what must hold of it.

The judge of quota is the engine itself (`quota.state`): all states are given to it in the order of their versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from api.checks import AdmissionCheck
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.meta import Condition
from api.plans import PreemptionPlan
from api.workloads import ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED, REQUEUED, Workload
from quota.amounts import QuotaError
from quota.cycle import cycle
from quota.queues import backs_off, heads, is_queued
from quota.state import QuotaState
from quota.workloads import key_of, requeue_at

__all__ = [
    "CHECKS",
    "KINDS",
    "Change",
    "QuotaHistory",
    "admitted_without_quota",
    "beyond_the_tree",
    "evicted_twice",
    "evicted_without_reason",
    "stuck",
]

Json = dict[str, Any]
Object = ClusterQueue | Cohort | ResourceFlavor | AdmissionCheck | LocalQueue | Workload | PreemptionPlan

KINDS: Final[Mapping[str, type[Object]]] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "ResourceFlavor": ResourceFlavor,
    "AdmissionCheck": AdmissionCheck,
    "LocalQueue": LocalQueue,
    "Workload": Workload,
    "PreemptionPlan": PreemptionPlan,
}
"""What is recorded."""
ACTIVE_PLAN: Final = "Evicting"


@dataclass(frozen=True, slots=True)
class Change:
    """One event: an object as it was, and as it is."""

    version: int
    before: Object | None
    after: Object | None


@dataclass
class QuotaHistory:
    """All states of all objects of `KINDS`."""

    _seen: dict[tuple[int, str], tuple[str, Object]] = field(default_factory=dict)
    """By version and UID: ADDED, MODIFIED or DELETED, and the object."""
    _lines: dict[tuple[int, str], Json] = field(default_factory=dict)

    def record(self, event: str, body: Json) -> None:
        """One event of a watch. An event that a second watch tells again is no other event."""
        meta = body["metadata"]
        item = msgspec.convert(body, KINDS[body["kind"]], strict=False)
        key = int(meta["resourceVersion"]), meta["uid"]
        self._seen[key], self._lines[key] = (event, item), {"event": event, "body": body}

    def write(self, path: Path) -> None:
        """Every event as a line of JSON, in order, for whoever looks for a cause."""
        path.write_text("".join(f"{json.dumps(self._lines[key])}\n" for key in sorted(self._lines)))

    def changes(self) -> Iterator[Change]:
        """All events, in the order of their versions."""
        last: dict[str, Object] = {}
        for (version, uid), (event, item) in sorted(self._seen.items(), key=lambda each: each[0]):
            before = last.pop(uid, None)
            if event == "DELETED":
                yield Change(version, before, None)
                continue
            last[uid] = item
            yield Change(version, before, item)

    def workloads(self) -> Iterator[tuple[int, Workload | None, Workload]]:
        """Version, state before, and state of each Workload that came or changed."""
        for change in self.changes():
            before, after = change.before, change.after
            if isinstance(after, Workload):
                yield change.version, before if isinstance(before, Workload) else None, after

    def evictions(self) -> list[tuple[int, Workload]]:
        """Version and state of each Workload at its eviction."""
        return [
            (version, after) for version, before, after in self.workloads() if _is_evicted_now(before, after)
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


def beyond_the_tree(history: QuotaHistory) -> list[str]:
    """Whoever got quota that the cohort tree did not have at that time."""
    state, wrong = QuotaState(), []
    for change in history.changes():
        before, after = change.before, change.after
        _take(state, before, after)
        if not isinstance(after, Workload) or not _becomes(QUOTA_RESERVED, before, after):
            continue
        if not state.fits_beside_others(key_of(after)):
            wrong.append(f"{_at(change.version, after)} got quota beyond the tree")
    return wrong


def admitted_without_quota(history: QuotaHistory) -> list[str]:
    """Whoever was admitted without quota, or is so in the end.

    In between, the maker of a Workload may have ended it, and Admitted follows a moment later.
    """
    wrong = [
        f"{_at(version, after)} was admitted without quota"
        for version, before, after in history.workloads()
        if _becomes(ADMITTED, before, after) and not _is_true(after, QUOTA_RESERVED)
    ]
    ends = [each for each in history.last() if isinstance(each, Workload)]
    return wrong + [
        f"{key_of(each)} has no quota, and stays admitted"
        for each in ends
        if _is_true(each, ADMITTED) and not _is_true(each, QUOTA_RESERVED)
    ]


def evicted_twice(history: QuotaHistory) -> list[str]:
    """Whoever was evicted twice for one preemptor, which got no quota in between, while the spec of neither changed."""
    wrong, evicted = [], dict[tuple[str, str], int]()
    for version, before, after in history.workloads():
        uid = after.metadata.uid
        if before is not None and (before.spec != after.spec or _becomes(QUOTA_RESERVED, before, after)):
            changed = before.spec != after.spec
            evicted = {
                pair: at
                for pair, at in evicted.items()
                if pair[0] != uid and not (changed and pair[1] == uid)
            }
        preemptor = _preemptor(after) if _is_evicted_now(before, after) else ""
        if preemptor:
            if (preemptor, uid) in evicted:
                wrong.append(f"{_at(version, after)} was evicted twice for the preemptor {preemptor}")
            evicted[preemptor, uid] = version
    return wrong


def evicted_without_reason(history: QuotaHistory) -> list[str]:
    """Whoever was evicted without a reason, a message, or, where it was preempted, a plan that was stored before."""
    wrong, planned = [], set[tuple[str, str]]()
    for change in history.changes():
        before, after = change.before, change.after
        if isinstance(after, PreemptionPlan):
            planned |= {(after.spec.preemptor.uid, victim.uid) for victim in after.spec.victims or ()}
        if not isinstance(after, Workload) or not _is_evicted_now(before, after):
            continue
        evicted, where = _condition(after, EVICTED), _at(change.version, after)
        if evicted is None or not evicted.reason or not evicted.message:
            wrong.append(f"{where} was evicted without reason or message")
        elif evicted.reason == PREEMPTED and (_preemptor(after), after.metadata.uid) not in planned:
            wrong.append(f"{where} was preempted without a plan")
    return wrong


def stuck(history: QuotaHistory, now: int) -> list[str]:
    """Whoever waits in the end although a cycle would admit it, or would preempt for it, or nothing ends its wait.

    `now` is in microseconds. The end is judged when nothing changes any longer, and no plan is carried out.
    """
    state = QuotaState()
    for each in history.last():
        _take(state, None, each)
    plans = [each for each in history.last() if isinstance(each, PreemptionPlan)]
    wrong = [
        f"{plan.metadata.namespace}/{plan.metadata.name} is still carried out"
        for plan in plans
        if plan.status is not None and plan.status.phase == ACTIVE_PLAN
    ]
    return [*wrong, *_left_out(state, now), *_left_waiting(state, now)]


def _left_waiting(state: QuotaState, now: int) -> Iterator[str]:
    """In a StrictFIFO ClusterQueue only the head may be stuck: the others wait for it."""
    snapshot = state.snapshot()
    waiting = [each for each in state.workloads.values() if is_queued(each) and not backs_off(each, now)]
    firsts = {key_of(each) for each in heads(snapshot, waiting, now)}
    for each in waiting:
        try:
            queue = snapshot.queue_of(each)
        except QuotaError:
            continue
        local = state.local_queues[f"{each.metadata.namespace}/{each.spec.queue_name}"]
        if queue.inactive or local.spec.stop_policy != "None":
            continue
        if queue.spec.queueing_strategy == "StrictFIFO" and key_of(each) not in firsts:
            continue
        (entry,) = cycle(state.snapshot(), [each], now)
        if entry.outcome in ("Admit", "Preempt"):
            yield f"{key_of(each)} waits, and a cycle says {entry.outcome}"


def _left_out(state: QuotaState, now: int) -> Iterator[str]:
    """Those whose delay is over, and who are not queued again."""
    for each in state.workloads.values():
        requeued, until = _condition(each, REQUEUED), requeue_at(each)
        delayed = requeued is not None and requeued.status == "False" and requeued.reason == "AdmissionCheck"
        if is_queued(each) and delayed and (until is None or until < now):
            yield f"{key_of(each)} is not queued again after its delay"


CHECKS: Final[tuple[Callable[[QuotaHistory], list[str]], ...]] = (
    beyond_the_tree,
    admitted_without_quota,
    evicted_twice,
    evicted_without_reason,
)
"""What must hold at all times."""


def _take(state: QuotaState, before: Object | None, after: Object | None) -> None:
    """Give the state an event. An object that cannot be read stays as it was."""
    if isinstance(before, PreemptionPlan) or isinstance(after, PreemptionPlan):
        return
    if after is not None:
        try:
            state.apply(after)
        except QuotaError:
            return
    elif before is not None:
        meta = before.metadata
        key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        state.delete(type(before).__name__, key)


def _condition(workload: Workload, kind: str) -> Condition | None:
    return next((each for each in workload.status.conditions or () if each.type == kind), None)


def _is_true(workload: Workload, kind: str) -> bool:
    found = _condition(workload, kind)
    return found is not None and found.status == "True"


def _becomes(kind: str, before: Object | None, after: Workload) -> bool:
    """Whether the condition is True, and was not."""
    return _is_true(after, kind) and not (isinstance(before, Workload) and _is_true(before, kind))


def _is_evicted_now(before: Object | None, after: Workload) -> bool:
    """Whether this is an eviction; another reason, or a later time, is another one."""
    if _becomes(EVICTED, before, after):
        return True
    old = _condition(before, EVICTED) if isinstance(before, Workload) else None
    new = _condition(after, EVICTED)
    if old is None or new is None or new.status != "True":
        return False
    return (old.reason, old.last_transition_time) != (new.reason, new.last_transition_time)


def _preemptor(workload: Workload) -> str:
    """The UID of the Workload that it was evicted for; empty if it was evicted for another reason."""
    evicted = _condition(workload, EVICTED)
    if evicted is None or evicted.reason != PREEMPTED:
        return ""
    _, _, rest = evicted.message.partition("UID: ")
    return rest.partition(",")[0].rstrip(")")


def _at(version: int, workload: Workload) -> str:
    return f"version {version}: {key_of(workload)}"
