"""Preemption without fair sharing: reclaim what others borrowed, and what is of lower priority.

After Kueue's classical preemption, with hierarchical reclaim (KEP-79) and borrowWithinCohort (KEP-1337).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.twins.quota.attempt import Attempt, Outcome, Step
from tests.twins.quota.holders import (
    Holder,
    asked,
    contested,
    may_preempt,
    order_in_own_queue,
    reason_in_own_queue,
)
from tests.twins.quota.quotas import (
    COHORT_WITHIN_QUOTA,
    NEVER,
    QUEUE_WITHIN_NOMINAL,
    RECLAMATION,
    WHILE_BORROWING,
    WOULD_BORROW,
    Ask,
)
from tests.twins.quota.tree import Tree

__all__ = ["search"]

Holders = Mapping[int, Sequence[Holder]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload that may become a victim, and on which terms."""

    holder: Holder
    reason: int
    lca: int | None = None
    """The lowest cohort that has both it and the preemptor below; None in the preemptor's own ClusterQueue."""
    if_borrowing: bool = True
    """Whether it may be preempted where the preemptor would borrow."""


def search(tree: Tree, holders: Holders, ask: Ask) -> Outcome:
    """The targets of the first attempt that makes the preemptor fit."""
    own = _own(holders, ask)
    hierarchy, priority = _others(tree, holders, ask)
    lists = [_in_order(hierarchy), _in_order(priority), own]
    candidates = [each for some in lists for each in some if each.holder.evicting]
    candidates += [each for some in lists for each in some if not each.holder.evicting]
    trace: list[Step] = []
    for number, borrowing in enumerate(_attempts(tree, ask, hierarchy, priority)):
        attempt = Attempt(tree, ask, borrowing, number)
        fits = _run(attempt, candidates)
        trace += attempt.trace
        if fits:
            return Outcome(attempt.targets, trace)
    return Outcome([], trace)


# ---- candidates


def _own(holders: Holders, ask: Ask) -> list[Candidate]:
    """Of the preemptor's ClusterQueue, in order."""
    allowed = [holder for holder in holders[ask.queue] if may_preempt(ask, holder)]
    allowed.sort(key=lambda holder: order_in_own_queue(ask, holder))
    return [Candidate(holder, reason_in_own_queue(ask, holder)) for holder in allowed]


def _others(tree: Tree, holders: Holders, ask: Ask) -> tuple[list[Candidate], list[Candidate]]:
    """Of ClusterQueues that use more than is theirs: those over which the preemptor has the advantage, and the rest.

    It has the advantage where a smaller subtree than the one they share could have given it all it asks for.
    """
    hierarchy: list[Candidate] = []
    priority: list[Candidate] = []
    if ask.reclaim == NEVER:
        return hierarchy, priority
    advantage, missing = tree.fits_quota(ask.queue, asked(ask))
    visited = ask.queue
    for cohort in tree.ancestors(ask.queue):
        for queue in _over_quota(tree, cohort, visited, contested(ask)):
            for holder in holders[queue]:
                if queue not in ask.closed and may_preempt(ask, holder):
                    if advantage:
                        hierarchy.append(Candidate(holder, RECLAMATION, cohort))
                    else:
                        priority.append(_by_priority(ask, holder, cohort))
        fits, missing = tree.fits_quota(cohort, missing)
        advantage = advantage or fits
        visited = cohort
    return hierarchy, priority


def _over_quota(tree: Tree, cohort: int, visited: int, frs: frozenset[int]) -> list[int]:
    """ClusterQueues below that borrow, in no subtree that does not and not where the search has been."""
    queues: list[int] = []
    for child in tree.children[cohort]:
        if child == visited or tree.within(child, frs):
            continue
        queues += [child] if tree.is_queue(child) else _over_quota(tree, child, visited, frs)
    return queues


def _by_priority(ask: Ask, holder: Holder, lca: int) -> Candidate:
    """KEP-1337: while the preemptor borrows, only what is of lower priority and not above the threshold goes."""
    below = holder.priority < ask.priority and (ask.threshold is None or holder.priority <= ask.threshold)
    if ask.borrow and below:
        return Candidate(holder, WHILE_BORROWING, lca)
    return Candidate(holder, RECLAMATION, lca, if_borrowing=False)


def _in_order(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: candidate.holder.key)


# ---- attempts


def _attempts(tree: Tree, ask: Ask, hierarchy: list[Candidate], priority: list[Candidate]) -> list[bool]:
    """Which attempts are made, by whether the preemptor may borrow in them."""
    under_nominal = all(tree.usage[ask.queue][fr] < tree.nominal[ask.queue][fr] for fr in contested(ask))
    if not (hierarchy or priority) or not (ask.borrow or under_nominal):
        return [True]
    if not ask.borrow and not hierarchy:
        return [False, True]
    return [True, False]


def _run(attempt: Attempt, candidates: list[Candidate]) -> bool:
    """Whether the preemptor fits in the end."""
    for candidate in candidates:
        obstacle = _obstacle(attempt, candidate)
        if obstacle is not None:
            attempt.note(candidate.holder, obstacle)
            continue
        attempt.take(candidate.holder, candidate.reason)
        if attempt.fits():
            attempt.fill_back()
            return True
    return False


def _obstacle(attempt: Attempt, candidate: Candidate) -> int | None:
    """Why the candidate stays, now that those before it are gone."""
    if candidate.lca is None:
        return None
    if attempt.borrowing and not candidate.if_borrowing:
        return WOULD_BORROW
    tree, frs = attempt.tree, contested(attempt.ask)
    if tree.within(candidate.holder.queue, frs):
        return QUEUE_WITHIN_NOMINAL
    for cohort in tree.ancestors(candidate.holder.queue):
        if cohort == candidate.lca:
            break
        if tree.within(cohort, frs):
            return COHORT_WITHIN_QUOTA
    return None
