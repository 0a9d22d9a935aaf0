"""Workloads that took the quota which a preemption had freed for another one of lower priority.

A higher priority passes a promise. The quota that it took that way may be reclaimed from it, by the very Workload that
was preempted. Then all three begin again: the same victim, the same passer, and a preemptor that gets nothing. So a
preemptor whose plan was in vain does not preempt while one that passed it waits for quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api.workloads import Workload
from quota.cycle.entries import Entry, put_off
from quota.cycle.promises import Promise
from quota.cycle.queues import is_queued
from quota.state.workloads import effective_priority, key_of

__all__ = ["Passers", "in_vain"]


class Passers:
    """Remembers for one term which Workloads passed which preemptors. It names both by their UIDs."""

    def __init__(self, workloads: Mapping[str, Workload]) -> None:
        """`workloads`: all of them by key, a live view."""
        self._workloads = workloads
        self._during: dict[str, dict[str, str]] = {}
        """By preemptor: who was admitted during its plan, with their keys."""
        self._barred: dict[str, dict[str, str]] = {}
        """By preemptor whose plan was in vain: the same."""

    def admitted(self, workload: Workload, promises: Iterable[Promise]) -> None:
        """It gets quota beside these promises, which are in its cohort tree."""
        self.forget(workload.metadata.uid)
        for promise in promises:
            preemptor = self._workloads.get(promise.key)
            if preemptor is not None and promise.priority < effective_priority(workload):
                passed = self._during.setdefault(preemptor.metadata.uid, {})
                passed[workload.metadata.uid] = key_of(workload)

    def failed(self, preemptor: Workload) -> None:
        """Its plan has ended, and it did not get the quota."""
        uid = preemptor.metadata.uid
        if passers := self._during.pop(uid, None):
            self._barred.setdefault(uid, {}).update(passers)

    def waiting(self, preemptor: Workload) -> str:
        """The key of a Workload that passed the preemptor and would pass it again; "" if no Workload did."""
        for uid, key in self._barred.get(preemptor.metadata.uid, {}).items():
            other = self._workloads.get(key)
            if other is None or other.metadata.uid != uid or not is_queued(other):
                continue
            if effective_priority(other) > effective_priority(preemptor):
                return key
        return ""

    def has_waited(self, before: Workload, after: Workload | None) -> bool:
        """Whether preemptors that this Workload passed may preempt now, because it does not wait any longer."""
        if not is_queued(before) or (after is not None and is_queued(after)):
            return False
        return any(before.metadata.uid in passers for passers in self._barred.values())

    def forget(self, uid: str) -> None:
        """The preemptor has its quota, or is gone."""
        self._during.pop(uid, None)
        self._barred.pop(uid, None)


def in_vain(entry: Entry, passer: str, strategy: str) -> Entry:
    """The entry of a preemptor that waits because of a passer (key). `strategy`: of its ClusterQueue."""
    why = (
        f"it does not preempt while Workload {passer} waits, which has a higher priority "
        "and took what an earlier preemption had freed"
    )
    return put_off(entry, why, strategy)
