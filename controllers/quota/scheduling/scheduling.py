"""The loop of cycles: heads are decided on a snapshot in a thread, and what came meanwhile is looked at afterwards.

A cycle follows a change, or the end of a time. It does not run because time passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from api.workloads import Workload
from controllers.quota.life.admitting import admission_of, reserve
from controllers.quota.life.draft import Draft
from controllers.quota.life.life import Waiting, settle
from controllers.quota.plans.mutual import Mutual
from controllers.quota.plans.passers import Passers
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.held_back import HeldBack, cycle_without
from controllers.quota.scheduling.texts import Texts
from controllers.quota.workloads.facts import Facts
from controllers.quota.workloads.following import Following
from controllers.quota.workloads.writer import WorkloadWriter
from kube.breath import Breath
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.pending import PendingQueues
from quota.cycle.promises import Promise
from quota.search.decision import Options
from quota.state.activity import required_checks
from quota.state.amounts import QuotaError
from quota.state.overlap import fits, numbered
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import key_of
from runtime.exchange.placements import Placed
from runtime.mirror.watched_quota import WatchedQuota

__all__ = ["Scheduling"]

log = structlog.get_logger(__name__)

BURST_SECONDS: Final = 0.01
"""Changes that come together are answered by one cycle."""
RETRY_SECONDS: Final = 1.0
BEHIND_SECONDS: Final = 0.5
"""Between two looks whether the watches are back."""
ADMISSION: Final = (0,)
"""The rank of a write that admits."""
NOT_ASKED: Final = Placed(())
"""Nobody has to go, so nodes do not matter."""


class Scheduling:
    """Cycles, one after the other, in one term."""

    def __init__(
        self,
        quota: WatchedQuota,
        pending: PendingQueues,
        following: Following,
        facts: Facts,
        plans: QuotaPlans,
        passers: Passers,
        agreement: Agreement,
        writer: WorkloadWriter,
        options: Options,
        executor: Executor,
        now: Callable[[], int],
        look: Callable[[str], None],
        behind: Callable[[], str | None],
    ) -> None:
        """`look`: have a Workload (key) looked at. `behind`: why what is known may be out of date; None if it is
        not."""
        self._behind = behind
        self._texts = Texts(facts, writer, look)
        self._quota, self._pending, self._following, self._facts = quota, pending, following, facts
        self._plans, self._passers, self._agreement = plans, passers, agreement
        self._writer, self._options = writer, options
        self._executor, self._now = executor, now
        self._mutual = Mutual()
        self._held_back = HeldBack(plans.promised, passers, self._mutual, agreement, now)
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Another cycle may have another answer."""
        self._stirred.set()

    async def run(self) -> None:
        """Run cycles until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._texts.run(), name="texts of why Workloads wait")
            tasks.create_task(self._run(), name="cycles")

    async def _run(self) -> None:
        while True:
            try:
                again = await self._cycle()
            except Exception:
                log.exception("a cycle failed, and the next one follows")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if not again:
                await self._wait()
                await asyncio.sleep(BURST_SECONDS)

    async def _wait(self) -> None:
        due = self._pending.next_due(self._now())
        seconds = None if due is None else max(0.0, (due - self._now()) / 1_000_000)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()

    async def _cycle(self) -> bool:
        """One cycle. Returns whether another one must follow at once."""
        if (why := self._behind()) is not None:
            log.info("no cycle runs until the watches are back", why=why)
            await asyncio.sleep(BEHIND_SECONDS)
            return True
        self._stirred.clear()
        self._following.follow()
        self._texts.add_untried(self._following.take_suspended())
        now, state = self._now(), self._quota.state
        heads = [each for each in self._pending.heads(now) if self._is_free(key_of(each))]
        if not heads:
            return False
        snapshot = state.snapshot()
        entries = await cycle_without(
            heads,
            partial(self._decide, snapshot, now),
            lambda entry: self._held_back.entry(entry, snapshot),
        )
        return await self._take_all(entries, snapshot)

    async def _decide(self, snapshot: QuotaSnapshot, now: int, heads: Sequence[Workload]) -> list[Entry]:
        work = partial(
            cycle,
            snapshot,
            heads,
            now,
            self._options,
            namespaces=dict(self._quota.namespaces),
            tried=dict(self._pending.tried),
            promises=self._plans.promises(),
            preferred=self._agreement.preferred,
        )
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def _take_all(self, entries: Sequence[Entry], snapshot: QuotaSnapshot) -> bool:
        """Do what follows from each entry of a cycle on this snapshot, in their order. Returns whether another cycle
        must follow at once."""
        progress, breath = False, Breath()
        fresh = _Fresh(snapshot, self._quota.state.snapshot())
        for entry in entries:
            if breath.is_due:
                await breath.take()
                fresh = _Fresh(
                    snapshot, self._quota.state.snapshot()
                )  # what was taken so far is assumed there
            progress |= self._take(entry, fresh)
        return progress

    def _is_free(self, key: str) -> bool:
        return not (self._writer.is_busy(key) or self._plans.waits(key) or self._agreement.is_asking(key))

    def _take(self, entry: Entry, fresh: _Fresh) -> bool:
        """Do what follows from the entry. Returns whether another head may come now."""
        key, now = key_of(entry.workload), self._now()
        if self._quota.state.workloads.get(key) is not entry.workload or self._writer.is_busy(key):
            return True  # it has changed: the next cycle decides anew
        if entry.outcome == "Admit":
            return not fresh.fits(entry) or self._admit(key, entry, now)
        if entry.outcome == "Preempt" and not self._victims_as_decided(entry):
            return True
        answer = self._agreement.answer(entry, fresh.snapshot) if entry.outcome == "Preempt" else NOT_ASKED
        if not isinstance(answer, Placed):
            return True  # the question runs, or was just answered: the next cycle decides anew
        # Its own promise gives a preemptor another answer than its equals get.
        equals = self._pending.answered(entry, now, self._plans.promised())
        if entry.outcome == "Preempt":
            self._mutual.begins(entry, now)
            self._plans.begin(entry, fresh.snapshot, answer.places)
        elif entry.outcome in ("NoFit", "NoCandidates") and self._plans.overtaken(key):
            self._passers.failed(entry.workload)
        if reason := entry.quota_reserved_reason:
            self._texts.add(key, Waiting(reason, entry.message, entry.outcome == "Gated"))
            self._texts.add_equals(equals, reason)
        return entry.requeue == "parked" or entry.tried is not None

    def _admit(self, key: str, entry: Entry, now: int) -> bool:
        decision, queue = (
            entry.decision,
            self._quota.state.cluster_queues.get(entry.decision.queue if entry.decision else ""),
        )
        if decision is None or queue is None:
            return True
        if decision.borrowing:
            self._pending.passed(key, now)
        draft = Draft(entry.workload, now)
        reserve(draft, decision, required_checks(queue.spec, admission_of(decision)))
        try:
            self._writer.start(settle(draft), ADMISSION)
            self._passers.admitted(entry.workload, self._promises_beside(queue.metadata.name))
        except QuotaError as error:
            log.warning("a Workload cannot be admitted", workload=key, error=str(error))
            self._following.hold_back(key)
        return True

    def _promises_beside(self, queue: str) -> list[Promise]:
        """The promises in the cohort tree of the ClusterQueue."""
        state = self._quota.state
        known = (each for each in self._plans.promises() if each.queue in state.cluster_queues)
        return [each for each in known if state.tree(each.queue) == state.tree(queue)]

    def _victims_as_decided(self, entry: Entry) -> bool:
        """Whether all victims are as the decision saw them."""
        workloads = self._quota.state.workloads
        targets = entry.decision.targets if entry.decision is not None else ()
        return all(workloads.get(each.holder.key) is each.holder.workload for each in targets)


class _Fresh:
    """Whether what a cycle gave away is there at this moment.

    Something may have changed meanwhile. And of two heads that fit, the second one may count on a victim of this very
    cycle, which still holds its quota.
    """

    def __init__(self, snapshot: QuotaSnapshot, newer: QuotaSnapshot) -> None:
        """`snapshot` is that of the cycle, and `newer` the present one."""
        self.snapshot, self._newer = snapshot, newer

    def fits(self, entry: Entry) -> bool:
        """Whether the head may be admitted. Its usage is taken for the heads after it."""
        decision, newer = entry.decision, self._newer
        if decision is None:
            return False
        queue, usage = newer.queues.get(decision.queue), decision.assignment.usage
        if queue is None or queue.inactive or queue.spec != self.snapshot.queues[decision.queue].spec:
            return False
        if not all(newer.fr(*pair) is not None for pair in usage) or not fits(newer, queue, usage):
            return False
        newer.ledger.reserve(queue.node, *numbered(newer, usage))
        return True
