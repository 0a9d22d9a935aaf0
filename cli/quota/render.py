"""A decision about quota as text for a person: what was asked and free, the victims, the survivors and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.quota_decision import QuotaAnswer
from api.unmodelled import doubted
from api.words import counted, some
from cli.common.output import line, plain_table, title, with_rest
from quota.answers.pod_counts import counts_of, in_part, why_not_all
from quota.answers.words import NO_FIT, NOT_COVERED, backs_off, because, duration, rule_text
from quota.search.assignment import Check, FlavorSearch, Mode
from quota.search.decision import Decision, Target
from quota.search.survivors import Survivors, survivors
from quota.state.amounts import shown
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import effective_priority

__all__ = ["render"]

COLOURS: Final[dict[Mode, str]] = {"Fit": "bold green", "Preempt": "bold yellow", "NoFit": "bold red"}
DOUBTED: Final = "bold red"

MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 20


def render(answer: QuotaAnswer) -> RenderableType:
    """The whole decision about the workload."""
    decision, workload, snapshot, now = answer.decision, answer.workload, answer.snapshot, answer.moment
    queue, priority = snapshot.queues[decision.queue], effective_priority(workload)
    parts: list[RenderableType] = [_head(answer, priority, snapshot.path(queue.node))]
    if decision.assignment.searches:
        parts += [title("Quota"), _quota(decision, queue, snapshot)]
    if decision.targets:
        parts += [
            title("Would be preempted" if answer.doubts else "Victims"),
            _victims(decision, priority, queue, now),
        ]
    if stay := list(_stay(survivors(decision, priority, queue, MAX_SURVIVORS))):
        parts += [title("Who stays"), *stay]
    return Group(*parts)


def _head(answer: QuotaAnswer, priority: int, path: str) -> RenderableType:
    decision, head = answer.decision, Text()
    head.append(answer.verdict, DOUBTED if answer.doubts else COLOURS[decision.mode])
    if decision.gated:
        head.append(", gated", "bold red")
    head.append(f"  Workload {decision.workload}", "bold")
    head.append(f", priority {priority}, in {path}")
    first, *others = _sentences(decision)
    if answer.tried_again:
        says = backs_off(answer.tried_again)
        others.append(f"{says[:1].upper()}{says[1:]}.")
    return Group(head, line(doubted(first, answer.doubts)), *map(line, others))


def _sentences(decision: Decision) -> Iterator[str]:
    if decision.mode == "NoFit":
        yield f"{NO_FIT[decision.no_fit_reason]} Nothing is preempted."
        yield from why_not_all(decision)
        yield f"Kueue: {decision.message}"
        return
    flavors = {flavor: None for pods in decision.flavors.values() for flavor in pods.values()}
    part = in_part(counts_of(decision))
    place = f"for {part} " if part else ""
    place += f"in flavor {', '.join(flavors)}" if flavors else "because it asks for nothing"
    place += f", borrowing (level {decision.borrowing})" if decision.borrowing else ""
    if decision.mode == "Fit":
        yield f"It gets its quota {place}."
    elif decision.targets:
        are = "is" if len(decision.targets) == 1 else "are"
        yield f"Once {counted(len(decision.targets), 'workload')} {are} preempted, it gets its quota {place}."
    else:
        yield f"It would get its quota {place}, but too few of the workloads that hold it may be preempted."
        yield "Nothing is preempted: it waits."
    yield from why_not_all(decision)
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
    style = "green" if check.outcome == "Fit" else "red" if check.outcome in ("NoFit", "NoCandidates") else ""
    return Text(rule_text(check, queue.name), style)


# ---- the victims


def _victims(decision: Decision, priority: int, queue: Queue, now: int) -> RenderableType:
    table = plain_table("workload", "ClusterQueue", ">priority", "held for", "holds", "reason", "why")
    for target in _in_order(decision)[:MAX_VICTIMS]:
        holder = target.holder
        held = duration(now - holder.reserved) + (", leaving already" if holder.evicting else "")
        table.add_row(
            Text(holder.key, "yellow"),
            holder.queue,
            str(holder.priority),
            held,
            some(f"{shown(resource, amount)} {resource}" for (_, resource), amount in holder.usage.items()),
            target.reason,
            because(target, priority, queue),
        )
    return with_rest(table, len(decision.targets) - MAX_VICTIMS)


def _in_order(decision: Decision) -> list[Target]:
    """The targets in the order in which the search took them."""
    attempts = decision.explanation.attempts if decision.explanation is not None else ()
    steps = [candidate.holder.key for attempt in attempts[-1:] for candidate in attempt.candidates]
    turns = {key: turn for turn, key in enumerate(steps)}
    return sorted(decision.targets, key=lambda target: turns.get(target.holder.key, -1))


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
    for each in stay.candidates:
        holder = each.holder
        table.add_row(Text(holder.key, "green"), holder.queue, str(holder.priority), *each.reasons)
    return with_rest(table, stay.more)
