"""What each cluster says of the Workload, and the message of the check, which has a line for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from api.dispatch_words import ADMITTED as HAS_ADMITTED
from api.dispatch_words import ASKS, AWAY, LOST, MAY_PREEMPT, OUT, WAITS, message_of
from api.times import rfc3339
from api.workloads import ADMITTED, BLOCKED_ON_PREEMPTION_GATES, EVICTED, QUOTA_RESERVED
from controllers.multikueue.life.belonging import belonging, differs, present_copy
from controllers.multikueue.life.memory import Memory
from controllers.multikueue.life.order import cost_words
from controllers.multikueue.life.seen import ClusterSeen, Copy, Seen
from runtime.exchange.dispatch_reports import CheckReport

__all__ = ["LIMIT", "Line", "pending", "said", "throttled"]

EVERY: Final = 10_000_000
"""The least time between two texts with the same reasons, in microseconds."""
LIMIT: Final = 30_000
"""The API server takes 32,768 characters."""
LINE: Final = 400
ABOUT: Final = "None"
LOOKS: Final = "Looks"
TAKEN: Final = "Admitted"
PASSING: Final = frozenset({ABOUT, LOOKS, TAKEN})
"""Kinds of lines that another one soon follows. None of them is worth a write at once."""


class Line(NamedTuple):
    """One cluster's part. Another `kind` is worth writing at once, another text is not."""

    kind: str
    text: str


def said(cluster: ClusterSeen, seen: Seen, memory: Memory) -> Line:
    """What there is to say of a cluster that does not have the Workload (yet)."""
    out = memory.out.get(cluster.name)
    if out is not None:
        return Line(f"Out {out.reason}", f"{OUT}: {out.message}")
    if cluster.reach != "Connected":
        return Line(cluster.reach, f"{LOST if cluster.reach == 'Lost' else AWAY}: {cluster.why}")
    copy = present_copy(cluster, seen)
    if copy is not None:
        return _of_copy(copy, cluster, seen, memory)
    if cluster.copy is None:
        if cluster.name in memory.remade:
            return Line("Remade", "the copy was evicted or changed there, and is made anew")
        if not cluster.honours_gates:
            return Line("NoGates", "it does not honour preemption gates, and gets a copy in its turn")
        if cluster.name in memory.failing:
            return Line("Failing", memory.failing[cluster.name])
        return Line(ABOUT, "the copy is about to be made")
    if belonging(cluster.copy, seen, cluster.name) == "Foreign":
        return Line("Foreign", "another manager has a copy of this name there")
    return Line("Leaves", "what is left of an earlier attempt goes first")


def _of_copy(copy: Copy, cluster: ClusterSeen, seen: Seen, memory: Memory) -> Line:
    if copy.is_true(EVICTED) or not copy.active or differs(copy, seen):
        return Line("Remade", "the copy was evicted or changed there, and is made anew")
    if copy.is_true(ADMITTED):
        failing = memory.failing.get(cluster.name)
        return (
            Line(TAKEN, HAS_ADMITTED)
            if failing is None
            else Line("Failing", f"{HAS_ADMITTED}, but {failing}")
        )
    if copy.is_true(QUOTA_RESERVED):
        return Line("Reserved", "holds quota, and waits for its own admission checks")
    reserved = copy.conditions.get(QUOTA_RESERVED)
    why = (reserved.message if reserved is not None else "")[:LINE].rstrip(". ")
    last = seen.turns[-1] if seen.turns else None
    if last is not None and last.cluster == cluster.name and copy.gate == "Open":
        text = f"{MAY_PREEMPT} {rfc3339(last.until / 1_000_000)}"
        return Line(f"Open {last.number}", f"{text}: {why}" if why else text)
    if copy.is_true(BLOCKED_ON_PREEMPTION_GATES):
        text = f"{ASKS}; {cost_words(cluster)}"
        return Line("Gated", f"{text}: {why}" if why else text)
    if reserved is None:
        return Line(LOOKS, "has not looked at it yet")
    return Line(f"Waits {reserved.reason}", f"{WAITS}: {why}" if why else WAITS)


def pending(check: str, lines: Iterable[tuple[str, Line]], since: str) -> tuple[CheckReport, tuple[str, ...]]:
    """The report of a Workload that no cluster has, and the kinds of its lines. `since`: when its quota was
    reserved."""
    found = list(lines) or [("the check", Line("NoConfig", "its MultiKueueConfig is missing or wrong"))]
    text = message_of(since, ((name, line.text) for name, line in found))
    return CheckReport(check, "Pending", text[:LIMIT]), tuple(f"{name} {line.kind}" for name, line in found)


def throttled(
    memory: Memory, report: CheckReport, kinds: tuple[str, ...], now: int
) -> tuple[Memory, CheckReport, int | None]:
    """What is reported, and when another text may be. A new kind of line is reported at once, unless it soon passes."""
    before = memory.said
    if before is not None and not _is_news(memory.said_kinds, kinds) and before.name == report.name:
        if before.message == report.message:
            return memory, before, None
        due = memory.said_at + EVERY
        if now < due:
            return memory, before, due
    return replace(memory, said=report, said_kinds=kinds, said_at=now), report, None


def _is_news(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether a line of another kind is worth a write at once. Each of them is the name of a cluster and the kind."""
    return len(before) != len(now) or any(
        line != last and line.partition(" ")[2] not in PASSING for last, line in zip(before, now, strict=True)
    )
