"""What a scheduler did where observed plans would have done something else: from the plans, and what they say of it.

Pure: the time is given, in seconds since the epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, Literal

from msgspec import UNSET

from api.instead import Instead, StateOfDecision
from api.plans import PreemptionPlan
from api.stored_plans import is_observed
from api.times import parse_rfc3339
from api.words import counted
from nodes.groups.keys import short_name

__all__ = ["BY", "By", "Report", "Row", "report"]

By = Literal["day", "namespace", "priority", "gang"]
BY: Final[tuple[By, ...]] = ("day", "namespace", "priority", "gang")
HOUR: Final = 3600.0


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

    def add(self, plan: PreemptionPlan, instead: Instead) -> None:
        """Count one more decision."""
        self.decisions += 1
        self.unattributed += instead.unattributed
        if instead.state != "Same":
            return
        self.compared += 1
        self.ours += sum(len(each.pods) for each in plan.spec.victims)
        self.schedulers += instead.victims.pods
        self.served_nobody += instead.served_nobody
        self.groups_broken += instead.groups_broken
        self.in_pieces += instead.in_pieces
        self.in_pieces_seconds += instead.in_pieces_seconds
        self.bound += instead.bound
        if instead.seconds_until_bound is not UNSET:
            self.seconds.append(instead.seconds_until_bound)

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
        }


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
        if self.open:
            said.append(f"{counted(self.open, 'decision')} may still change.")
        said += [
            "What admission or the scheduler's filters would have refused us is not known.",
            "Sums are no forecast: after the first difference the cluster would have looked otherwise.",
            "Preemptions for which there is no observed plan are not here. Nor are plans that were deleted since.",
        ]
        return said

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "answer": self.answer,
            "notKnown": self.unknown,
            "by": self.by,
            "observedSeconds": int(self.seconds),
            "states": {state: self.states[state] for state in ("Same", "Changed", "Unknown")},
            "open": self.open,
            "total": self.total.plain(),
            "rows": [each.plain() for each in self.rows],
        }


def report(
    plans: Iterable[PreemptionPlan], *, now: float, since: float, by: By, namespace: str | None = None
) -> Report:
    """Of the decisions since then, for preemptors of the namespace; None: of all."""
    total, rows = Row("total"), dict[str, Row]()
    states, is_open, oldest = Counter[StateOfDecision](), 0, now
    for plan in plans:
        instead = plan.status.instead if plan.status is not None else None
        decided = _seconds(plan.metadata.creation_timestamp)
        is_of = namespace in (None, plan.metadata.namespace)
        if instead is None or not is_observed(plan) or decided < since or not is_of:
            continue
        name = _name(plan, by)
        for row in (total, rows.setdefault(name, Row(name))):
            row.add(plan, instead)
        states[instead.state] += 1
        is_open += not instead.concluded
        oldest = min(oldest, decided)
    ordered = sorted(rows.values(), key=lambda row: _order(row, by))
    return Report(by, now - oldest, total, ordered, states, is_open)


def _name(plan: PreemptionPlan, by: By) -> str:
    preemptor = plan.spec.preemptor
    if by == "day":
        return (plan.metadata.creation_timestamp or "")[:10]
    if by == "namespace":
        return plan.metadata.namespace
    if by == "priority":
        return str(preemptor.priority)
    return f"{plan.metadata.namespace}/{short_name(preemptor.name)}"


def _order(row: Row, by: By) -> tuple[float, str]:
    """Days and priorities by themselves; others the dearest first."""
    if by == "day":
        return 0, row.name
    return (-float(row.name) if by == "priority" else -row.schedulers), row.name


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _seconds(text: str | None) -> float:
    try:
        return parse_rfc3339(text or "")
    except ValueError:
        return 0.0
