"""The order in which fair sharing lets the heads of queues take their turns (Kueue: fair_sharing_iterator.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from native.quota._quota import Ledger
from quota.cycle.queues import Precedence

__all__ = ["Contestant", "Tournament"]

Rank = tuple[bool, bool, float]
"""Whether the contestant borrows, whether it borrows at weight zero, and its share (at weight zero: the ratio)."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """The head of a ClusterQueue, with what it would use."""

    queue: int
    """The node of the ClusterQueue."""
    precedence: Precedence
    frs: tuple[int, ...]
    amounts: tuple[int, ...]


class Tournament:
    """The contestants of one tree.

    In each Cohort, the contestant wins that leaves its side with the smallest share. The winner goes on to the Cohort
    above, up to the root. A contestant that stays within the quota of its side comes before all others (gate
    FairSharingPrioritizeNonBorrowing). Ties go to the higher priority, then the earlier queue timestamp, then the
    smaller UID.
    """

    def __init__(
        self,
        parent: Sequence[int],
        ledger: Ledger,
        contestants: Iterable[Contestant],
        counted: Callable[[int], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """`parent`: the parent of each node, -1 for a root. `contestants`: at most one for each ClusterQueue.

        `counted`: a context in which the ledger counts what the contestant of this ClusterQueue sees as used.
        """
        self._parent = parent
        self._ledger = ledger
        self._counted = counted
        self._waiting = {each.queue: each for each in contestants}
        self._ranks: dict[int, dict[int, dict[int, Rank]]] = {}
        """By side of the root and ClusterQueue: the contestant's rank in each Cohort above it."""

    def __len__(self) -> int:
        return len(self._waiting)

    def pop(self) -> Contestant:
        """Remove the winner and return it."""
        winner = self._winner()
        del self._waiting[winner.queue]
        return winner

    def changed(self, queue: int) -> None:
        """The usage of this ClusterQueue has changed. All contestants on its side of the root get new ranks."""
        self._ranks.pop(self._side(queue), None)

    def _winner(self) -> Contestant:
        """The winner of a Cohort is its contestant in the Cohort above. The lowest Cohorts are decided first."""
        rivals: dict[int, dict[int, list[Contestant]]] = {}
        for each in self._waiting.values():
            cohort = self._parent[each.queue]
            if cohort < 0:
                return each
            rivals.setdefault(self._depth(cohort), {}).setdefault(cohort, []).append(each)
        for depth in range(max(rivals), 0, -1):
            for cohort, contestants in rivals[depth].items():
                above = rivals.setdefault(depth - 1, {})
                above.setdefault(self._parent[cohort], []).append(self._best(cohort, contestants))
        ((root, contestants),) = rivals[0].items()
        return self._best(root, contestants)

    def _best(self, cohort: int, contestants: list[Contestant]) -> Contestant:
        return min(contestants, key=lambda each: (self._rank(each)[cohort], each.precedence))

    def _rank(self, contestant: Contestant) -> dict[int, Rank]:
        side = self._ranks.setdefault(self._side(contestant.queue), {})
        if contestant.queue not in side:
            with self._counted(contestant.queue):
                side[contestant.queue] = self._ranked(contestant)
        return side[contestant.queue]

    def _ranked(self, contestant: Contestant) -> dict[int, Rank]:
        ledger, ranks = self._ledger, {}
        ledger.reserve(contestant.queue, contestant.frs, contestant.amounts)
        node = contestant.queue
        while (cohort := self._parent[node]) >= 0:
            borrows = any(ledger.usage(node, fr) > ledger.quota(node, fr) for fr in contestant.frs)
            weightless, ratio, share = ledger.share(node)
            ranks[cohort] = borrows, weightless, ratio if weightless else share
            node = cohort
        ledger.unreserve(contestant.queue, contestant.frs, contestant.amounts)
        return ranks

    def _side(self, node: int) -> int:
        """The child of the root that is the node, or is above it."""
        while (above := self._parent[node]) >= 0 and self._parent[above] >= 0:
            node = above
        return node

    def _depth(self, node: int) -> int:
        depth = 0
        while (node := self._parent[node]) >= 0:
            depth += 1
        return depth
