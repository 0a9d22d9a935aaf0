"""Reports hold until others replace them, or their reporter ends, and only news is reported."""

from __future__ import annotations

from runtime.exchange.workload_reports import NOTHING, Reported, Reporter, WorkloadReports

ENDED = Reported(nothing_runs=True)


def test_a_report_holds_until_another_one_replaces_it() -> None:
    reports, told = WorkloadReports(), list[str]()
    reporter = Reporter(reports)
    assert reports.of("u") == NOTHING
    with reports.told(told.append):
        reporter.report("u", "ns/w", ENDED)
        reporter.report("u", "ns/w", ENDED)
        assert (reports.of("u"), told) == (ENDED, ["ns/w"])
        reporter.report("u", "ns/w", NOTHING)
        assert (reports.of("u"), told) == (NOTHING, ["ns/w", "ns/w"])
    reporter.report("u", "ns/w", ENDED)
    assert len(told) == 2, "nobody listens any longer"


def test_what_is_gone_is_forgotten() -> None:
    reports = WorkloadReports()
    reporter = Reporter(reports)
    reporter.report("u", "ns/w", ENDED)
    reporter.report("v", "ns/w", ENDED)
    assert (reports.of("u"), reports.of("v")) == (NOTHING, ENDED)
    reporter.gone("ns/w")
    reporter.gone("ns/w")
    assert reports.of("v") == NOTHING


def test_the_end_of_one_who_reports_ends_what_it_reported_and_nothing_else() -> None:
    reports = WorkloadReports()
    one, other = Reporter(reports), Reporter(reports)
    one.report("u", "ns/u", ENDED)
    other.report("v", "ns/v", ENDED)
    one.close()
    assert (reports.of("u"), reports.of("v")) == (NOTHING, ENDED)
