"""A decision about quota as text for a person: what was asked and free, who goes, who stays and why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from api.words import counted
from api.workloads import Workload
from cli.common.output import line, plain_table, some, title, with_rest
from quota.amounts import shown
from quota.assignment import Check, FlavorSearch, Mode, NoFitReason, QuotaRule
from quota.decision import Decision, Target
from quota.snapshot import Queue, QuotaSnapshot
from quota.survivors import Survivors, survivors
from quota.workloads import effective_priority

__all__ = ["render"]

COLOURS: Final[dict[Mode, str]] = {"Fit": "bold green", "Preempt": "bold yellow", "NoFit": "bold red"}

NO_FIT: Final[dict[NoFitReason, str]] = {
    "": "There is no room for it.",
    "WaitingForQuota": "There is no room for it. Others may not be preempted for as much as it asks for.",
    "ExceedsMaxQuota": "It asks for more than there would be if nobody used any.",
    "NoMatchingFlavor": "There is no flavor that suits it.",
}

RULES: Final[dict[QuotaRule, str]] = {
    "WithinAvailable": "free",
    "ExceedsMaxQuota": "more than there would be if nobody used any",
    "ExceedsNominalQuota": "{short} more needed, and nobody goes for more than the nominal quota",
    "NotSimulated": "{short} more needed",
    "PreemptionReclaims": "{short} more needed: others give back what they borrow",
    "PreemptionSuffices": "{short} more needed: somebody in {queue} goes",
    "NoPreemptionCandidates": "{short} more needed, and nobody may go for it",
}

NOT_COVERED: Final = "the ClusterQueue has no quota for it"
MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 20
UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
MAX_UNITS: Final = 3


def render(decision: Decision, workload: Workload, snapshot: QuotaSnapshot, now: int) -> RenderableType:
    """The whole decision about the workload.

    `snapshot` is the one that the decision was made from. `now` is in microseconds.
    """
    queue, priority = snapshot.queues[decision.queue], effective_priority(workload)
    parts: list[RenderableType] = [_head(decision, priority, snapshot.path(queue.node))]
    if decision.assignment.searches:
        parts += [title("Quota"), _quota(decision, queue, snapshot)]
    if decision.targets:
        parts += [title("Who goes"), _victims(decision, priority, queue, now)]
    if stay := list(_stay(survivors(decision, priority, queue))):
        parts += [title("Who stays"), *stay]
    return Group(*parts)


def _head(decision: Decision, priority: int, path: str) -> RenderableType:
    head = Text()
    head.append(decision.mode, COLOURS[decision.mode])
    if decision.gated:
        head.append(", gated", "bold red")
    head.append(f"  Workload {decision.workload}", "bold")
    head.append(f", priority {priority}, in {path}")
    return Group(head, *(line(sentence) for sentence in _sentences(decision)))


def _sentences(decision: Decision) -> Iterator[str]:
    if decision.mode == "NoFit":
        yield f"{NO_FIT[decision.no_fit_reason]} Nobody goes."
        yield f"Kueue: {decision.message}"
        return
    flavors = {flavor: None for pods in decision.flavors.values() for flavor in pods.values()}
    place = f"in flavor {', '.join(flavors)}" if flavors else "because it asks for nothing"
    place += f", borrowing (level {decision.borrowing})" if decision.borrowing else ""
    if decision.mode == "Fit":
        yield f"It gets its quota {place}."
    elif decision.targets:
        yield f"{counted(len(decision.targets), 'workload')} must go so that it gets its quota {place}."
    else:
        yield f"It would get its quota {place}, but too few of the workloads that hold it may be preempted."
        yield "Nobody goes: it waits."
    if decision.gated and decision.targets:
        yield "A preemption gate is closed. Until all its gates are open, it claims nothing, and the others stay."


# ---- quota


def _quota(decision: Decision, queue: Queue, snapshot: QuotaSnapshot) -> RenderableType:
    table = plain_table(
        "", "pod set", "resource", "flavor", ">asked", ">free", ">at most", ">borrowed", "why"
    )
    for search in decision.assignment.searches:
        for row in _rows(search, decision, queue, snapshot):
            table.add_row(*row)
    return table


def _rows(
    search: FlavorSearch, decision: Decision, queue: Queue, snapshot: QuotaSnapshot
) -> Iterator[tuple[str | Text, ...]]:
    pods = ", ".join(search.pod_sets)
    if search.stop == "NotCovered":
        yield "", pods, ", ".join(search.resources), "", "", "", "", "", Text(NOT_COVERED, "red")
    for attempt in search.attempts:
        chosen = attempt.flavor == search.chosen
        mark = "*" if chosen else ""
        if attempt.mismatch:
            yield mark, pods, ", ".join(search.resources), attempt.flavor, "", "", "", "", attempt.mismatch
        for check in attempt.checks:
            # What others leave behind is known only for the flavor that was chosen.
            certain = check.outcome == "Fit" or (chosen and bool(decision.targets))
            used = _used(decision, queue, snapshot, (attempt.flavor, check.resource))
            amounts = *_amounts(check), _borrowed(check, used if certain else None)
            yield mark, pods, check.resource, attempt.flavor, *amounts, _why(check, queue)


def _amounts(check: Check) -> Iterator[str]:
    """The amounts asked, free, and free at most. What earlier pod sets take is not free."""
    for amount in (check.asked, check.available - check.earlier, check.potential - check.earlier):
        yield shown(check.resource, max(0, amount))


def _borrowed(check: Check, used: int | None) -> str:
    """The amount that would be borrowed. `used` is what the ClusterQueue will use besides; None if that is not
    certain."""
    if check.outcome in (None, "NoFit"):
        return ""
    level = f"level {check.borrowing}"
    if used is None:
        return level if check.borrowing else "0"
    over = used + check.earlier + check.asked - check.nominal
    borrowed = shown(check.resource, min(check.asked, max(0, over)))
    return f"{borrowed} ({level})" if check.borrowing else borrowed


def _used(decision: Decision, queue: Queue, snapshot: QuotaSnapshot, pair: tuple[str, str]) -> int:
    """What the ClusterQueue uses once the targets are gone."""
    fr = snapshot.fr(*pair)
    gone = (target.holder for target in decision.targets if target.holder.queue == queue.name)
    used = snapshot.ledger.usage(queue.node, fr) if fr is not None else 0
    return used - sum(holder.usage.get(pair, 0) for holder in gone)


def _why(check: Check, queue: Queue) -> Text:
    short = shown(check.resource, check.earlier + check.asked - check.available)
    style = "green" if check.outcome == "Fit" else "red" if check.outcome in ("NoFit", "NoCandidates") else ""
    return Text(RULES[check.rule].format(short=short, queue=queue.name), style)


# ---- who goes


def _victims(decision: Decision, priority: int, queue: Queue, now: int) -> RenderableType:
    table = plain_table("workload", "ClusterQueue", ">priority", "held for", "holds", "reason", "why")
    for target in _in_order(decision)[:MAX_VICTIMS]:
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


def _in_order(decision: Decision) -> list[Target]:
    """The targets in the order in which the search took them."""
    attempts = decision.explanation.attempts if decision.explanation is not None else ()
    steps = [candidate.holder.key for attempt in attempts[-1:] for candidate in attempt.candidates]
    turns = {key: turn for turn, key in enumerate(steps)}
    return sorted(decision.targets, key=lambda target: turns.get(target.holder.key, -1))


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
    """The largest units, such as `1d4h` or `4h0m1s`. If the clock is behind, the answer is `0s`."""
    rest, counts = max(0, microseconds) // 1_000_000, []
    for unit, seconds in UNITS:
        count, rest = divmod(rest, seconds)
        counts.append((count, unit))
    counts = list(dropwhile(_is_zero, counts))[:MAX_UNITS]
    while counts and _is_zero(counts[-1]):
        counts.pop()
    return "".join(f"{count}{unit}" for count, unit in counts) or "0s"


def _is_zero(count: tuple[int, str]) -> bool:
    return not count[0]


# ---- who stays


def _stay(stay: Survivors) -> Iterator[RenderableType]:
    """A table of the candidates that stay, and a line for each group of the others."""
    if stay.candidates:
        yield _survivors(stay)
    for each in stay.others:
        yield line(f"{counted(each.count, 'workload')} of {each.queue}: {each.reason}", "dim")


def _survivors(stay: Survivors) -> RenderableType:
    headers = stay.attempts if len(stay.attempts) > 1 else ("why",)
    table = plain_table("workload", "ClusterQueue", ">priority", *headers)
    for each in stay.candidates[:MAX_SURVIVORS]:
        holder = each.holder
        table.add_row(Text(holder.key, "green"), holder.queue, str(holder.priority), *each.reasons)
    return with_rest(table, len(stay.candidates) - MAX_SURVIVORS)
