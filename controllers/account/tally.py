"""What is to be added to the report of a day, and how it is added: each plan once. Pure.

Whatever a plan adds has the plan's UID, and the report lists the UIDs that are in it. So to add it twice changes
nothing. What has no UID is added by one write only, see `controllers.account.reporting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from api.instead import Instead
from api.meta import ObjectMeta
from api.reports import (
    CAUSES,
    EnforcedCounts,
    Gap,
    GapCause,
    ObservedCounts,
    PreemptionReport,
    ReportRow,
    SchedulerCounts,
    added,
)
from api.times import parse_rfc3339, rfc3339

__all__ = [
    "DAY_SECONDS",
    "MOST_ROWS",
    "Addition",
    "Counting",
    "Span",
    "applied",
    "begin_of",
    "day_of",
    "rounded",
    "seconds_of_report",
]

DAY_SECONDS: Final = 86400.0
MOST_ROWS: Final = 200
"""Namespaces with a row of their own in a report."""
STEPS: Final = ((20, 1), (50, 2), (100, 5))
"""How two digits are rounded: below 20 not at all, below 50 to even numbers, else to multiples of 5."""


class Counting(NamedTuple):
    """A decision that will not change, with what it adds to the report of its day."""

    uid: str
    """Of its plan."""
    created: float
    """Of the plan, in seconds since the epoch."""
    namespace: str
    pods: int
    """The victims of the decision."""
    instead: Instead | None
    """What a scheduler did. None: the plan was carried out."""
    bound: bool = False
    """Of one that was carried out: whether the preemptor was bound."""
    in_vain: bool = False

    def row(self) -> ReportRow:
        """What it adds."""
        said = self.instead
        if said is None:
            enforced = EnforcedCounts(1, self.pods, int(self.bound), int(self.in_vain))
            return ReportRow(self.namespace, enforced=enforced)
        observed = ObservedCounts(1, int(said.state == "Changed"), int(said.state == "Unknown"))
        scheduler = SchedulerCounts(unattributed=said.unattributed)
        if said.state != "Same":
            return ReportRow(self.namespace, observed, scheduler)
        until = said.seconds_until_bound
        scheduler = SchedulerCounts(
            said.victims.pods,
            said.served_nobody,
            said.groups_broken,
            int(said.in_pieces),
            said.in_pieces_seconds,
            int(said.bound),
            {} if until is UNSET else {str(rounded(until)): 1},
            said.unattributed,
        )
        observed = replace(observed, pods=self.pods)
        return ReportRow(self.namespace, observed, scheduler, said.costs)


class Span(NamedTuple):
    """Some time, with its end in seconds since the epoch."""

    end: float
    seconds: float
    cause: GapCause | None
    """None: all was observed."""


@dataclass(slots=True)
class Addition:
    """What is to be added to the report of one day."""

    plans: dict[str, Counting] = field(default_factory=dict)
    """By UID."""
    rows: dict[str, ReportRow] = field(default_factory=dict)
    """By namespace: what has no UID."""
    observed: float = 0.0
    """Seconds."""
    gaps: dict[GapCause, tuple[float, int]] = field(default_factory=dict)
    """Seconds, and how often."""
    until: float = 0.0
    """Until when the report is complete, in seconds since the epoch."""

    @property
    def has_more_than_plans(self) -> bool:
        """Whether it must not be added twice."""
        return bool(self.rows) or self.observed > 0.0 or bool(self.gaps)

    def pass_time(self, span: Span, *, begins: bool) -> None:
        """Time has passed. `begins`: what was before this time is not of the same cause."""
        self.until = max(self.until, span.end)
        if span.cause is None:
            self.observed += span.seconds
            return
        seconds, times = self.gaps.get(span.cause, (0.0, 0))
        self.gaps[span.cause] = seconds + span.seconds, times + begins


def rounded(seconds: int) -> int:
    """Rounded down, so that few different numbers remain. Less than 10 stay; others lose a tenth at most.

    60, 600 and 3600 remain what they are, and no number passes them.
    """
    unit = 1
    while seconds >= 100 * unit:
        unit *= 10
    digits = seconds // unit
    step = next(step for below, step in STEPS if digits < below)
    return digits // step * step * unit


def applied(
    stored: PreemptionReport | None,
    addition: Addition,
    day: str,
    token: str,
    *,
    leaves: Callable[[str], bool] = lambda _: False,
    ended: bool = False,
) -> PreemptionReport:
    """The report with the addition. Plans that it has already add nothing.

    `token`: which write this is. `leaves`: whether a plan (UID) is gone, so that it need not be listed any longer.
    """
    report = stored or PreemptionReport(metadata=ObjectMeta(name=day))
    before = set(report.counted)
    new = {uid: each for uid, each in addition.plans.items() if uid not in before}
    rows = [*(each.row() for each in new.values()), *addition.rows.values()]
    total, namespaces, others = _with(report, rows)
    until = max(addition.until, seconds_of_report(report))
    return replace(
        report,
        as_of=rfc3339(until),
        written_by=token,
        ended=ended,
        observed_seconds=report.observed_seconds + round(addition.observed),
        gaps=_gaps(report.gaps, addition.gaps),
        total=total,
        namespaces=namespaces,
        others=others,
        counted=[*(uid for uid in report.counted if not leaves(uid)), *new],
    )


def _with(
    report: PreemptionReport, rows: Iterable[ReportRow]
) -> tuple[ReportRow, list[ReportRow], ReportRow]:
    total, others = report.total, report.others
    namespaces = {each.namespace: each for each in report.namespaces}
    for row in rows:
        total = added(total, row)
        known = namespaces.get(row.namespace)
        if not row.namespace or (known is None and len(namespaces) >= MOST_ROWS):
            others = added(others, row)
        else:
            namespaces[row.namespace] = added(known or ReportRow(row.namespace), row)
    return total, list(namespaces.values()), others


def _gaps(stored: Iterable[Gap], more: Mapping[GapCause, tuple[float, int]]) -> list[Gap]:
    sums = {each.cause: each for each in stored}
    for cause, (seconds, times) in more.items():
        known = sums.get(cause, Gap(cause))
        sums[cause] = Gap(cause, known.seconds + round(seconds), known.times + times)
    return [sums[cause] for cause in CAUSES if cause in sums]


def day_of(seconds: float) -> str:
    """The day of this time, in UTC."""
    return rfc3339(seconds)[:10]


def begin_of(day: str) -> float:
    """When the day begins, in seconds since the epoch. Raises ValueError if the text names no day."""
    return parse_rfc3339(f"{day}T00:00:00Z")


def seconds_of_report(report: PreemptionReport) -> float:
    """Until when the report is complete, in seconds since the epoch; 0 if it does not say."""
    try:
        return parse_rfc3339(report.as_of)
    except ValueError:
        return 0.0
