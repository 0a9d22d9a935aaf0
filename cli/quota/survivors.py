"""Who keeps quota that another workload wants, and why, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from api.words import counted
from cli.common.output import line, plain_table, with_rest
from quota.decision import Decision
from quota.explain import Candidate, NotCandidate, SearchAttempt, Step
from quota.snapshot import Holder, Queue

__all__ = ["survivors"]

STEPS: Final[dict[Step, str]] = {
    "Taken": "taken, but it was not enough",
    "PutBack": "there is room without it",
    "QueueWithinNominal": "its ClusterQueue borrows nothing, or would no longer",
    "CohortWithinQuota": "its Cohort borrows nothing, or would no longer",
    "WouldBorrow": "{why}: goes only for what is not borrowed",
    "ShareRefused": "its ClusterQueue's share is not the greater one",
}

NOT_CANDIDATES: Final[dict[NotCandidate, str]] = {
    "Policy": "the policy is Never",
    "QueueInactive": "the ClusterQueue is not active",
    "OtherFlavors": "no use of what is short",
    "QueueWithinNominal": "the ClusterQueue borrows nothing",
    "CohortWithinQuota": "the Cohort borrows nothing",
    "Priority": "the priority is not low enough",
    "NotNewer": "same priority, and not newer{time}",
    "NotReached": "not needed",
}

MAX_SURVIVORS: Final = 20


def survivors(decision: Decision, priority: int, queue: Queue) -> Iterator[RenderableType]:
    """A table of the candidates that stay, and the numbers of the others; `priority` is that of the workload."""
    if decision.explanation is None:
        return
    if stay := _candidates(decision, decision.explanation.attempts):
        yield _table(stay, decision.explanation.attempts, priority, queue)
    for each in decision.explanation.passed_over:
        time = "" if queue.min_admit is None else ", and its time is not over"
        reason = NOT_CANDIDATES[each.reason].format(time=time)
        yield line(f"{counted(each.count, 'workload')} of {each.queue}: {reason}", "dim")


def _candidates(decision: Decision, attempts: tuple[SearchAttempt, ...]) -> list[Holder]:
    targets = {target.holder.key for target in decision.targets}
    holders = {each.holder.key: each.holder for attempt in attempts for each in attempt.candidates}
    return [holder for key, holder in holders.items() if key not in targets]


def _table(
    stay: list[Holder], attempts: tuple[SearchAttempt, ...], priority: int, queue: Queue
) -> RenderableType:
    headers = [_name(attempt) for attempt in attempts] if len(attempts) > 1 else ["why"]
    table = plain_table("workload", "ClusterQueue", ">priority", *headers)
    # Of a candidate whose turn came more than once, the last.
    steps = [{each.holder.key: each for each in attempt.candidates} for attempt in attempts]
    for holder in stay[:MAX_SURVIVORS]:
        whys = (_why(attempt.get(holder.key), priority, queue) for attempt in steps)
        table.add_row(Text(holder.key, "green"), holder.queue, str(holder.priority), *whys)
    return with_rest(table, len(stay) - MAX_SURVIVORS)


def _name(attempt: SearchAttempt) -> str:
    return "tried with borrowing" if attempt.borrowing else "tried without borrowing"


def _why(candidate: Candidate | None, priority: int, queue: Queue) -> str:
    if candidate is None:
        return ""
    return STEPS[candidate.step].format(why=_not_while_borrowing(candidate.holder, priority, queue))


def _not_while_borrowing(holder: Holder, priority: int, queue: Queue) -> str:
    borrow = queue.spec.preemption.borrow_within_cohort
    if borrow.policy == "Never":
        return "borrowWithinCohort is Never"
    if holder.priority >= priority:
        return "its priority is not lower"
    return f"above the threshold {borrow.max_priority_threshold}"
