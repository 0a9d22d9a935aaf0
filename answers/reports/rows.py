"""The rows of a report: decisions with something in common, single decisions, and how long preemptors waited.

Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from answers.reports.costs import Bill, seconds_of
from answers.reports.decisions import Decision
from api.instead import Costs, sum_of
from api.reports import ReportRow

__all__ = ["Dear", "Row", "Wait", "dearest_of", "waits_of"]

DEAREST: Final = 50
"""How many decisions a report names at most."""
WAITS: Final = (10, 60, 600, 3600)
"""Where one class of waiting times ends and the next one begins, in seconds."""
WAIT_NAMES: Final = (
    "less than 10 seconds",
    "10 to 59 seconds",
    "1 to 9 minutes",
    "10 to 59 minutes",
    "an hour or more",
)


@dataclass(slots=True)
class Row:
    """Decisions with something in common. All but `decisions` and `unattributed` is of those that are compared."""

    name: str
    decisions: int = 0
    compared: int = 0
    """Whose state is Same."""
    ours: int = 0
    """Pods that reprieve would have evicted."""
    schedulers: int = 0
    """Pods that a scheduler preempted."""
    served_nobody: int = 0
    groups_broken: int = 0
    in_pieces: int = 0
    """Gangs that were in pieces for a second or more."""
    in_pieces_seconds: int = 0
    bound: int = 0
    unattributed: int = 0
    seconds: list[int] = field(default_factory=list)
    """Until each of those was bound that are."""
    costs: Costs = field(default_factory=Costs)
    """What those cost that say it."""

    def add(self, decision: Decision) -> None:
        """Count one more decision."""
        instead = decision.instead
        self.decisions += 1
        self.unattributed += instead.unattributed
        if instead.state != "Same":
            return
        self.compared += 1
        self.ours += decision.ours
        self.schedulers += instead.victims.pods
        self.served_nobody += instead.served_nobody
        self.groups_broken += instead.groups_broken
        self.in_pieces += instead.in_pieces
        self.in_pieces_seconds += instead.in_pieces_seconds
        self.bound += instead.bound
        if instead.seconds_until_bound is not UNSET:
            self.seconds.append(instead.seconds_until_bound)
        self.costs = sum_of((self.costs, instead.costs))

    def add_row(self, row: ReportRow) -> None:
        """Count the decisions of a day."""
        observed, scheduler = row.observed, row.scheduler
        self.decisions += observed.decisions
        self.unattributed += scheduler.unattributed
        self.compared += max(0, observed.decisions - observed.changed - observed.unknown)
        self.ours += observed.pods
        self.schedulers += scheduler.pods
        self.served_nobody += scheduler.served_nobody
        self.groups_broken += scheduler.groups_broken
        self.in_pieces += scheduler.in_pieces
        self.in_pieces_seconds += scheduler.in_pieces_seconds
        self.bound += scheduler.bound
        for seconds, times in scheduler.seconds_until_bound.items():
            self.seconds += [int(seconds)] * times if seconds.isdecimal() else ()
        self.costs = sum_of((self.costs, row.costs))

    @property
    def median_seconds(self) -> float | None:
        """Until a gang was bound by the scheduler; None if none was."""
        return median(self.seconds) if self.seconds else None

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "decisions": self.decisions,
            "compared": self.compared,
            "ours": {"pods": self.ours},
            "scheduler": {
                "pods": self.schedulers,
                "servedNobody": self.served_nobody,
                "groupsBroken": self.groups_broken,
                "inPieces": self.in_pieces,
                "inPiecesSeconds": self.in_pieces_seconds,
                "bound": self.bound,
                "medianSecondsUntilBound": self.median_seconds,
            },
            "unattributed": self.unattributed,
            "costs": seconds_of(self.costs),
        }


class Wait(NamedTuple):
    """Preemptors that waited about as long until they were bound."""

    name: str
    """Such as `10 to 59 seconds`."""
    decisions: int

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {"name": self.name, "decisions": self.decisions}


@dataclass(frozen=True, slots=True)
class Dear:
    """One decision that is compared. Where the reader may not list plans, it is known by its numbers alone."""

    preemptor: str
    """Namespace and name; empty if the reader may not know it."""
    priority: int | None
    """None if the reader may not know it."""
    plan: str
    """Namespace and name; empty if the reader may not know it."""
    decided: str
    """When it was made, as the plan says (RFC 3339); empty if the reader may not know it."""
    ours: int
    """Pods that reprieve would have evicted."""
    schedulers: int
    """Pods that a scheduler preempted."""
    served_nobody: int
    groups_broken: int
    in_pieces_seconds: int
    seconds_until_bound: int | None
    open: bool
    """Whether its numbers may still change."""
    costs: Costs
    """What it cost."""

    @classmethod
    def of(cls, decision: Decision, *, named: bool = True) -> Dear:
        """That decision. `named`: whether the reader may list its plan."""
        instead = decision.instead
        until = instead.seconds_until_bound
        return cls(
            decision.key if named else "",
            decision.priority if named else None,
            f"{decision.namespace}/{decision.plan}" if named else "",
            decision.decided if named else "",
            decision.ours,
            instead.victims.pods,
            instead.served_nobody,
            instead.groups_broken,
            instead.in_pieces_seconds,
            None if until is UNSET else until,
            not instead.concluded,
            sum_of((instead.costs,)),
        )

    def plain(self, bill: Bill) -> dict[str, Any]:
        """For programs."""
        return {
            "preemptor": self.preemptor,
            "priority": self.priority,
            "plan": self.plan,
            "decided": self.decided,
            "ours": {"pods": self.ours},
            "scheduler": {
                "pods": self.schedulers,
                "servedNobody": self.served_nobody,
                "groupsBroken": self.groups_broken,
                "inPiecesSeconds": self.in_pieces_seconds,
                "secondsUntilBound": self.seconds_until_bound,
            },
            "open": self.open,
            "cost": bill.total(self.costs).plain(),
        }


def dearest_of(decisions: Iterable[Dear], bill: Bill) -> list[Dear]:
    """The dearest ones first: those that cost most. Then most pods preempted, most that served nobody, and the longest
    time in pieces."""

    def order(each: Dear) -> tuple[Any, ...]:
        return (
            -bill.cost(each.costs),
            -each.schedulers,
            -each.served_nobody,
            -each.in_pieces_seconds,
            each.plan,
        )

    return sorted(decisions, key=order)[:DEAREST]


def waits_of(total: Row) -> Sequence[Wait]:
    """How many preemptors were bound within which time, and how many were not bound."""
    counts = [0] * len(WAIT_NAMES)
    for seconds in total.seconds:
        counts[bisect_right(WAITS, seconds)] += 1
    waits = [Wait(name, count) for name, count in zip(WAIT_NAMES, counts, strict=True)]
    return [*waits, Wait("not bound", total.compared - total.bound)]
