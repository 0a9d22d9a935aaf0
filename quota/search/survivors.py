"""Which workloads keep their quota although another workload wants it, and why. For the command and for a web page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from quota.search.candidates import NotCandidate, PassedOver
from quota.search.decision import Decision
from quota.search.explain import Candidate, SearchAttempt, Step
from quota.state.snapshot import Holder, Queue

__all__ = ["Others", "Survivor", "Survivors", "survivors"]

STEPS: Final[dict[Step, str]] = {
    "Taken": "taken, but it was not enough",
    "PutBack": "there is room without it",
    "QueueWithinNominal": "its ClusterQueue borrows nothing, or would no longer",
    "CohortWithinQuota": "its Cohort borrows nothing, or would no longer",
    "WouldBorrow": "{why}: preempted only for what is not borrowed",
    "ShareRefused": "its ClusterQueue does not have the greater share",
}

NOT_CANDIDATES: Final[dict[NotCandidate, str]] = {
    "Policy": "the policy is Never",
    "QueueInactive": "the ClusterQueue is not active",
    "OtherFlavors": "it uses nothing that is short",
    "QueueWithinNominal": "the ClusterQueue borrows nothing",
    "CohortWithinQuota": "the Cohort borrows nothing",
    "Priority": "the priority is not low enough",
    "NotNewer": "same priority, and not newer{time}",
    "NotReached": "not needed",
}


@dataclass(frozen=True, slots=True)
class Survivor:
    """A candidate that keeps its quota."""

    holder: Holder
    reasons: tuple[str, ...]
    """One for each attempt of the search; "" where the attempt did not reach it."""


@dataclass(frozen=True, slots=True)
class Others:
    """Workloads of one ClusterQueue that were no candidates, for one reason."""

    queue: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Survivors:
    """The workloads of the tree that keep their quota."""

    attempts: tuple[str, ...]
    """Names of the attempts of the search, in their order."""
    candidates: tuple[Survivor, ...]
    """In the order in which the search first reached them: all of them, or the first ones."""
    more: int
    """How many candidates come after them."""
    others: tuple[Others, ...]
    """By ClusterQueue and reason."""


def survivors(decision: Decision, priority: int, queue: Queue, most: int | None = None) -> Survivors:
    """The workloads that the decision leaves alone.

    `priority` is the priority of the workload that wants quota, `queue` its ClusterQueue. `most`: the number of
    candidates with reasons; None: all of them. The answer is empty if the decision was made without an explanation.
    """
    explanation = decision.explanation
    if explanation is None:
        return Survivors((), (), 0, ())
    stay = _staying(decision, explanation.attempts)
    told = tuple(_told(islice(stay.values(), most), explanation.attempts, priority, queue))
    return Survivors(
        attempts=tuple(_name(attempt) for attempt in explanation.attempts),
        candidates=told,
        more=len(stay) - len(told),
        others=tuple(_others(each, queue) for each in explanation.passed_over),
    )


def _staying(decision: Decision, attempts: tuple[SearchAttempt, ...]) -> dict[str, Holder]:
    """The candidates that are not preempted, by key."""
    holders = {each.holder.key: each.holder for attempt in attempts for each in attempt.candidates}
    for target in decision.targets:
        holders.pop(target.holder.key, None)
    return holders


def _told(
    holders: Iterable[Holder], attempts: tuple[SearchAttempt, ...], priority: int, queue: Queue
) -> Iterator[Survivor]:
    # A candidate can have more than one turn in an attempt. The last turn counts.
    steps = [{each.holder.key: each for each in attempt.candidates} for attempt in attempts]
    for holder in holders:
        yield Survivor(holder, tuple(_why(attempt.get(holder.key), priority, queue) for attempt in steps))


def _name(attempt: SearchAttempt) -> str:
    return "tried with borrowing" if attempt.borrowing else "tried without borrowing"


def _others(passed_over: PassedOver, queue: Queue) -> Others:
    time = "" if queue.min_admit is None else ", and its time is not over"
    reason = NOT_CANDIDATES[passed_over.reason].format(time=time)
    return Others(passed_over.queue, passed_over.count, reason)


def _why(candidate: Candidate | None, priority: int, queue: Queue) -> str:
    if candidate is None:
        return ""
    return STEPS[candidate.step].format(why=_not_while_borrowing(candidate.holder, priority, queue))


def _not_while_borrowing(holder: Holder, priority: int, queue: Queue) -> str:
    """Why borrowWithinCohort (KEP-1337) does not let the workload preempt this holder while it borrows."""
    borrow = queue.spec.preemption.borrow_within_cohort
    if borrow.policy == "Never":
        return "borrowWithinCohort is Never"
    if holder.priority >= priority:
        return "its priority is not lower"
    return f"above the threshold {borrow.max_priority_threshold}"
