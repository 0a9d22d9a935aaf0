"""What is added to the report of a day."""

from __future__ import annotations

from typing import Any

import pytest

from api.instead import Costs, Instead, InsteadVictims
from api.reports import Gap, PreemptionReport, ReportRow, added
from api.times import parse_rfc3339
from controllers.account.tally import MOST_ROWS, Addition, Counting, Span, applied, day_of, rounded

DAY = "2026-11-25"
NOON = parse_rfc3339(f"{DAY}T12:00:00Z")


def counting(number: int = 0, *, namespace: str = "team", pods: int = 2, **said: Any) -> Counting:
    victims = InsteadVictims(pods=said.pop("victims", 3))
    return Counting(
        f"u{number}", NOON, namespace, pods, Instead(victims, **{"state": "Same", "concluded": True, **said})
    )


def addition(*plans: Counting) -> Addition:
    return Addition({each.uid: each for each in plans})


def report_of(*plans: Counting) -> PreemptionReport:
    return applied(None, addition(*plans), DAY, "t/1")


def test_a_row_has_what_its_decisions_add_up_to() -> None:
    costs = Costs(victims={"cpu": 10}, ours={"cpu": 4}, unknown=1)
    report = report_of(
        counting(0, seconds_until_bound=12, bound=True, served_nobody=1, costs=costs),
        counting(1, seconds_until_bound=12, bound=True, groups_broken=2, costs=costs),
        counting(2, in_pieces=True, in_pieces_seconds=7, unattributed=4),
    )
    (row,) = report.namespaces
    assert (row.observed.decisions, row.observed.pods) == (3, 6)
    said = row.scheduler
    assert (said.pods, said.served_nobody, said.groups_broken, said.bound) == (9, 1, 2, 2)
    assert (said.in_pieces, said.in_pieces_seconds, said.unattributed) == (1, 7, 4)
    assert said.seconds_until_bound == {"12": 2}
    assert (row.costs.victims, row.costs.ours, row.costs.unknown) == ({"cpu": 20}, {"cpu": 8}, 2)
    assert added(report.total, ReportRow()) == added(ReportRow(), row)


def test_what_cannot_be_compared_is_counted_and_in_no_sum() -> None:
    report = report_of(counting(0, state="Changed", unattributed=1), counting(1, state="Unknown"))
    observed, scheduler = report.total.observed, report.total.scheduler
    assert (observed.decisions, observed.changed, observed.unknown, observed.pods) == (2, 1, 1, 0)
    assert (scheduler.pods, scheduler.unattributed) == (0, 1)


def test_what_was_carried_out_stands_by_itself() -> None:
    plan = Counting("u", NOON, "team", 5, None, bound=False, in_vain=True)
    total = report_of(plan).total
    assert (total.enforced.plans, total.enforced.pods, total.enforced.bound, total.enforced.in_vain) == (
        1,
        5,
        0,
        1,
    )
    assert total.observed.decisions == total.scheduler.pods == 0


def test_a_plan_that_is_in_the_report_adds_nothing() -> None:
    first = report_of(counting(0))
    again = applied(first, addition(counting(0), counting(1)), DAY, "t/2")
    assert (again.total.observed.decisions, again.counted) == (2, ["u0", "u1"])


def test_plans_that_are_gone_are_not_listed_any_longer_and_stay_in_the_sums() -> None:
    report = report_of(counting(0), counting(1))
    later = applied(report, Addition(), DAY, "t/2", leaves={"u0"}.__contains__)
    assert (later.counted, later.total) == (["u1"], report.total)


def test_of_ten_thousand_namespaces_two_hundred_have_a_row() -> None:
    report = report_of(*(counting(each, namespace=f"team-{each}") for each in range(10_000)))
    assert len(report.namespaces) == MOST_ROWS
    assert report.others.observed.decisions == 10_000 - MOST_ROWS
    assert report.total.observed.decisions == 10_000
    more = applied(report, addition(counting(10_000, namespace="team-7")), DAY, "t/2")
    assert more.namespaces[7].observed.decisions == 2, "who has a row keeps it"


def test_time_is_added_with_the_causes_of_gaps() -> None:
    more = Addition()
    more.pass_time(Span(NOON, 10.0, None), begins=True)
    more.pass_time(Span(NOON + 5, 5.0, "NotReached"), begins=True)
    more.pass_time(Span(NOON + 7, 2.0, "NotReached"), begins=False)
    report = applied(None, more, DAY, "t/1")
    assert (report.observed_seconds, report.gaps) == (10, [Gap("NotReached", 7, 1)])
    assert report.as_of == f"{DAY}T12:00:07Z"
    again = applied(report, more, DAY, "t/2", ended=True)
    assert (again.observed_seconds, again.gaps, again.ended) == (20, [Gap("NotReached", 14, 2)], True)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, 0), (9, 9), (19, 19), (21, 20), (99, 95), (119, 110), (12_345, 12_000)]
)
def test_seconds_are_rounded(seconds: int, expected: int) -> None:
    assert rounded(seconds) == expected


def test_no_class_of_waits_changes_by_rounding_and_a_tenth_is_lost_at_most() -> None:
    for seconds in range(40_000):
        assert 0 <= seconds - rounded(seconds) <= seconds / 10
        for edge in (10, 60, 600, 3600):
            assert (rounded(seconds) < edge) == (seconds < edge)
    assert len({rounded(seconds) for seconds in range(86_400)}) < 160


def test_days_are_those_of_utc() -> None:
    assert (day_of(NOON), day_of(NOON + 43_199), day_of(NOON + 43_200)) == (DAY, DAY, "2026-11-26")
