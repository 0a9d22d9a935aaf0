"""A decision about quota in the words of an answer: what the flavors lack, which Workloads are preempted,
and which stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.waits import Place
from api.words import counted, listed
from api.workloads import Workload
from quota.answers.gated import closed_gates
from quota.answers.pod_counts import counts_of, in_part, why_not_all
from quota.answers.told import EVERYTHING, Told
from quota.answers.words import NO_FIT, NOT_COVERED, because, rule_text
from quota.search.decision import Decision
from quota.search.survivors import survivors
from quota.state.amounts import shown
from quota.state.snapshot import Queue

__all__ = ["places_of", "said_of", "stays_of", "targets_of", "would_help"]

MOST: Final = 15
"""Workloads that an answer names one by one."""


def said_of(decision: Decision) -> tuple[str, str]:
    """The state of the Workload in a word, and sentences about it."""
    state, says = _said_of(decision)
    return state, " ".join([says, *why_not_all(decision)])


def _said_of(decision: Decision) -> tuple[str, str]:
    flavors = {flavor: None for pods in decision.flavors.values() for flavor in pods.values()}
    part = in_part(counts_of(decision))
    where = f" for {part}" if part else ""
    where += f" in flavor {', '.join(flavors)}" if flavors else ""
    where += (
        f", borrowing from {counted(decision.borrowing, 'level')} of Cohorts" if decision.borrowing else ""
    )
    if decision.mode == "Fit":
        return "Fits", f"It waits, and gets its quota{where} when it is its turn."
    if decision.mode == "NoFit":
        return decision.no_fit_reason or "NoFit", f"It waits. {NO_FIT[decision.no_fit_reason]}"
    if not decision.targets:
        says = f"It waits. It would get its quota{where}, but too few of the Workloads that hold it may be preempted."
        return "NoCandidates", says
    gone = counted(len(decision.targets), "Workload")
    if decision.gated:
        return (
            "PreemptionGated",
            f"It waits: {gone} would have to be preempted, and a preemption gate is closed.",
        )
    are = "is" if len(decision.targets) == 1 else "are"
    return "Preempts", f"It waits. It gets its quota{where} once {gone} {are} preempted."


def targets_of(decision: Decision, priority: int, queue: Queue, told: Told = EVERYTHING) -> list[str]:
    """The Workloads to preempt, and the rule for each."""
    named = [
        f"{told.holder(each.holder, queue)}: {because(each, priority, queue)}"
        for each in decision.targets[:MOST]
    ]
    more = len(decision.targets) - MOST
    return [*named, f"and {counted(more, 'more Workload')}"] if more > 0 else named


def places_of(decision: Decision, queue: Queue) -> Iterator[Place]:
    """What each flavor says of each resource."""
    for search in decision.assignment.searches:
        pods = ", ".join(search.pod_sets)
        if search.stop == "NotCovered":
            yield Place(f"{', '.join(search.resources)} for {pods}", "NoFit", NOT_COVERED)
        for attempt in search.attempts:
            if attempt.mismatch:
                yield Place(f"flavor {attempt.flavor} for {pods}", attempt.outcome, attempt.mismatch)
            for check in attempt.checks:
                free = shown(check.resource, max(0, check.available - check.earlier))
                amounts = f"{shown(check.resource, check.asked)} asked, {free} free"
                name = f"{check.resource} in flavor {attempt.flavor} for {pods}"
                yield Place(
                    name, check.outcome or "NotSimulated", f"{amounts}: {rule_text(check, queue.name)}"
                )


def would_help(workload: Workload, decision: Decision) -> Iterator[str]:
    """What would have to change so that it gets its quota."""
    if decision.gated:
        yield f"Open preemption gates: {listed(closed_gates(workload))}."
    if decision.mode == "Fit" or decision.targets:
        return
    for search in decision.assignment.searches:
        for attempt in search.attempts:
            short = [
                f"{shown(each.resource, each.earlier + each.asked - each.available)} {each.resource}"
                for each in attempt.checks
                if each.earlier + each.asked > each.available
            ]
            if short:
                yield f"{' and '.join(short)} more in flavor {attempt.flavor}."


def stays_of(decision: Decision, priority: int, queue: Queue, told: Told = EVERYTHING) -> Iterator[str]:
    """Workloads that could have been preempted, and why they stay."""
    stay = survivors(decision, priority, queue, MOST)
    for each in stay.candidates:
        reasons = "; ".join(dict.fromkeys(filter(None, each.reasons)))
        yield f"{told.holder(each.holder, queue)}: {reasons}"
    if stay.more:
        yield f"and {counted(stay.more, 'more Workload')}"
    yield from dict.fromkeys(
        f"{told.workloads(other.count)} of {told.queue(other.queue, queue)}: {other.reason}"
        for other in stay.others
    )
