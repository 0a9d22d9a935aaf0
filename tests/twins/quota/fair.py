"""Preemption with fair sharing (KEP-1714): who has the highest dominant resource share gives first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.twins.quota.attempt import Attempt, Outcome
from tests.twins.quota.holders import Holder, contested, may_preempt, order_in_own_queue, reason_in_own_queue
from tests.twins.quota.quotas import (
    FAIR_SHARING,
    FINAL_SHARE,
    INITIAL_SHARE,
    NEVER,
    RECLAMATION,
    SHARE_REFUSED,
    Ask,
)
from tests.twins.quota.tree import Share, Tree

__all__ = ["search"]

Holders = Mapping[int, Sequence[Holder]]
Waiting = dict[int, list[Holder]]
"""Candidates by ClusterQueue, in order; none of an empty list."""


def search(tree: Tree, holders: Holders, ask: Ask, strategies: Sequence[int]) -> Outcome:
    """Targets by the first strategy and, where they are too few, more by the second."""
    waiting = _candidates(tree, holders, ask)
    passes = _Passes(Attempt(tree, ask, borrowing=True))
    fits, refused = passes.first(waiting, strategies[0])
    if not fits and len(strategies) > 1:
        fits = passes.second(refused)
    attempt = passes.attempt
    passes.leave()
    if not fits:
        return Outcome([], attempt.trace)
    attempt.fill_back()
    return Outcome(attempt.targets, attempt.trace)


def _candidates(tree: Tree, holders: Holders, ask: Ask) -> Waiting:
    """Of the own ClusterQueue, and of all others in the tree that borrow what is contested."""
    waiting: Waiting = {}
    own = [holder for holder in holders[ask.queue] if may_preempt(ask, holder)]
    if own:
        waiting[ask.queue] = sorted(own, key=lambda holder: order_in_own_queue(ask, holder))
    if ask.reclaim == NEVER or tree.is_root(ask.queue):
        return waiting
    for queue in tree.below(tree.ancestors(ask.queue)[-1]):
        if queue != ask.queue and queue not in ask.closed and not tree.within(queue, contested(ask)):
            allowed = [holder for holder in holders[queue] if may_preempt(ask, holder)]
            if allowed:
                waiting[queue] = sorted(allowed, key=lambda holder: holder.key)
    return waiting


class _Passes:
    """The preemptor's request is counted as used all the while, except where it is asked whether it fits."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.tree = attempt.tree
        self.ask = attempt.ask
        self.path = self.tree.ancestors(self.ask.queue)
        self.tree.use(self.ask.queue, attempt.amounts)

    def leave(self) -> None:
        """The request is counted no longer."""
        self.tree.free(self.ask.queue, self.attempt.amounts)

    def _take(self, holder: Holder, reason: int) -> bool:
        """Whether the preemptor fits then."""
        self.attempt.take(holder, reason)
        self.tree.free(self.ask.queue, self.attempt.amounts)
        fits = self.attempt.fits()
        self.tree.use(self.ask.queue, self.attempt.amounts)
        return fits

    # ---- the two passes

    def first(self, waiting: Waiting, strategy: int) -> tuple[bool, Waiting]:
        """Whether the preemptor fits, and whom the strategy refused."""
        entitled = self.tree.within(self.ask.queue, contested(self.ask))
        refused: Waiting = {}
        while (queue := self._next_queue(waiting)) is not None:
            if queue == self.ask.queue:
                holder = _pop(waiting, queue)
                fits = self._take(holder, reason_in_own_queue(self.ask, holder))
            elif entitled:
                fits = self._take(_pop(waiting, queue), RECLAMATION)
            else:
                fits = self._take_by_strategy(waiting, queue, strategy, refused)
            if fits:
                return True, refused
        return False, refused

    def _take_by_strategy(self, waiting: Waiting, queue: int, strategy: int, refused: Waiting) -> bool:
        """The first workload that the strategy lets go. Whether the preemptor fits then."""
        preemptor, target = self._below_common_cohort(queue)
        while queue in waiting:
            holder = _pop(waiting, queue)
            if self._allows(strategy, preemptor, target, holder):
                return self._take(holder, FAIR_SHARING)
            self.attempt.note(holder, SHARE_REFUSED)
            refused.setdefault(queue, []).append(holder)
        return False

    def second(self, waiting: Waiting) -> bool:
        """LessThanInitialShare, which does not depend on the workload: one of each ClusterQueue.

        Whether the preemptor fits.
        """
        self.attempt.number += 1
        while (queue := self._next_queue(waiting)) is not None:
            preemptor, target = self._below_common_cohort(queue)
            holder = waiting.pop(queue)[0]
            if self._allows(INITIAL_SHARE, preemptor, target, holder):
                if self._take(holder, FAIR_SHARING):
                    return True
            else:
                self.attempt.note(holder, SHARE_REFUSED)
        return False

    def _allows(self, strategy: int, preemptor: int, target: int, holder: Holder) -> bool:
        """Rules S2-a and S2-b: the preemptor's share against the target's without the workload, or as it is."""
        ours = self.tree.share(preemptor).rank
        if strategy == FINAL_SHARE:
            return ours <= self._share_without(target, holder).rank
        return ours < self.tree.share(target).rank

    # ---- whose turn it is

    def _next_queue(self, waiting: Waiting) -> int | None:
        """From the root down to the child with the highest share that has a possible victim below it."""
        node = self.path[-1] if self.path else self.ask.queue
        if not self._leads_on(node, waiting):
            return None
        while not self.tree.is_queue(node):
            node = self._highest(
                [child for child in self.tree.children[node] if self._leads_on(child, waiting)], waiting
            )
        return node

    def _leads_on(self, node: int, waiting: Waiting) -> bool:
        """Whoever borrows nothing keeps what it has, the preemptor's own ClusterQueue and cohorts excepted."""
        if node != self.ask.queue and node not in self.path and not self.tree.share(node).borrowing:
            return False
        if self.tree.is_queue(node):
            return node in waiting
        return any(self._leads_on(child, waiting) for child in self.tree.children[node])

    def _highest(self, nodes: list[int], waiting: Waiting) -> int:
        """Among equals a Cohort goes before a ClusterQueue; of ClusterQueues that with the better candidate.

        Of Cohorts the first by name; Kueue takes any.
        """

        def rank(node: int) -> tuple[tuple[bool, float], bool]:
            return self.tree.share(node).rank, not self.tree.is_queue(node)

        top = max(map(rank, nodes))
        tied = [node for node in nodes if rank(node) == top]
        if not self.tree.is_queue(tied[0]):
            return min(tied)
        return min(tied, key=lambda queue: self._head_order(waiting[queue][0]))

    def _head_order(self, holder: Holder) -> tuple[bool, bool, int, int, int]:
        """The usual order between ClusterQueues: other ones before the preemptor's."""
        staying, priority, admitted, order = holder.key
        return staying, holder.queue == self.ask.queue, priority, admitted, order

    # ---- shares

    def _below_common_cohort(self, queue: int) -> tuple[int, int]:
        """Of the lowest cohort that has both below, the children towards the preemptor and towards the queue."""
        ours, theirs = [self.ask.queue, *self.path], [queue, *self.tree.ancestors(queue)]
        common = next(node for node in theirs if node in ours)
        return ours[ours.index(common) - 1], theirs[theirs.index(common) - 1]

    def _share_without(self, node: int, holder: Holder) -> Share:
        """The node's share if the workload were gone."""
        self.tree.free(holder.queue, holder.usage)
        share = self.tree.share(node)
        self.tree.use(holder.queue, holder.usage)
        return share


def _pop(waiting: Waiting, queue: int) -> Holder:
    """The next candidate of the ClusterQueue."""
    holder = waiting[queue].pop(0)
    if not waiting[queue]:
        del waiting[queue]
    return holder
