"""What PreemptionReports add to a report: days whose plans may be gone, and what plans do not say.

A decision is in a report, or its plan is still to be counted: the report lists the plans that are in it. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from api.instead import StateOfDecision
from api.reports import CAUSES, EnforcedCounts, GapCause, PreemptionReport, QuotaCounts, ReportRow, added
from api.times import parse_rfc3339, rfc3339
from api.words import counted

__all__ = ["OTHERS", "Part", "Recorded", "seconds_of", "states_of"]

OTHERS: Final = "other namespaces"
"""The row of those that have none of their own."""
NOTHING: Final = ReportRow()
DAY: Final = 86400.0
STILL_SECONDS: Final = 400.0
"""A leader writes every 300 seconds."""
WHY: Final[dict[GapCause, str]] = {
    "NoLeader": "no process led",
    "Restart": "reprieve was restarted",
    "NotReached": "the API server was not reached",
    "EventsRefused": "events could not be read",
}


class Part(NamedTuple):
    """What one day says of one namespace, or of all."""

    day: str
    namespace: str | None
    """None: all namespaces together."""
    row: ReportRow


class Recorded:
    """The reports of the whole days that count. What is in them counts from there, and no plan counts beside them."""

    def __init__(self, reports: Iterable[PreemptionReport], since: float, namespace: str | None) -> None:
        days = {each.metadata.name: each for each in reports if _begin(each) is not None}
        self._namespace = namespace
        self.days = [days[name] for name in sorted(days) if (_begin(days[name]) or 0.0) >= since]
        self.counted = frozenset(uid for each in self.days for uid in each.counted)
        """UIDs of plans that are in the reports."""
        self.part_of_day = (
            rfc3339(since)[:10] if any(_is_within(each, since) for each in days.values()) else ""
        )
        """The first day, if only a part of it counts. Of that, plans alone tell."""
        total = NOTHING
        for each in self.days:
            total = added(total, each.total if namespace is None else _row_of(each, namespace))
        self.enforced: EnforcedCounts = total.enforced
        self.quota: QuotaCounts = total.quota
        self.decisions = total.observed.decisions

    def __bool__(self) -> bool:
        return bool(self.days)

    def observed_seconds(self, now: float) -> float:
        """For how long all was observed. A leader that has just written observes still, and will write that."""
        seconds = float(sum(each.observed_seconds for each in self.days))
        last = self.days[-1] if self.days else None
        since = now - (seconds_of(last.as_of) if last is not None and not last.ended else 0.0)
        return seconds + since if 0.0 < since < STILL_SECONDS else seconds

    @property
    def gaps(self) -> Counter[GapCause]:
        """The seconds that were not observed, by cause."""
        return Counter({cause: seconds for cause in CAUSES if (seconds := self._gap(cause))})

    def _gap(self, cause: GapCause) -> int:
        return sum(gap.seconds for each in self.days for gap in each.gaps if gap.cause == cause)

    def parts(self) -> Iterator[Part]:
        """What is to be counted. Rows of single namespaces are in those of all."""
        for report in self.days:
            day = report.metadata.name
            if self._namespace is not None:
                row = _row_of(report, self._namespace)
                parts = [Part(day, None, row), Part(day, self._namespace, row)]
            else:
                own = [Part(day, each.namespace, each) for each in report.namespaces]
                parts = [Part(day, None, report.total), *own, Part(day, OTHERS, report.others)]
            yield from (part for part in parts if part.row.observed.decisions)

    @property
    def unknown(self) -> list[str]:
        """What the numbers do not say."""
        said = list[str]()
        if gaps := self.gaps:
            causes = ", ".join(f"{_time(seconds)} {WHY[cause]}" for cause, seconds in gaps.items())
            said.append(f"{_time(sum(gaps.values()))} were not observed, or not wholly: {causes}.")
        if self.part_of_day:
            said.append(
                f"Of {self.part_of_day}, only a part counts, and only what plans say that are still there."
            )
        if self._namespace is not None:
            others = sum(
                each.others.observed.decisions
                for each in self.days
                if self._namespace not in {row.namespace for row in each.namespaces}
            )
            if others:
                said.append(
                    f"{counted(others, 'decision')} of namespaces without a row of their own may be of this one."
                )
        return said

    @property
    def more(self) -> list[str]:
        """What else is known."""
        said, enforced, quota = list[str](), self.enforced, self.quota
        if enforced.plans:
            said.append(
                f"Where the mode was Enforce, {counted(enforced.plans, 'plan')} evicted "
                f"{counted(enforced.pods, 'pod')}: {enforced.bound} ended with a preemptor that runs, and "
                f"{enforced.in_vain} evicted in vain."
            )
        if compared := quota.agrees + quota.differs + quota.unknown:
            said.append(
                f"Of {counted(compared, 'decision')} of Kueue, reprieve's quota decides {quota.agrees} in the same way "
                f"and {quota.differs} in another one. {quota.unknown} cannot be compared."
            )
        return said

    def plain(self) -> dict[str, Any]:
        """For programs."""
        enforced, quota = self.enforced, self.quota
        return {
            "days": [each.metadata.name for each in self.days],
            "decisions": self.decisions,
            "gaps": [{"cause": cause, "seconds": seconds} for cause, seconds in self.gaps.items()],
            "enforced": {
                "plans": enforced.plans,
                "pods": enforced.pods,
                "bound": enforced.bound,
                "inVain": enforced.in_vain,
            },
            "quota": {"agrees": quota.agrees, "differs": quota.differs, "unknown": quota.unknown},
        }


def states_of(row: ReportRow) -> Counter[StateOfDecision]:
    """How many of its decisions have which state."""
    changed, unknown = row.observed.changed, row.observed.unknown
    same = max(0, row.observed.decisions - changed - unknown)
    return Counter({"Same": same, "Changed": changed, "Unknown": unknown})


def _row_of(report: PreemptionReport, namespace: str) -> ReportRow:
    return next((each for each in report.namespaces if each.namespace == namespace), NOTHING)


def _begin(report: PreemptionReport) -> float | None:
    """When its day begins, in seconds since the epoch; None if its name is no day."""
    try:
        return parse_rfc3339(f"{report.metadata.name}T00:00:00Z")
    except ValueError:
        return None


def seconds_of(text: str) -> float:
    """RFC 3339 as seconds since the epoch; 0 if it cannot be read."""
    try:
        return parse_rfc3339(text)
    except ValueError:
        return 0.0


def _is_within(report: PreemptionReport, since: float) -> bool:
    begin = _begin(report)
    return begin is not None and begin < since < begin + DAY


def _time(seconds: int) -> str:
    if seconds < 120:
        return counted(seconds, "second")
    return counted(seconds // 60, "minute") if seconds < 7200 else counted(seconds // 3600, "hour")
