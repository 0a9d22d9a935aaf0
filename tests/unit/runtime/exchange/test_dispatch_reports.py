"""What a manager reports holds until another report replaces it, or its term ends."""

from __future__ import annotations

from runtime.exchange.dispatch_reports import Dispatched, DispatchReporter
from runtime.exchange.reports import Reports

FIRST, SECOND = Dispatched("1", may_run=True), Dispatched("1", may_run=False)


def test_a_report_is_heard_of_once_and_ends_with_the_term() -> None:
    reports, heard = Reports().dispatched, list[str]()
    assert reports.of("u") is None
    assert not reports.is_served
    with reports.told(heard.append):
        reporter = DispatchReporter(reports)
        reporter.report("u", "ns/w", FIRST)
        reporter.report("u", "ns/w", FIRST)
        assert (reports.of("u"), heard) == (FIRST, ["ns/w"])
        reporter.report("u", "ns/w", SECOND)
        assert (reports.of("u"), heard) == (SECOND, ["ns/w"] * 2)
        reporter.close()
        assert (reports.of("u"), heard) == (None, ["ns/w"] * 3)


def test_what_was_reported_of_a_workload_is_not_taken_for_the_next_one_of_its_name() -> None:
    reports = Reports().dispatched
    reporter = DispatchReporter(reports)
    reporter.report("former", "ns/w", FIRST)
    reporter.report("next", "ns/w", SECOND)
    assert (reports.of("former"), reports.of("next")) == (None, SECOND)
    reporter.gone("ns/w")
    reporter.gone("ns/w")
    assert reports.of("next") is None
