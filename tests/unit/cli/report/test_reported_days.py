"""`reprieve report` with PreemptionReports: what they count, plans count no second time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from answers.reports.days import OTHERS
from answers.reports.decisions import decisions_of
from answers.reports.report import Report, report
from api.plans import PreemptionPlan
from api.reports import EnforcedCounts, Gap, PreemptionReport, QuotaCounts, ReportRow
from api.times import rfc3339
from cli.main import reprieve
from tests.kit.observed_plans import DAY, NOW, days_of, plan


def history() -> list[PreemptionPlan]:
    return [
        plan(0, pods=3, served_nobody=2, ours=2, bound=True, seconds_until_bound=70),
        plan(1, pods=1, namespace="team-b", age=DAY, groups_broken=1, bound=True, seconds_until_bound=7),
        plan(2, pods=5, state="Changed", unattributed=2),
        plan(3, pods=4, in_pieces=True, in_pieces_seconds=9, priority=7, age=3 * DAY),
    ]


def reported(plans: list[PreemptionPlan], reports: list[PreemptionReport], **options: Any) -> Report:
    return report(
        decisions_of(plans), reports, **{"now": NOW, "since": NOW - 7 * DAY, "by": "day", **options}
    )


def numbers(answer: Report) -> Any:
    data = answer.plain()
    return {name: data[name] for name in ("total", "rows", "days", "namespaces", "waits", "states", "open")}


@pytest.mark.parametrize("by", ["day", "namespace"])
@pytest.mark.parametrize("namespace", [None, "team-a", "team-b", "nobody"])
def test_the_sums_are_the_same_with_plans_with_reports_and_with_both(by: Any, namespace: str | None) -> None:
    plans = history()
    expected = numbers(reported(plans, [], by=by, namespace=namespace))
    reports = days_of(plans)
    assert numbers(reported([], reports, by=by, namespace=namespace)) == expected, "all plans are gone"
    assert numbers(reported(plans, reports, by=by, namespace=namespace)) == expected, "none is"
    assert numbers(reported(plans[1:3], reports, by=by, namespace=namespace)) == expected


def test_what_is_in_no_report_yet_counts_from_its_plan() -> None:
    plans = history()
    goes_on = plan(9, pods=2, concluded=False)
    expected = numbers(reported([*plans, goes_on], []))
    assert numbers(reported([*plans, goes_on], days_of(plans))) == expected


@pytest.mark.parametrize("by", ["priority", "gang"])
def test_priorities_and_gangs_are_those_of_plans_and_the_answer_says_so(by: Any) -> None:
    plans = history()
    answer = reported(plans[:1], days_of(plans), by=by)
    assert sum(row.decisions for row in answer.rows) == 1
    assert answer.total.decisions == 4
    assert f"Rows by {by} are of plans that are still there: 1 of 4 decisions." in answer.unknown
    assert len(answer.dearest) == 1
    assert not any("Rows by" in each for each in reported(plans, [], by=by).unknown)


def test_what_plans_were_deleted_is_said() -> None:
    without, with_reports = reported(history(), []), reported(history(), days_of(history()))
    assert any("Nor are plans that were deleted since." in each for each in without.unknown)
    assert any("deleted since before they were concluded" in each for each in with_reports.unknown)


def test_of_a_part_of_a_day_plans_alone_tell() -> None:
    plans = [plan(0, age=1.2 * DAY), plan(1, age=0.9 * DAY), plan(2, age=0.1 * DAY)]
    reports = days_of(plans)
    answer = reported([plans[1]], reports, since=NOW - DAY)
    assert answer.total.decisions == 2, "one of today's report, and one plan of yesterday afternoon"
    assert (
        "Of 2026-11-25, only a part counts, and only what plans say that are still there." in answer.unknown
    )


def test_how_long_was_observed_and_what_was_not() -> None:
    gaps = [Gap("NoLeader", 90, 1), Gap("EventsRefused", 7300, 2)]
    reports = days_of(history(), observed_seconds=600, gaps=gaps)
    answer = reported([], reports)
    assert answer.seconds == 600 * len(reports)
    running = days_of(history(), observed_seconds=600, as_of=rfc3339(NOW - 100))
    assert reported([], running).seconds == 600 * len(reports) + 100
    stopped = days_of(history(), observed_seconds=600, as_of=rfc3339(NOW - 100), ended=True)
    assert reported([], stopped).seconds == 600 * len(reports)
    assert answer.answer.startswith("Observed for 30 minutes only.")
    said = "6 hours were not observed, or not wholly: 4 minutes no process led, 6 hours events could not be read."
    assert said in answer.unknown
    assert answer.plain()["reports"]["gaps"][0] == {"cause": "NoLeader", "seconds": 270}


def test_what_was_enforced_and_how_far_quota_agrees_stands_beside_it() -> None:
    total = ReportRow(enforced=EnforcedCounts(2, 9, 1, 1), quota=QuotaCounts(5, 1, 2))
    answer = reported([], days_of(history()[:1], total=total))
    assert answer.recorded.more == [
        "Where the mode was Enforce, 2 plans evicted 9 pods: 1 ended with a preemptor that runs, and 1 evicted in "
        "vain.",
        "Of 8 decisions of Kueue, reprieve's quota decides 5 in the same way and 1 in another one. 2 cannot be "
        "compared.",
    ]


def test_namespaces_without_a_row_are_together() -> None:
    (one,) = days_of(history()[:1])
    many = msgspec.structs.replace(one, others=one.total)
    assert {row.name for row in reported([], [many], by="namespace").rows} == {"team-a", OTHERS}
    theirs = reported([plan(8, namespace="team-c")], [many], namespace="team-c")
    (said,) = [each for each in theirs.unknown if "without a row" in each]
    assert said.startswith("1 decision of namespaces")


def test_a_report_whose_name_is_no_day_does_not_count() -> None:
    (one,) = days_of(history()[:1])
    one.metadata.name = "mine"
    assert reported([], [one]).total.decisions == 0


def test_files_may_hold_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.clock._SystemClock.wall", lambda _self: NOW)
    path = tmp_path / "dump.json"
    plans = history()
    items = [*days_of(plans), plans[0]]
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    for output in ("text", "json", "html"):
        result = CliRunner().invoke(reprieve, ["report", "-f", str(path), "-o", output])
        assert (result.exit_code, result.stderr) == (0, "")
        assert "3 decisions" in result.stdout
        if output == "json":
            assert json.loads(result.stdout)["reports"]["days"] == ["2026-11-23", "2026-11-24", "2026-11-25"]


def test_a_damaged_report_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    body = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionReport",
        "metadata": {"name": "2026-11-25"},
    }
    path.write_text(json.dumps({**body, "observedSeconds": -1}))
    result = CliRunner().invoke(reprieve, ["report", "-f", str(path)])
    assert result.exit_code == 2
    assert "PreemptionReport 2026-11-25" in result.stderr
