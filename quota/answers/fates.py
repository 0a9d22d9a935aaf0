"""What becomes of all Workloads as things are: which wait and would get quota, and which could lose it to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from api.fates import Fate, FateState
from api.progress import Progress, going_through, silent
from api.unmodelled import UNKNOWN, doubted
from api.workloads import Workload
from quota.answers.overview import Asked, tried_alone
from quota.answers.picture import QuotaPicture
from quota.answers.pod_counts import counts_of, in_part
from quota.answers.reclaims import reclaims
from quota.answers.selected import Namespaces
from quota.answers.trial import waiting_again
from quota.cycle.entries import Entry, Outcome
from quota.cycle.queues import is_queued
from quota.search.decision import Options
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import holds_quota, key_of, local_queue_key

__all__ = ["quota_fates"]

STATES: Final[Mapping[Outcome, FateState]] = {"Admit": "Fits", "DeferredFit": "Fits", "Preempt": "Preempts"}
"""By the outcome if it is tried alone. With any other outcome it waits."""
KEEPS: Final = "It keeps its quota."


def quota_fates(
    quota: QuotaPicture, now: int, options: Options, namespaces: Namespaces, progress: Progress = silent
) -> dict[str, Fate]:
    """By NAMESPACE/NAME. `now` is in microseconds. Each Workload that waits is decided about alone.

    A queue that evicts all its Workloads does so first: they hold nothing when the others are looked at.

    Raises QuotaError if the usage is too much to be counted.
    """
    snapshot = quota.snapshot()
    drained = dict(_drained(snapshot, quota.workloads))
    if drained:
        left = quota.with_workloads(*(waiting_again(quota.workloads[key]) for key in drained))
        snapshot = left.snapshot()
    asked = Asked(snapshot, now, options)
    goes, might, fates = dict[str, list[str]](), dict[str, list[str]](), dict[str, Fate]()
    for workload in going_through(quota.workloads.values(), "looking at Workloads", progress):
        if is_queued(workload) and workload.metadata.deletion_timestamp is None:
            key = key_of(workload)
            fate, targets = _waiting(workload, asked, namespaces)
            fates[f"Workload {key}"] = fate
            for victim, rule in targets:
                known = might if fate.state == UNKNOWN else goes
                known.setdefault(victim, []).append(f"Workload {key} ({rule})")
    takes = dict[str, list[str]]()
    for reclaim in reclaims(snapshot, now, options):
        for target in reclaim.targets:
            told = takes.setdefault(target.holder.key, [])
            who = f"ClusterQueue {reclaim.queue} ({target.reason})"
            told += [who] if who not in told else []
    for workload in quota.workloads.values():
        if holds_quota(workload):
            key = key_of(workload)
            takers = goes.get(key), might.get(key), takes.get(key)
            fates[f"holding Workload {key}"] = _holding(key, drained.get(key), *takers)
    return fates


def _waiting(workload: Workload, asked: Asked, namespaces: Namespaces) -> tuple[Fate, list[tuple[str, str]]]:
    """The fate, and the Workloads that would be preempted for it, each with its rule."""
    key = key_of(workload)
    try:
        queue = asked.snapshot.queue_of(workload)
        tried = tried_alone(queue, workload, asked, namespaces)
    except QuotaError as error:
        return Fate("Quota", "Workload", key, "Waits", "Misconfigured", f"It waits: {error}."), []
    entry = tried.entry
    targets = entry.decision.targets if entry.decision is not None else ()
    state = STATES.get(entry.outcome, "Waits")
    because = tuple(f"Workload {each.holder.key} ({each.reason})" for each in targets)
    says, reason = _says(entry, state, queue.name), _reason(entry, state)
    counts = () if entry.decision is None or state == "Waits" else counts_of(entry.decision)
    if tried.doubts:
        state, reason, says = UNKNOWN, entry.outcome, doubted(says, tried.doubts)
    fate = Fate("Quota", "Workload", key, state, reason, says, because, counts)
    return fate, [(each.holder.key, each.reason) for each in targets if entry.outcome == "Preempt"]


def _reason(entry: Entry, state: FateState) -> str:
    return (entry.quota_reserved_reason or entry.outcome) if state == "Waits" else ""


def _says(entry: Entry, state: FateState, queue: str) -> str:
    part = "" if entry.decision is None else in_part(counts_of(entry.decision))
    gets = f"It gets its quota{f' for {part}' if part else ''} in ClusterQueue {queue}"
    if state == "Fits":
        return f"{gets}."
    if state == "Preempts":
        return f"{gets} once others are gone."
    return f"It waits: {entry.message.rstrip('.')}."


def _holding(
    key: str, drained: str | None, goes: list[str] | None, might: list[str] | None, takes: list[str] | None
) -> Fate:
    if drained is not None:
        return Fate("Quota", "Workload", key, "Drained", "", f"It is evicted: {drained} has HoldAndDrain.")
    if goes:
        says = f"It would be preempted for {_some(goes)}"
        return Fate("Quota", "Workload", key, "Preempted", "", says, tuple(goes))
    if might:
        says = f"It is not known whether it would be preempted for {_some(might)}"
        return Fate("Quota", "Workload", key, UNKNOWN, "", says, tuple(might), holds=True)
    if takes:
        says = f"Its quota could be taken back by {_some(takes)}"
        return Fate("Quota", "Workload", key, "CouldBeTakenBack", "", says, tuple(takes))
    return Fate("Quota", "Workload", key, "Stays", "", KEEPS)


def _drained(snapshot: QuotaSnapshot, workloads: Mapping[str, Workload]) -> Iterator[tuple[str, str]]:
    """The holders that are evicted by their queue: NAMESPACE/NAME, and that queue."""
    for workload in workloads.values():
        if holds_quota(workload) and (queue := next(_draining(snapshot, workload), "")):
            yield key_of(workload), queue


def _draining(snapshot: QuotaSnapshot, workload: Workload) -> Iterator[str]:
    """The queues of the holder that evict everybody."""
    admission = workload.status.admission
    queue = snapshot.queues.get(admission.cluster_queue) if admission is not None else None
    if queue is not None and queue.spec.stop_policy == "HoldAndDrain":
        yield f"ClusterQueue {queue.name}"
    local = snapshot.local_queues.get(local_queue_key(workload))
    if local is not None and local.spec.stop_policy == "HoldAndDrain":
        yield f"LocalQueue {local_queue_key(workload)}"


def _some(names: list[str]) -> str:
    return f"{names[0]}, and {len(names) - 1} more." if len(names) > 1 else f"{names[0]}."
