"""Preemptions that are under way: whose quota they free, and for whom (interim: in memory)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from api.clock import Clock
from api.workloads import QUOTA_RESERVED, Workload
from controllers.quota.evicting import Preemption
from kube.recorder import EventRecorder
from kube.sender import Sender
from quota.cycle import Entry
from quota.particulars import particulars
from quota.promises import Promise
from quota.snapshot import QuotaSnapshot
from quota.workloads import effective_priority, holds_quota, key_of
from runtime.watched_quota import WatchedQuota

__all__ = ["QuotaPlans"]


@dataclass(slots=True)
class _Active:
    promise: Promise
    uid: str
    victims: dict[str, Preemption]


class QuotaPlans:
    def __init__(
        self,
        quota: WatchedQuota,
        sender: Sender,
        recorder: EventRecorder,
        clock: Clock,
        look: Callable[[str], None],
        changed: Callable[[str], None],
    ) -> None:
        self._quota, self._look, self._changed = quota, look, changed
        self._plans: dict[str, _Active] = {}
        self._of_victim: dict[str, str] = {}

    def promises(self) -> Sequence[Promise]:
        return [plan.promise for plan in self._plans.values()]

    def preemption_of(self, key: str) -> Preemption | None:
        preemptor = self._of_victim.get(key)
        return self._plans[preemptor].victims.get(key) if preemptor is not None else None

    def waits(self, key: str) -> bool:
        plan = self._plans.get(key)
        if plan is None:
            return False
        workloads = self._quota.state.workloads
        return any(
            (victim := workloads.get(each)) is not None
            and victim.metadata.uid == preemption.uid
            and holds_quota(victim)
            for each, preemption in plan.victims.items()
        )

    def begin(self, entry: Entry, snapshot: QuotaSnapshot) -> None:
        decision, key = entry.decision, key_of(entry.workload)
        if decision is None:
            raise ValueError(f"nothing was decided about {key}")
        told = particulars(snapshot, entry, 0)
        victims = {
            each.key: Preemption(
                key,
                each.uid,
                each.reason,
                f"Preempted to accommodate a workload (UID: {entry.workload.metadata.uid}, JobUID: UNKNOWN) due to "
                f"{each.reason}; preemptor path: {told.path}; preemptee path: {each.path}",
                decision.queue,
            )
            for each in told.victims
        }
        self._end(key)
        promise = Promise(
            key,
            decision.queue,
            effective_priority(entry.workload),
            decision.assignment.usage,
            frozenset(victims),
        )
        self._plans[key] = _Active(promise, entry.workload.metadata.uid, victims)
        for victim in victims:
            self._of_victim[victim] = key
            self._look(victim)

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        plan = self._plans.get(key)
        if plan is None:
            return
        if after is None or after.metadata.uid != plan.uid or _has_quota(after) or not after.spec.active:
            self._end(key)
            self._changed(plan.promise.queue)

    def _end(self, key: str) -> None:
        plan = self._plans.pop(key, None)
        if plan is not None:
            for victim in plan.victims:
                if self._of_victim.get(victim) == key:
                    del self._of_victim[victim]

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        return


def _has_quota(workload: Workload) -> bool:
    return any(
        each.type == QUOTA_RESERVED and each.status == "True" for each in workload.status.conditions or ()
    )
