"""What follows from a cycle: Workloads are admitted, preemptions begin, and texts say why the others wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from controllers.quota.life.admitting import admission_of, reserve
from controllers.quota.life.draft import Draft
from controllers.quota.life.life import settle
from controllers.quota.life.saying import Waiting
from controllers.quota.scheduling.cycles import Decided
from controllers.quota.scheduling.preemptions import Preemptions
from controllers.quota.scheduling.texts import Texts
from controllers.quota.workloads.following import Following
from controllers.quota.workloads.writer import WorkloadWriter
from kube.breath import Breath
from quota.cycle.entries import Entry
from quota.state.activity import required_checks
from quota.state.amounts import QuotaError
from quota.state.overlap import fits, numbered
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from runtime.exchange.placements import Placed

__all__ = ["Consequences"]

log = structlog.get_logger(__name__)

ADMISSION: Final = (0,)
"""The rank of a write that admits."""
NOBODY_ASKED: Final = Placed(())


class Consequences:
    """Carries out what cycles decide, in one term."""

    def __init__(
        self,
        state: QuotaState,
        following: Following,
        preemptions: Preemptions,
        texts: Texts,
        writer: WorkloadWriter,
        now: Callable[[], int],
    ) -> None:
        """`now`: in microseconds since 1970."""
        self._state, self._following, self._preemptions = state, following, preemptions
        self._texts, self._writer, self._now = texts, writer, now
        self._pending = following.pending

    async def take(self, decided: Decided) -> bool:
        """Do what follows from each entry, in their order. Returns whether another cycle must follow at once."""
        progress, breath, snapshot = False, Breath(), decided.snapshot
        fresh = _Fresh(snapshot, self._state.snapshot())
        for entry in decided.entries:
            if breath.is_due:
                await breath.take()
                # What was taken so far is assumed there.
                fresh = _Fresh(snapshot, self._state.snapshot())
            progress |= self._take(entry, fresh)
        return progress

    def _take(self, entry: Entry, fresh: _Fresh) -> bool:
        """Do what follows from the entry. Returns whether another head may come now."""
        key, now = key_of(entry.workload), self._now()
        if self._state.workloads.get(key) is not entry.workload or self._writer.is_busy(key):
            return True  # it has changed: the next cycle decides anew
        if entry.outcome == "Admit":
            return not fresh.fits(entry) or self._admit(key, entry, now)
        placed: Placed | None = NOBODY_ASKED
        if entry.outcome in ("Preempt", "Gated"):
            as_decided = self._victims_as_decided(entry)
            placed = self._preemptions.placed(entry, fresh.snapshot) if as_decided else None
        if placed is None:
            return True  # the next cycle decides anew
        # Its own promise gives a preemptor another answer than its equals get.
        equals = self._pending.answered(entry, now, self._preemptions.promised())
        self._preempt(entry, fresh.snapshot, placed)
        if reason := entry.quota_reserved_reason:
            gated, preempts = entry.outcome == "Gated", entry.outcome == "Preempt"
            self._texts.add(key, Waiting(reason, entry.message, gated, preempts=preempts))
            self._texts.add_equals(equals, reason)
        return entry.requeue == "parked" or entry.tried is not None

    def _preempt(self, entry: Entry, snapshot: QuotaSnapshot, placed: Placed) -> None:
        """What follows for the plans. Nobody is evicted while a preemption gate is closed."""
        if entry.outcome == "Gated":
            self._preemptions.propose(entry, snapshot, placed)
            return
        self._preemptions.nothing_to_propose(entry)
        if entry.outcome == "Preempt":
            self._preemptions.begin(entry, snapshot, placed)
        elif entry.outcome in ("NoFit", "NoCandidates"):
            self._preemptions.no_way(entry.workload)

    def _admit(self, key: str, entry: Entry, now: int) -> bool:
        decision = entry.decision
        queue = self._state.cluster_queues.get(decision.queue if decision is not None else "")
        if decision is None or queue is None:
            return True
        if decision.borrowing:
            self._pending.passed(key, now)
        draft = Draft(entry.workload, now)
        reserve(draft, decision, required_checks(queue.spec, admission_of(decision)))
        try:
            self._writer.start(settle(draft), ADMISSION)
            self._preemptions.admitted(entry.workload, queue.metadata.name)
        except QuotaError as error:
            log.warning("a Workload cannot be admitted", workload=key, error=str(error))
            self._following.hold_back(key)
        return True

    def _victims_as_decided(self, entry: Entry) -> bool:
        """Whether all victims are as the decision saw them."""
        workloads = self._state.workloads
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
