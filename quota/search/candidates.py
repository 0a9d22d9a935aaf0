"""Which holders of quota may be preempted for a Workload, and why the others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from native.codes import LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from native.quota.quotas import Ask
from quota.state.snapshot import Holder, Queue, QuotaSnapshot

__all__ = ["NonCandidates", "NotCandidate", "PassedOver", "candidates"]

NotCandidate = Literal[
    "Policy",
    "QueueInactive",
    "OtherFlavors",
    "QueueWithinNominal",
    "CohortWithinQuota",
    "Priority",
    "NotNewer",
    "NotReached",
]
"""Why a holder of the same tree was no candidate.

Policy: withinClusterQueue or reclaimWithinCohort is Never. QueueInactive: its ClusterQueue is not active.
OtherFlavors: it uses nothing of what is contested. QueueWithinNominal, CohortWithinQuota: as for a candidate.
Priority: its priority is not lower, as the policy requires. NotNewer: its priority is equal, it is not newer, and its
time is not over. NotReached: it was a candidate, but its turn did not come. The search ended before, or fair sharing
was done with its queue.
"""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Holders of one ClusterQueue that were no candidates, for one reason."""

    queue: str
    reason: NotCandidate
    count: int


def candidates(snapshot: QuotaSnapshot, queue: Queue, ask: Ask, fair_sharing: bool) -> list[Holder]:
    """All holders that the search for `ask` may take, sorted by key. Not all of them together: some are within their
    quota as soon as others are gone."""
    return sorted(NonCandidates(snapshot, queue, ask, fair_sharing).others(), key=lambda holder: holder.key)


class NonCandidates:
    """The holders that are no candidates. The rules are the search's own, applied to one holder at a time."""

    def __init__(self, snapshot: QuotaSnapshot, queue: Queue, ask: Ask, fair_sharing: bool) -> None:
        self._snapshot = snapshot
        self._queue = queue
        self._ask = ask
        self._fair_sharing = fair_sharing
        self._parent = snapshot.layout.quotas.parent.tolist()
        self._above = frozenset(self._ancestors(queue.node))
        names = {number: pair for pair, number in snapshot.layout.frs.items()}
        contested = [fr for fr, is_contested in zip(ask.frs, ask.contested, strict=True) if is_contested]
        self._contested = contested
        self._pairs = frozenset(names[fr] for fr in contested)

    def counted(self, seen: set[str]) -> Iterator[PassedOver]:
        """All holders that are not in `seen`, by ClusterQueue and reason. The workload's own
        ClusterQueue comes first."""
        for queue in sorted(self._queues(), key=lambda each: (each is not self._queue, each.name)):
            shut = self._shut(queue)
            counts = Counter(
                shut or self._why(holder, own=queue is self._queue)
                for holder in self._snapshot.ledger.holders(queue.node)
                if isinstance(holder, Holder) and holder.key not in seen
            )
            for reason, count in sorted(counts.items()):
                yield PassedOver(queue.name, reason, count)

    def others(self) -> Iterator[Holder]:
        """All holders that are candidates."""
        for queue in self._queues():
            if self._shut(queue) is None:
                for holder in self._snapshot.ledger.holders(queue.node):
                    if (
                        isinstance(holder, Holder)
                        and self._why(holder, own=queue is self._queue) == "NotReached"
                    ):
                        yield holder

    def _queues(self) -> Iterator[Queue]:
        """The ClusterQueues of the tree."""
        return (each for each in self._snapshot.queues.values() if self._in_tree(each.node))

    def _shut(self, queue: Queue) -> NotCandidate | None:
        """Why no holder of the ClusterQueue is a candidate; None if each holder has a reason of its own."""
        if queue is self._queue:
            return "Policy" if self._ask.within == NEVER else None
        if self._ask.reclaim == NEVER:
            return "Policy"
        if queue.inactive:
            return "QueueInactive"
        if self._within_quota(queue.node):
            return "QueueWithinNominal"
        cohorts = [node for node in self._ancestors(queue.node) if node not in self._above]
        if not self._fair_sharing and any(map(self._within_quota, cohorts)):
            return "CohortWithinQuota"
        return None

    def _why(self, holder: Holder, *, own: bool) -> NotCandidate:
        ask = self._ask
        policy = ask.within if own else ask.reclaim
        if self._pairs.isdisjoint(holder.usage):
            return "OtherFlavors"
        if policy in (LOWER_PRIORITY, LOWER_OR_NEWER) and holder.priority >= ask.priority:
            if holder.priority > ask.priority or policy == LOWER_PRIORITY:
                return "Priority"
            expired = ask.min_admit is not None and ask.now - holder.reserved > ask.min_admit
            if holder.queued <= ask.queued and not expired:
                return "NotNewer"
        return "NotReached"

    def _within_quota(self, node: int) -> bool:
        ledger = self._snapshot.ledger
        return all(ledger.usage(node, fr) <= ledger.quota(node, fr) for fr in self._contested)

    def _in_tree(self, node: int) -> bool:
        return node == self._queue.node or not self._above.isdisjoint(self._ancestors(node))

    def _ancestors(self, node: int) -> Iterator[int]:
        while (node := self._parent[node]) >= 0:
            yield node
