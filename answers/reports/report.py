"""What a scheduler did where observed plans would have done something else: from the plans, and what they say of it.

Pure: the time is given, in seconds since the epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from answers.names import ALL, Names
from answers.reports.costs import Bill, Line, Prices, bill_of
from answers.reports.days import Recorded, seconds_of, states_of
from answers.reports.decisions import Decision
from answers.reports.rows import Dear, Row, Wait, dearest_of, waits_of
from answers.withholding import Reader
from api.instead import StateOfDecision
from api.reports import PreemptionReport
from api.times import rfc3339
from api.words import counted

__all__ = ["BY", "By", "Report", "report"]

By = Literal["day", "namespace", "priority", "gang"]
BY: Final[tuple[By, ...]] = ("day", "namespace", "priority", "gang")
SUMS: Final[frozenset[By]] = frozenset(("day", "namespace"))
"""What PreemptionReports have rows of."""
HOUR: Final = 3600.0
NAMED: Final = 5
"""How many resources are named at most."""
NO_PRICES: Final[Prices] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Report:
    """The answer."""

    by: By
    seconds: float
    """From the first decision of the report until now; 0 without decisions."""
    total: Row
    rows: Sequence[Row]
    states: Counter[StateOfDecision]
    open: int
    """Decisions whose preemptor still waits, or whose victims may still serve somebody."""
    days: Sequence[Row]
    """Rows by day, whatever `by` is."""
    namespaces: Sequence[Row]
    """Rows by namespace, the dearest first, whatever `by` is."""
    dearest: Sequence[Dear]
    """The dearest decisions, 50 at most."""
    as_of: str
    """When it was made (RFC 3339)."""
    namespace: str | None
    """The namespace of the preemptors; None: all."""
    bill: Bill
    """How costs are counted."""
    recorded: Recorded
    """What PreemptionReports say."""
    withheld: Sequence[str] = ()
    """A sentence about the rights that would show more names."""

    @property
    def costs(self) -> Sequence[Line]:
        """The four lines, and their sum."""
        return [*self.bill.lines(self.total.costs), self.bill.total(self.total.costs)]

    @property
    def waits(self) -> Sequence[Wait]:
        """How many preemptors the scheduler bound within which time."""
        return waits_of(self.total)

    @property
    def answer(self) -> str:
        """The first sentence."""
        total = self.total
        if not total.decisions:
            return "No observed plan says yet what the scheduler did instead."
        if not total.compared:
            return f"None of {counted(total.decisions, 'decision')} can be compared."
        said = (
            f"For {counted(total.compared, 'decision')}, the scheduler preempted {counted(total.schedulers, 'pod')}, "
            f"and reprieve would have evicted {total.ours}: {total.served_nobody} of the scheduler's served nobody, "
            f"and it broke {counted(total.groups_broken, 'group')}."
        )
        if self.seconds < HOUR:
            return f"Observed for {counted(int(self.seconds // 60), 'minute')} only. {said}"
        return said

    @property
    def unknown(self) -> list[str]:
        """What the numbers do not say."""
        total = self.total
        if not total.decisions:
            return []
        said = ["When our gangs would have run is not known: nothing was done for them."]
        left = total.decisions - total.compared
        if left:
            changed, unknown = self.states["Changed"], self.states["Unknown"]
            said.append(
                f"{left} of {counted(total.decisions, 'decision')} ({_share(left, total.decisions)}) are not compared: "
                f"{changed} were not made on the state before the scheduler began, and of {unknown} not all was seen."
            )
        if total.unattributed:
            everybody = total.unattributed + total.schedulers
            said.append(
                f"{counted(total.unattributed, 'pod')} ({_share(total.unattributed, everybody)}) were preempted for "
                "somebody who is not known. They are not in the numbers."
            )
        if self.recorded and self.by in ("priority", "gang"):
            there = sum(row.decisions for row in self.rows)
            said.append(
                f"Rows by {self.by} are of plans that are still there: {there} of "
                f"{counted(total.decisions, 'decision')}."
            )
        said += self.recorded.unknown
        if self.open:
            said.append(f"{counted(self.open, 'decision')} may still change.")
        said += [
            "What admission or the scheduler's filters would have refused us is not known.",
            "Sums are no forecast: after the first difference the cluster would have looked otherwise.",
            "What happened while reprieve did not run, or did not reach the API server, may be missing.",
            self._unknown_plans(),
            *self._unknown_costs(),
            *self.withheld,
        ]
        return said

    def _unknown_costs(self) -> list[str]:
        """What the costs do not say."""
        total, costs = self.total, self.total.costs
        said = list[str]()
        if total.compared:
            said.append(
                "Each cost is an upper bound: whether the work of a pod was in a checkpoint is not known."
            )
        if costs.unknown:
            said.append(
                f"What {counted(costs.unknown, 'pod')} ({_share(costs.unknown, total.schedulers)}) of the scheduler's "
                "lost is not known. The costs are too low by that."
            )
        if costs.unknown_ours:
            said.append(
                f"What {counted(costs.unknown_ours, 'pod')} ({_share(costs.unknown_ours, total.ours)}) of ours would "
                "have lost is not known. The work that was lost beyond ours is too high by that."
            )
        unpriced = self.bill.without_price(costs)
        if unpriced:
            more = len(unpriced) - NAMED
            names = [*unpriced[:NAMED], *([f"{more} others"] if more > 0 else [])]
            said.append(f"Without a price, and not in the money: {', '.join(names)}.")
        return said

    def _unknown_plans(self) -> str:
        gone = "Nor are plans that were deleted since"
        if self.recorded:
            gone += " before they were concluded and counted"
        return f"Preemptions for which there is no observed plan are not here. {gone}."

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "answer": self.answer,
            "notKnown": self.unknown,
            "alsoKnown": self.recorded.more,
            "by": self.by,
            "asOf": self.as_of,
            "namespace": self.namespace,
            "observedSeconds": int(self.seconds),
            "states": {state: self.states[state] for state in ("Same", "Changed", "Unknown")},
            "open": self.open,
            "reports": self.recorded.plain(),
            "total": self.total.plain(),
            "rows": [each.plain() for each in self.rows],
            "days": [each.plain() for each in self.days],
            "namespaces": [each.plain() for each in self.namespaces],
            "waits": [each.plain() for each in self.waits],
            "dearest": [each.plain(self.bill) for each in self.dearest],
            "costs": self.bill.plain(self.total.costs),
        }


def report(
    decisions: Iterable[Decision],
    reports: Iterable[PreemptionReport] = (),
    *,
    now: float,
    since: float,
    by: By,
    namespace: str | None = None,
    prices: Prices = NO_PRICES,
    names: Names = ALL,
) -> Report:
    """Of the decisions since then, for preemptors of the namespace; None: of all. `names`: what the reader may list.

    Sums are those of `reports`, and of the decisions that are in none of them. Whoever may list reports may know the
    sums of each namespace. Of decisions whose plans they may not list, they learn neither names nor priorities.
    """
    reader = Reader(names)
    total, tables = Row("total"), {kind: dict[str, Row]() for kind in BY}
    states, is_open, oldest = Counter[StateOfDecision](), 0, now
    compared, recorded = list[Dear](), Recorded(reports, since, namespace)
    for part in recorded.parts():
        if part.namespace is None:
            total.add_row(part.row)
            tables["day"].setdefault(part.day, Row(part.day)).add_row(part.row)
            states += states_of(part.row)
        else:
            tables["namespace"].setdefault(part.namespace, Row(part.namespace)).add_row(part.row)
    for each in decisions:
        decided = seconds_of(each.decided)
        if decided < since or namespace not in (None, each.namespace):
            continue
        is_counted, is_named = each.uid in recorded.counted, reader.lists("preemptionplans", each.namespace)
        if not is_counted:
            total.add(each)
            states[each.instead.state] += 1
        for kind in {by} - SUMS if is_counted else {by, *SUMS}:
            if is_named or kind in SUMS:
                name = _name(each, kind)
                tables[kind].setdefault(name, Row(name)).add(each)
        if each.instead.state == "Same":
            compared.append(Dear.of(each, named=is_named))
        is_open += not each.instead.concluded
        oldest = min(oldest, decided)
    bill = bill_of(total.costs, prices)
    ordered = {
        kind: sorted(rows.values(), key=lambda row: _order(row, kind, bill)) for kind, rows in tables.items()
    }
    days, namespaces, dearest = ordered["day"], ordered["namespace"], dearest_of(compared, bill)
    return Report(
        by,
        recorded.observed_seconds(now) if recorded else now - oldest,
        total,
        ordered[by],
        states,
        is_open,
        days,
        namespaces,
        dearest,
        rfc3339(now),
        namespace,
        bill,
        recorded,
        reader.notes(),
    )


def _name(decision: Decision, by: By) -> str:
    if by == "day":
        return decision.decided[:10]
    if by == "namespace":
        return decision.namespace
    if by == "priority":
        return str(decision.priority)
    return decision.key


def _order(row: Row, by: By, bill: Bill) -> tuple[Any, ...]:
    """Days and priorities by themselves; others the dearest first."""
    if by == "day":
        return (row.name,)
    if by == "priority":
        return (-int(row.name),)
    return -bill.cost(row.costs), -row.schedulers, row.name


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(part, whole):.0f} %"
