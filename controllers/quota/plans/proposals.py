"""What Workloads that wait for closed preemption gates would preempt: stored, so that others can compare the costs.

Nothing follows from a proposal. It promises no quota, names nobody as a victim to the rules of Workloads, and is no
plan that a new process resumes. What is seen is fed to the reducer (`proposal_life`), and what follows is written.

See docs/decisions/0096.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from api.clock import Clock
from api.plan_names import PlanKey
from api.plans import PreemptionPlanSpec
from api.workloads import Workload
from controllers.quota.life.planned import proposed, spec_of
from controllers.quota.life.proposal_life import (
    EVERY_US,
    Create,
    Created,
    Decided,
    Delete,
    Deleted,
    Due,
    Found,
    NotCreated,
    NotDeleted,
    Observation,
    Over,
    ProposalLife,
    Vanished,
    reduce,
)
from controllers.quota.plans.stored_plans import PlanStore, StoredProposal
from quota.cycle.costs import cost_of
from quota.cycle.entries import Entry
from quota.cycle.particulars import particulars
from quota.cycle.queues import is_queued
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import (
    effective_priority,
    has_closed_preemption_gate,
    holds_quota,
    key_of,
    local_queue_key,
)
from runtime.plans.plan_objects import PlanNotStoredError
from runtime.work.background import Background

__all__ = ["Proposals"]

log = structlog.get_logger(__name__)

SECOND: Final = 1_000_000
"""In microseconds."""
SWEEP_US: Final = 60 * SECOND
AT_ONCE: Final = 4
"""Writes in flight. Plans that are carried out do not wait for these."""


class Proposals:
    """The proposals of one term. Everything runs on the event loop. Times are microseconds since 1970."""

    def __init__(
        self, store: PlanStore, state: QuotaState, clock: Clock, changed: Callable[[str], None]
    ) -> None:
        """`changed`: Workloads that wait in the tree of this ClusterQueue may have another answer."""
        self._store, self._stored, self._state = store, store.stored, state
        self._clock, self._changed = clock, changed
        self._lives: dict[str, ProposalLife] = {}
        """By key of the Workload."""
        self._structure, self._swept = -1, 0
        self._stale: dict[str, int] = {}
        """When decisions in a tree (named by a ClusterQueue of it) are to be made anew, because others took quota."""
        self._renewed: dict[str, int] = {}
        """By ClusterQueue: when that was done last."""
        self._writes, self._room = Background(), asyncio.Semaphore(AT_ONCE)
        self._woken = asyncio.Event()

    # ---- what cycles say

    def propose(self, entry: Entry, snapshot: QuotaSnapshot, others: int) -> None:
        """The Workload would preempt others if its gates were open, and its pods would find places.

        `others`: how many pods of others would be evicted on nodes, too.
        """
        decision, now = entry.decision, self._now()
        if decision is None or not decision.targets:
            return
        spec = spec_of(entry, particulars(snapshot, entry, now))
        self._observe(
            key_of(entry.workload), Decided(proposed(spec, cost_of(decision.targets, now, others)), now)
        )

    def withdraw(self, key: str) -> None:
        """The Workload would preempt nobody now."""
        if key in self._lives:
            self._observe(key, Over(self._now()))

    # ---- what happens

    def begin(self) -> None:
        """Take over what is stored. What belongs to no wait is deleted."""
        self._structure = self._state.structure
        self._sweep(self._now())

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """The Workload came, changed or went."""
        if key in self._lives:
            self._look(key)
        if after is not None and holds_quota(after) and not _held_alike(before, after):
            admission = after.status.admission
            self.quota_taken(admission.cluster_queue if admission is not None else "")

    def quota_taken(self, queue: str) -> None:
        """Somebody got quota of the ClusterQueue, or a promise of it, or holds it with another priority. Others may
        have to be preempted now, and nothing was freed that would bring the waiting ones back."""
        if self._lives and queue not in self._stale:
            now = self._now()
            self._stale[queue] = max(now + SECOND, self._renewed.get(queue, 0) + EVERY_US)
            self._woken.set()

    def queues_changed(self) -> None:
        """A queue came, changed or went."""
        if self._lives and self._structure != self._state.structure:
            self._woken.set()

    async def run(self) -> None:
        """Work until cancelled: write what is due, and delete what nobody knows."""
        with self._stored.told(self._vanished):
            while True:
                self._woken.clear()
                self.tell_time()
                now = self._now()
                due = self._next_due(self._swept + SWEEP_US)
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, (due - now) / SECOND)):
                        await self._woken.wait()

    def tell_time(self) -> None:
        """Write what is due. Look at queues that have changed, and at objects that are not known."""
        now = self._now()
        if self._structure != self._state.structure:
            self._structure = self._state.structure
            for key in list(self._lives):
                self._look(key)
        if now >= self._swept + SWEEP_US:
            self._sweep(now)
        for key, life in list(self._lives.items()):
            if life.due is not None and life.due <= now:
                self._observe(key, Due(now))
            elif life.is_over and life.next_at <= now:
                del self._lives[key]
        for queue in [queue for queue, due in self._stale.items() if due <= now]:
            del self._stale[queue]
            self._renew(queue, now)

    async def settle(self) -> None:
        """Wait for what is being written."""
        await self._writes.settle()

    async def close(self) -> None:
        """The term is over: nothing is sent any longer."""
        await self._writes.close()

    # ---- lives

    def _sweep(self, now: int) -> None:
        """Look at the objects that are not known. Of several the first one by name counts."""
        self._swept = now
        for each in sorted(self._stored.proposals(), key=lambda each: each.key):
            life = self._lives.get(each.preemptor)
            if life is None or each.key[1] not in life.there:
                self._find(each, now)

    def _find(self, stored: StoredProposal, now: int) -> None:
        life, name = self._lives.get(stored.preemptor), stored.key[1]
        found = Found(name, stored.says, round(stored.created * SECOND), now)
        if life is None and stored.says is not None and self._waits(stored.preemptor, stored.says):
            # It stays until a cycle says something else.
            self._lives[stored.preemptor] = ProposalLife(wanted=stored.says)
        self._observe(stored.preemptor, found)

    def _look(self, key: str) -> None:
        wanted = self._lives[key].wanted
        if wanted is not None and not self._waits(key, wanted):
            self._observe(key, Over(self._now()))

    def _waits(self, key: str, spec: PreemptionPlanSpec) -> bool:
        """Whether the Workload is as it was when this was decided, and waits for its gates in the same ClusterQueue."""
        workload, quota = self._state.workloads.get(key), spec.preemptor.quota
        if workload is None or not quota:
            return False
        meta = workload.metadata
        same = (meta.uid, meta.generation, effective_priority(workload))
        if same != (spec.preemptor.uid, quota.generation, spec.preemptor.priority):
            return False
        local = self._state.local_queues.get(local_queue_key(workload))
        if (
            local is None
            or local.spec.stop_policy != "None"
            or local.spec.cluster_queue != quota.cluster_queue
        ):
            return False
        queue = self._state.queues.get(quota.cluster_queue)
        is_active = queue is not None and not queue.inactive and meta.deletion_timestamp is None
        return is_active and is_queued(workload) and has_closed_preemption_gate(workload)

    def _observe(self, key: str, seen: Observation) -> None:
        life, effects = reduce(self._lives.get(key, ProposalLife()), seen)
        self._lives[key] = life
        for effect in effects:
            self._writes.start(self._write(key, effect))
        if life.due is not None or life.is_over:
            self._woken.set()

    def _vanished(self, plan: PlanKey) -> None:
        for key in [key for key, life in self._lives.items() if plan[1] in life.there and _of(key, plan)]:
            self._observe(key, Vanished(plan[1], self._now()))

    def _renew(self, queue: str, now: int) -> None:
        """Have those decided anew whose decisions count on quota that others have taken."""
        if queue not in self._state.cluster_queues:
            return
        tree = self._state.tree(queue)
        wanted = (each.wanted.preemptor.quota for each in self._lives.values() if each.wanted is not None)
        waiting = {each.cluster_queue for each in wanted if each} & self._state.cluster_queues.keys()
        if any(self._state.tree(each) == tree for each in waiting):
            self._renewed[queue] = now
            self._changed(queue)

    # ---- writes

    async def _write(self, key: str, effect: Create | Delete) -> None:
        namespace = key.partition("/")[0]
        seen: Observation
        try:
            async with self._room:
                if isinstance(effect, Create):
                    await self._store.propose(effect.spec)
                    seen = Created(effect.name, effect.spec, self._now())
                else:
                    await self._store.withdraw((namespace, effect.name))
                    seen = Deleted(effect.name, self._now())
        except PlanNotStoredError as error:
            log.warning(
                "what is proposed for a Workload could not be written", workload=key, error=str(error)
            )
            now = self._now()
            seen = NotCreated(now) if isinstance(effect, Create) else NotDeleted(now)
        self._observe(key, seen)

    # ---- time

    def _now(self) -> int:
        return round(self._clock.wall() * SECOND)

    def _next_due(self, latest: int) -> int:
        dues = [due for life in self._lives.values() if (due := life.due) is not None]
        over = [life.next_at for life in self._lives.values() if life.is_over]
        return min([latest, *dues, *over, *self._stale.values()])


def _held_alike(before: Workload | None, after: Workload) -> bool:
    """Whether it held its quota before, and is as good a victim as it was."""
    return (
        before is not None and holds_quota(before) and effective_priority(before) == effective_priority(after)
    )


def _of(key: str, plan: PlanKey) -> bool:
    return key.partition("/")[0] == plan[0]
