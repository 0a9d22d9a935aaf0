"""Reports hold until others replace them, and only news is told."""

from __future__ import annotations

from runtime.workload_reports import NOTHING, Reported, WorkloadReports

ENDED = Reported(nothing_runs=True)


def test_a_report_holds_until_another_one_replaces_it() -> None:
    reports, told = WorkloadReports(), list[str]()
    assert reports.of("u") == NOTHING
    with reports.told(told.append):
        reports.report("u", "ns/w", ENDED)
        reports.report("u", "ns/w", ENDED)
        assert (reports.of("u"), told) == (ENDED, ["ns/w"])
        reports.report("u", "ns/w", NOTHING)
        assert (reports.of("u"), told) == (NOTHING, ["ns/w", "ns/w"])
    reports.report("u", "ns/w", ENDED)
    assert len(told) == 2, "nobody listens any longer"
    reports.clear()
    assert reports.of("u") == NOTHING
