"""One cycle of the scheduler: it takes the heads of queues and decides about each (Kueue:
pkg/scheduler/scheduler.go).

First, each head gets a decision of its own. Then the heads take turns; a head that borrows less comes earlier. In its
turn, a head sees what the heads before it have taken, and which workloads they preempt. The cycle works on a copy of
the snapshot.

Quota that is promised to others counts as used (`quota.cycle.promises`). The answer then depends on two times: at this
moment the victims of the promises still hold their quota, and later they are gone. What is admitted must fit at both
times. What fits only later waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from api.workloads import Workload
from quota.cycle.admissible import admissible_in, inadmissible
from quota.cycle.entries import Entry, Outcome, pending
from quota.cycle.promises import Promise, Promises, Standing
from quota.cycle.queues import RequeueReason, backs_off, precedence, requeue
from quota.cycle.tournament import Contestant, Tournament
from quota.search.decision import Decision, Options, Tried, decide
from quota.state.amounts import QuotaError
from quota.state.overlap import Usage, fits, kept_free, numbered, preferring, without
from quota.state.snapshot import Holder, Queue, QuotaSnapshot
from quota.state.workloads import effective_priority, key_of

__all__ = ["cycle"]

OVERLAPS: Final = "Workload has overlapping preemption targets with another workload"
FITS_LATER: Final = "Workload will fit after the preemptions for other workloads complete"


def cycle(
    snapshot: QuotaSnapshot,
    heads: Sequence[Workload],
    now: int,
    options: Options | None = None,
    *,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    tried: Mapping[str, Tried] | None = None,
    explain: bool = False,
    promises: Sequence[Promise] = (),
    preferred: Mapping[str, Collection[str]] | None = None,
) -> list[Entry]:
    """The result for each head, in the order of their turns. The inadmissible heads come last, sorted by key.

    `heads`: at most one for each ClusterQueue. `namespaces`: the labels of namespaces; a namespace that has only the
    label with its name may be left out. `tried`: what the last entry of a workload said, by key; leave a workload out
    if quota was freed since then. `promises`: at most one for each preemptor. Raises ValueError if a ClusterQueue has
    two heads.

    `preferred`: by key of a head, holders (keys) that are preempted before others if they are candidates.
    """
    world = replace(snapshot, ledger=snapshot.ledger.snapshot())
    admissible: list[tuple[Queue, Workload]] = []
    nominees: list[_Nominee] = []
    refused: list[Entry] = []
    for workload in heads:
        queue = admissible_in(world, workload, now, namespaces or {})
        if isinstance(queue, Entry):
            refused.append(queue)
        else:
            admissible.append((queue, workload))
    known = Promises(world, promises, admissible)
    turns = _Turns(world, now, options or Options(), explain, known, preferred or {})
    for queue, workload in admissible:
        found = turns.nominate(queue, workload, (tried or {}).get(key_of(workload)))
        if isinstance(found, Entry):
            refused.append(found)
        else:
            nominees.append(found)
    _check_single(nominees)
    return [*turns.take(nominees), *sorted(refused, key=lambda entry: key_of(entry.workload))]


@dataclass(frozen=True, slots=True)
class _Nominee:
    workload: Workload
    queue: Queue
    decision: Decision
    awaits: tuple[Standing, ...] = ()
    """Promises that it passes, and whose victims must have left before it fits."""


class _Turns:
    """The turns of one cycle: what was taken so far, and which workloads are preempted for it."""

    def __init__(
        self,
        world: QuotaSnapshot,
        now: int,
        options: Options,
        explain: bool,
        promises: Promises,
        preferred: Mapping[str, Collection[str]],
    ) -> None:
        self.world = world
        self.now = now
        self.options = options
        self.explain = explain
        self.promises = promises
        self.preferred = preferred
        self.claimed: dict[str, Holder] = {}
        """The victims of all entries so far, by key."""
        self.relied_on: dict[str, Holder] = {}
        """The victims of promises without which an entry so far would not fit, by key."""
        self.kept: list[tuple[_Nominee, Usage]] = []
        """The quota that is kept free for heads so far."""

    def nominate(self, queue: Queue, workload: Workload, tried: Tried | None) -> _Nominee | Entry:
        seen = self.promises.seen_by(queue, workload)
        leaving = _victims(seen)
        try:
            with self.promises.counted(seen):
                decision = self._decide(workload, tried)
                if decision.mode != "Fit" and leaving:
                    with without(self.world, leaving.values()):
                        decision = self._decide(workload, tried)
                nominee = _Nominee(workload, queue, decision)
                is_possible = decision.mode == "Fit" or decision.targets
                return nominee if is_possible else self._nominate_later(nominee, leaving, tried)
        except QuotaError as error:
            return inadmissible(queue, workload, self.now, str(error), "Misconfigured")

    def _nominate_later(
        self, nominee: _Nominee, leaving: Mapping[str, Holder], tried: Tried | None
    ) -> _Nominee:
        """No workload may be preempted for this head. It may fit once the victims of promises it may bypass have left.

        Without this, its own plan, which counted on them, would end just before they leave.
        """
        passed = self.promises.passed_by(nominee.queue, nominee.workload)
        going = _victims(passed)
        if not going:
            return nominee
        with without(self.world, {**leaving, **going}.values()):
            later = self._decide(nominee.workload, tried)
        return replace(nominee, decision=later, awaits=tuple(passed)) if later.mode == "Fit" else nominee

    def _decide(
        self,
        workload: Workload,
        tried: Tried | None = None,
        only: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Decision:
        with preferring(self.world, self.preferred.get(key_of(workload), ())):
            return decide(
                self.world,
                workload,
                self.now,
                self.options,
                explain=self.explain,
                only=only,
                last_tried=tried,
            )

    def take(self, nominees: list[_Nominee]) -> Iterator[Entry]:
        if self.options.fair_sharing:
            yield from self._fairly(nominees)
            return
        for each in sorted(nominees, key=lambda each: (each.decision.borrowing, precedence(each.workload))):
            yield self._turn(each)

    def _fairly(self, nominees: list[_Nominee]) -> Iterator[Entry]:
        """One tournament for each tree. Trees do not influence each other; they come in the order of their names."""
        parent = self.world.layout.quotas.parent.tolist()
        by_node = {each.queue.node: each for each in nominees}
        trees: dict[tuple[str, int], list[Contestant]] = {}
        for each in nominees:
            used = numbered(self.world, each.decision.assignment.usage)
            contestant = Contestant(each.queue.node, precedence(each.workload), *used)
            trees.setdefault(self._root(each.queue.node, parent), []).append(contestant)
        for _, contestants in sorted(trees.items()):
            tournament = Tournament(
                parent, self.world.ledger, contestants, lambda queue: self._counted(by_node[queue])
            )
            while tournament:
                queue = tournament.pop().queue
                yield self._turn(by_node[queue])
                tournament.changed(queue)

    def _root(self, node: int, parent: Sequence[int]) -> tuple[str, int]:
        """The name and number of the root. The number matters because a ClusterQueue and a Cohort may have the same
        name."""
        while parent[node] >= 0:
            node = parent[node]
        return self.world.layout.names[node], node

    def _counted(self, nominee: _Nominee) -> AbstractContextManager[None]:
        return self.promises.counted(self.promises.seen_by(nominee.queue, nominee.workload))

    def _turn(self, nominee: _Nominee) -> Entry:
        queue, workload = nominee.queue, nominee.workload
        seen = self.promises.seen_by(queue, workload)
        with self.promises.counted(seen), self._not_kept_from(nominee):
            entry = self._entry(nominee, seen)
        if entry.outcome == "Admit" and entry.decision is not None:
            self.promises.admitted(queue, self.world, workload, entry.decision.assignment.usage)
        elif entry.outcome in ("Preempt", "DeferredFit"):
            self.promises.waits(workload)
        return entry

    @contextmanager
    def _not_kept_from(self, nominee: _Nominee) -> Iterator[None]:
        """Within this context no quota is kept free for those who respect the promise to this head."""
        own = self.promises.own(nominee.workload)
        kept = [each for each in self.kept if own and self.promises.respects(each[0].workload, own.promise)]
        for other, usage in kept:
            self.world.ledger.unreserve(other.queue.node, *numbered(self.world, usage))
        try:
            yield
        finally:
            for other, usage in kept:
                self._reserve(other.queue, usage)

    def _entry(self, nominee: _Nominee, seen: list[Standing]) -> Entry:
        decision, going = nominee.decision, _victims([*seen, *nominee.awaits])
        claimed = {**going, **self.claimed}
        if any(target.holder.key in claimed for target in decision.targets):
            decision = self._again(nominee, claimed)
            if decision.mode == "Fit":
                self._take(nominee, decision, going)
                message = f"{OVERLAPS}, but will fit after these preemptions complete"
                return self._waits(nominee, decision, "DeferredFit", message)
        if decision.mode == "NoFit":
            return self._requeued(
                nominee, decision, "NoFit", "NoFit", decision.message, decision.no_fit_reason
            )
        if decision.mode == "Preempt" and not decision.targets:
            return self._no_candidates(nominee, decision)
        usage = decision.assignment.usage
        with without(self.world, {**claimed, **self.relied_on, **_targets(decision)}.values()):
            fits_later = fits(self.world, nominee.queue, usage)
        if not fits_later:
            message = "Workload no longer fits after processing another workload"
            return self._requeued(
                nominee, decision, "Skip", "FailedAfterNomination", message, "WaitingForQuota"
            )
        if decision.targets and decision.gated:
            message = "Workload requires preemption, but it's gated"
            return self._requeued(nominee, decision, "Gated", "PreemptionGated", message, "AdmissionGated")
        self._take(nominee, decision, going)
        if decision.mode == "Preempt":
            return self._waits(nominee, decision, "Preempt", pending(decision))
        if not self.promises.fits_now(nominee.queue, self.world, usage, seen):
            return self._waits(nominee, decision, "DeferredFit", FITS_LATER)
        return Entry(nominee.workload, "Admit", decision, decision.message, "")

    def _again(self, nominee: _Nominee, claimed: Mapping[str, Holder]) -> Decision:
        """The decision in the same flavors, as if the victims of the others were gone."""
        own = self.promises.own(nominee.workload)
        chosen = own.victims if own is not None else {}
        relied_on = {key: holder for key, holder in self.relied_on.items() if key not in chosen}
        with without(self.world, {**relied_on, **claimed}.values()):
            return self._decide(nominee.workload, only=nominee.decision.flavors)

    def _take(self, nominee: _Nominee, decision: Decision, going: Mapping[str, Holder]) -> None:
        """Those who come later see what it takes, and whose quota it counts on."""
        self.claimed = {**self.claimed, **_targets(decision)}
        self.relied_on = {**self.relied_on, **going}
        self._reserve(nominee.queue, decision.assignment.usage)

    def _reserve(self, queue: Queue, usage: Usage) -> None:
        self.world.ledger.reserve(queue.node, *numbered(self.world, usage))

    # ---- its entry

    def _no_candidates(self, nominee: _Nominee, decision: Decision) -> Entry:
        """Keep its quota free for it, unless its queue can always reclaim the quota from others, or the quota is
        promised to it."""
        queue = nominee.queue
        reclaims = queue.spec.preemption.reclaim_within_cohort == "Any"
        if not reclaims and self.promises.own(nominee.workload) is None:
            usage = decision.assignment.usage
            usage = kept_free(self.world, queue, usage, borrowing=decision.borrowing > 0)
            self._reserve(queue, usage)
            self.kept.append((nominee, usage))
        entry = self._requeued(
            nominee, decision, "NoCandidates", "PreemptionNoCandidates", decision.message, "WaitingForQuota"
        )
        return replace(entry, retry_at=self._next_expiry(nominee))

    def _waits(self, nominee: _Nominee, decision: Decision, outcome: Outcome, message: str) -> Entry:
        """The entry of a workload that waits until others have left."""
        reason = "WaitingForPreemptedWorkloads"
        return self._requeued(nominee, decision, outcome, "PendingPreemption", message, reason)

    def _requeued(
        self,
        nominee: _Nominee,
        decision: Decision,
        outcome: Outcome,
        why: RequeueReason,
        message: str,
        quota_reserved_reason: str,
    ) -> Entry:
        # For other outcomes the next search starts at the first flavor.
        tried = decision.tried if outcome in ("NoFit", "NoCandidates") else None
        when = requeue(
            nominee.queue.spec.queueing_strategy,
            why,
            pending_flavors=tried is not None,
            backing_off=backs_off(nominee.workload, self.now),
        )
        return Entry(nominee.workload, outcome, decision, message, quota_reserved_reason, when, why, tried)

    def _next_expiry(self, nominee: _Nominee) -> int | None:
        """When the next holder of equal priority in its queue can be preempted because its time is over (KEP-8522)."""
        queue, spec = nominee.queue, nominee.queue.spec.preemption
        if spec.within_cluster_queue != "LowerOrNewerEqualPriority" or not self.options.time_based:
            return None
        if queue.min_admit is None:
            return None
        priority, least = effective_priority(nominee.workload), queue.min_admit + 1
        times = [
            holder.reserved + least
            for holder in self.world.ledger.holders(queue.node)
            if isinstance(holder, Holder) and holder.priority == priority
        ]
        return min((time for time in times if time > self.now), default=None)


def _victims(seen: Iterable[Standing]) -> dict[str, Holder]:
    """Those that still hold quota, by key."""
    return {key: holder for each in seen for key, holder in each.victims.items()}


def _targets(decision: Decision) -> dict[str, Holder]:
    return {target.holder.key: target.holder for target in decision.targets}


def _check_single(nominees: Iterable[_Nominee]) -> None:
    seen: set[str] = set()
    for each in nominees:
        if each.queue.name in seen:
            raise ValueError(f"two heads of ClusterQueue {each.queue.name}")
        seen.add(each.queue.name)
