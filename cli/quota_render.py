"""A decision about quota as text that a person reads: what was asked and free, who goes, who stays and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import dropwhile
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from api.workloads import Workload
from cli.output import counted, line, plain_table, some, title, with_rest
from quota.amounts import shown
from quota.assignment import Check, Mode, NoFitReason, Rule
from quota.decision import Decision, Target
from quota.explain import Candidate, Explanation, NotCandidate, SearchAttempt, Step
from quota.snapshot import Holder, Queue, Snapshot
from quota.workloads import effective_priority

__all__ = ["render"]

COLOURS: Final[dict[Mode, str]] = {"Fit": "bold green", "Preempt": "bold yellow", "NoFit": "bold red"}

RULES: Final[dict[Rule, str]] = {
    "WithinAvailable": "free",
    "ExceedsMaxQuota": "more than there would be if nobody used any",
    "ExceedsNominalQuota": "{short} more needed, and for more than the nominal quota nobody goes",
    "NotSimulated": "{short} more needed",
    "PreemptionReclaims": "{short} more needed: others give back what they borrow",
    "PreemptionSuffices": "{short} more needed: somebody in {queue} goes",
    "NoPreemptionCandidates": "{short} more needed, and nobody may go for it",
}

NO_FIT: Final[dict[NoFitReason, str]] = {
    "": "There is no room for it.",
    "WaitingForQuota": "There is no room for it, and it asks for more than what others may be preempted for.",
    "ExceedsMaxQuota": "It asks for more than there would be if nobody used any.",
    "NoMatchingFlavor": "There is no flavor that suits it.",
}

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
    "OtherFlavors": "no use of what is short",
    "QueueWithinNominal": "the ClusterQueue borrows nothing",
    "CohortWithinQuota": "the Cohort borrows nothing",
    "Priority": "the priority is not low enough",
    "NotNewer": "same priority, not newer, and its time is not over",
    "NotReached": "not needed",
}

MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 20
UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
MAX_UNITS: Final = 3


def render(decision: Decision, workload: Workload, snapshot: Snapshot, now: int) -> RenderableType:
    """The whole decision about the workload; `snapshot` is what it was made from, `now` in microseconds."""
    queue = snapshot.queues[decision.queue]
    parts: list[RenderableType] = [_head(decision, workload, snapshot.path(queue.node))]
    if decision.assignment.searches:
        parts += [title("Quota"), _quota(decision, queue, snapshot)]
    if decision.targets:
        parts += [title("Who goes"), _victims(decision, workload, queue, now)]
    if decision.explanation is not None:
        parts += _stay(decision, decision.explanation, workload, queue)
    return Group(*parts)


def _head(decision: Decision, workload: Workload, path: str) -> RenderableType:
    head = Text()
    head.append(decision.mode, COLOURS[decision.mode])
    if decision.gated:
        head.append(", gated", "bold red")
    head.append(f"  Workload {decision.workload}", "bold")
    head.append(f", priority {effective_priority(workload)}, in {path}")
    return Group(head, *(line(sentence) for sentence in _sentences(decision)))


def _sentences(decision: Decision) -> Iterator[str]:
    if decision.mode == "NoFit":
        yield f"{NO_FIT[decision.no_fit_reason]} Nobody goes."
        yield f"Kueue: {decision.message}"
        return
    flavors = {flavor: None for pods in decision.flavors.values() for flavor in pods.values()}
    place = f"in flavor {', '.join(flavors)}" if flavors else "as it asks for nothing"
    place += f", borrowing (level {decision.borrowing})" if decision.borrowing else ""
    if decision.mode == "Fit":
        yield f"It gets its quota {place}."
    elif decision.targets:
        yield f"{counted(len(decision.targets), 'workload')} must go so that it gets its quota {place}."
    else:
        yield f"It would get its quota {place}, but too few of those who hold it may be preempted."
        yield "Nobody goes: it waits."
    if decision.gated and decision.targets:
        yield "Its preemption gate is closed: until all its gates are open they stay, and it claims nothing."


# ---- quota


def _quota(decision: Decision, queue: Queue, snapshot: Snapshot) -> RenderableType:
    table = plain_table(
        "", "pod set", "resource", "flavor", ">asked", ">free", ">at most", ">borrowed", "why"
    )
    for search in decision.assignment.searches:
        pods = ", ".join(search.pod_sets)
        for attempt in search.attempts:
            chosen = "*" if attempt.flavor == search.chosen else ""
            if attempt.mismatch:
                resources = ", ".join(search.resources)
                table.add_row(chosen, pods, resources, attempt.flavor, "", "", "", "", attempt.mismatch)
            for check in attempt.checks:
                used = _used(decision, queue, snapshot, (attempt.flavor, check.resource))
                table.add_row(
                    chosen,
                    pods,
                    check.resource,
                    attempt.flavor,
                    *_amounts(check, used),
                    _why(check, queue.name),
                )
    return table


def _used(decision: Decision, queue: Queue, snapshot: Snapshot, pair: tuple[str, str]) -> int:
    """What the ClusterQueue uses once the targets are gone."""
    fr = snapshot.fr(*pair)
    gone = (target.holder for target in decision.targets if target.holder.queue == queue.name)
    used = snapshot.ledger.usage(queue.node, fr) if fr is not None else 0
    return used - sum(holder.usage.get(pair, 0) for holder in gone)


def _amounts(check: Check, used: int) -> Iterator[str]:
    """Asked, free, at most, borrowed; what earlier pod sets take is not free."""
    for amount in (check.asked, check.available - check.earlier, check.potential - check.earlier):
        yield shown(check.resource, max(0, amount))
    if check.outcome in (None, "NoFit"):
        yield ""
        return
    over = used + check.earlier + check.asked - check.nominal
    borrowed = shown(check.resource, min(check.asked, max(0, over)))
    yield f"{borrowed} (level {check.borrowing})" if check.borrowing else borrowed


def _why(check: Check, queue: str) -> Text:
    short = shown(check.resource, check.earlier + check.asked - check.available)
    style = "green" if check.outcome == "Fit" else "red" if check.outcome in ("NoFit", "NoCandidates") else ""
    return Text(RULES[check.rule].format(short=short, queue=queue), style)


# ---- who goes


def _victims(decision: Decision, workload: Workload, queue: Queue, now: int) -> RenderableType:
    table = plain_table("workload", "ClusterQueue", ">priority", "held for", "holds", "reason", "why")
    priority = effective_priority(workload)
    for target in decision.targets[:MAX_VICTIMS]:
        holder = target.holder
        held = _duration(now - holder.reserved) + (", leaving already" if holder.evicting else "")
        table.add_row(
            Text(holder.key, "yellow"),
            holder.queue,
            str(holder.priority),
            held,
            some(f"{shown(resource, amount)} {resource}" for (_, resource), amount in holder.usage.items()),
            target.reason,
            _because(target, priority, queue),
        )
    return with_rest(table, len(decision.targets) - MAX_VICTIMS)


def _because(target: Target, priority: int, queue: Queue) -> str:
    match target.reason:
        case "InClusterQueue" if target.holder.priority < priority:
            return "lower priority in the same ClusterQueue"
        case "InClusterQueue":
            return "same priority in the same ClusterQueue, and newer"
        case "InClusterQueueTimeBased":
            return f"same priority, held for longer than {_duration(queue.min_admit or 0)}"
        case "InCohortReclamation":
            return "its ClusterQueue borrows what others have a right to"
        case "InCohortReclaimWhileBorrowing":
            threshold = queue.spec.preemption.borrow_within_cohort.max_priority_threshold
            limit = "" if threshold is None else f", not above {threshold}"
            return f"lower priority{limit}, and its ClusterQueue borrows"
        case "InCohortFairSharing":
            return "its ClusterQueue has the greater share"


def _duration(microseconds: int) -> str:
    """The largest units, as in `1d4h` or `4h0m1s`."""
    rest, counts = abs(microseconds) // 1_000_000, []
    for unit, seconds in UNITS:
        count, rest = divmod(rest, seconds)
        counts.append((count, unit))
    counts = list(dropwhile(_is_zero, counts))[:MAX_UNITS]
    while counts and _is_zero(counts[-1]):
        counts.pop()
    text = "".join(f"{count}{unit}" for count, unit in counts) or "0s"
    return f"-{text}" if microseconds < 0 and counts else text


def _is_zero(count: tuple[int, str]) -> bool:
    return not count[0]


# ---- who stays


def _stay(
    decision: Decision, explanation: Explanation, workload: Workload, queue: Queue
) -> list[RenderableType]:
    targets = {target.holder.key for target in decision.targets}
    steps = [
        {each.holder.key: each for each in attempt.candidates if each.holder.key not in targets}
        for attempt in explanation.attempts
    ]
    stayed = {key: each.holder for attempt in steps for key, each in attempt.items()}
    headers = ("why",) if len(steps) < 2 else map(_attempt_name, explanation.attempts)
    table = plain_table("workload", "ClusterQueue", ">priority", *headers)
    for key, holder in list(stayed.items())[:MAX_SURVIVORS]:
        whys = (_step(attempt.get(key), workload, queue) for attempt in steps)
        table.add_row(Text(key, "green"), holder.queue, str(holder.priority), *whys)
    parts: list[RenderableType] = [with_rest(table, len(stayed) - MAX_SURVIVORS)] if stayed else []
    parts += [line(note, "dim") for note in _passed_over(explanation)]
    return [title("Who stays"), *parts] if parts else []


def _attempt_name(attempt: SearchAttempt) -> str:
    return "tried with borrowing" if attempt.borrowing else "tried without borrowing"


def _step(candidate: Candidate | None, workload: Workload, queue: Queue) -> str:
    if candidate is None:
        return ""
    return STEPS[candidate.step].format(why=_not_while_borrowing(candidate.holder, workload, queue))


def _not_while_borrowing(holder: Holder, workload: Workload, queue: Queue) -> str:
    borrow = queue.spec.preemption.borrow_within_cohort
    if borrow.policy == "Never":
        return "borrowWithinCohort is Never"
    if holder.priority >= effective_priority(workload):
        return "its priority is not lower"
    return f"above the threshold {borrow.max_priority_threshold}"


def _passed_over(explanation: Explanation) -> Iterator[str]:
    reasons: dict[tuple[str, NotCandidate], int] = defaultdict(int)
    for each in explanation.passed_over:
        reasons[each.queue, each.reason] += each.count
    for (queue, reason), count in reasons.items():
        yield f"{counted(count, 'workload')} of {queue}: {NOT_CANDIDATES[reason]}"
