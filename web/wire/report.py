"""What the scheduler did instead: what `reprieve report -o json` prints."""

from __future__ import annotations

from answers.reports.report import By
from web.wire.base import Wire

__all__ = ["Report"]


class Amounts(Wire):
    """What decisions cost, as it is stored: whole seconds by resource."""

    served_nobody: dict[str, int]
    idle_remainders: dict[str, int]
    held_in_pieces: dict[str, int]
    victims: dict[str, int]
    ours: dict[str, int]
    beyond_ours: dict[str, int]
    unknown: int
    unknown_ours: int


class Ours(Wire):
    """What reprieve would have done."""

    pods: int
    """The number that it would have evicted."""


class Schedulers(Wire):
    """What the scheduler did."""

    pods: int
    """The number that it preempted."""
    served_nobody: int
    groups_broken: int
    in_pieces: int
    in_pieces_seconds: int
    bound: int
    median_seconds_until_bound: float | None


class ReportRow(Wire):
    """Decisions with something in common."""

    name: str
    decisions: int
    compared: int
    ours: Ours
    scheduler: Schedulers
    unattributed: int
    costs: Amounts
    """The number of decisions that say what they cost."""


class States(Wire, rename=None):
    """Decisions by whether they are compared."""

    Same: int
    Changed: int
    Unknown: int


class UnseenTime(Wire):
    """Time in which not all was observed."""

    cause: str
    seconds: int


class EnforcedPlans(Wire):
    """Plans that were carried out where the mode was Enforce."""

    plans: int
    pods: int
    bound: int
    in_vain: int


class QuotaDecisions(Wire):
    """Decisions of Kueue beside those of reprieve."""

    agrees: int
    differs: int
    unknown: int


class ReportedDays(Wire):
    """What PreemptionReports say."""

    days: list[str]
    decisions: int
    gaps: list[UnseenTime]
    enforced: EnforcedPlans
    quota: QuotaDecisions


class WaitClass(Wire):
    """Preemptors that waited about as long until they were bound."""

    name: str
    decisions: int


class CostLine(Wire):
    """A line of the costs, or their sum."""

    name: str
    hours: float
    money: str | None
    """A text, so that nobody rounds it. None without prices."""


class Costs(Wire):
    """What it cost, at most."""

    resource: str
    """Hours are of it."""
    prices: dict[str, str]
    lines: list[CostLine]
    sum: CostLine
    without_price: list[str]


class SchedulersVictims(Wire):
    """What the scheduler did for one preemptor."""

    pods: int
    served_nobody: int
    groups_broken: int
    in_pieces_seconds: int
    seconds_until_bound: int | None


class DearDecision(Wire):
    """One decision. It has neither names nor a priority where the reader may not list plans."""

    preemptor: str
    """NAMESPACE/NAME."""
    priority: int | None
    plan: str
    """NAMESPACE/NAME."""
    decided: str
    """RFC 3339."""
    ours: Ours
    scheduler: SchedulersVictims
    open: bool
    """Whether its numbers may still change."""
    cost: CostLine


class Report(Wire):
    """What the scheduler did instead: what `reprieve report -o json` prints."""

    answer: str
    """The first sentence."""
    not_known: list[str]
    """What the numbers do not say."""
    also_known: list[str]
    """What PreemptionReports say besides."""
    by: By
    as_of: str
    namespace: str | None
    """Of the preemptors. None: all."""
    observed_seconds: int
    states: States
    open: int
    """Decisions whose numbers may still change."""
    reports: ReportedDays
    total: ReportRow
    rows: list[ReportRow]
    """By `by`."""
    days: list[ReportRow]
    namespaces: list[ReportRow]
    """The dearest first."""
    waits: list[WaitClass]
    dearest: list[DearDecision]
    """50 at most."""
    costs: Costs
