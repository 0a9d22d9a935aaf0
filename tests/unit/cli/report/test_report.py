"""`reprieve report`: what it says, and what it says that it cannot know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from api.plans import PreemptionPlan, PreemptionPlanStatus
from cli.main import reprieve
from tests.kit.observed_plans import DAY, NOW, plan, reported


def test_the_first_sentence_is_the_answer() -> None:
    answer = reported(
        plan(0, pods=3, served_nobody=2, groups_broken=1, ours=2),
        plan(1, pods=1, bound=True, seconds_until_bound=10, ours=1),
    )
    assert answer.answer == (
        "For 2 decisions, the scheduler preempted 4 pods, and reprieve would have evicted 3: 2 of the scheduler's "
        "served nobody, and it broke 1 group."
    )


def test_a_short_report_says_first_how_long_was_observed() -> None:
    assert reported(plan(age=600.0)).answer.startswith("Observed for 10 minutes only. For 1 decision")


def test_without_decisions_there_is_nothing_to_say() -> None:
    assert reported().answer == "No observed plan says yet what the scheduler did instead."
    assert reported().unknown == []


def test_what_is_not_compared_is_not_in_the_numbers() -> None:
    answer = reported(plan(0, pods=3), plan(1, pods=5, state="Changed"), plan(2, pods=7, state="Unknown"))
    assert (answer.total.decisions, answer.total.compared, answer.total.schedulers) == (3, 1, 3)
    (said,) = [each for each in answer.unknown if "not compared" in each]
    assert said == (
        "2 of 3 decisions (67 %) are not compared: 1 were not made on the state before the scheduler began, and of 1 "
        "not all was seen."
    )
    assert reported(plan(state="Changed")).answer == "None of 1 decision can be compared."


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "When our gangs would have run is not known"),
        ({}, "filters would have refused"),
        ({}, "Sums are no forecast"),
        ({}, "no observed plan are not here"),
        ({}, "did not run, or did not reach the API server, may be missing"),
        ({}, "What it costs in hours or money is not known"),
        ({"state": "Changed"}, "1 were not made on the state before the scheduler began"),
        ({"state": "Unknown"}, "not all was seen"),
        ({"pods": 1, "unattributed": 1}, "1 pod (50 %) were preempted for somebody who is not known"),
        ({"concluded": False}, "1 decision may still change"),
    ],
)
def test_each_sentence_on_what_is_not_known_appears(fields: dict[str, Any], says: str) -> None:
    assert any(says in each for each in reported(plan(**fields)).unknown)


def test_sentences_that_do_not_hold_do_not_appear() -> None:
    said = " ".join(reported(plan()).unknown)
    assert "not compared" not in said
    assert "somebody who is not known" not in said
    assert "may still change" not in said


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("day", ["2026-11-23", "2026-11-24"]),
        ("namespace", ["team-b", "team-a"]),
        ("priority", ["100", "7"]),
        ("gang", ["team-b/gang-1", "team-a/gang-0"]),
    ],
)
def test_the_rows(by: Any, names: list[str]) -> None:
    answer = reported(plan(0, priority=7), plan(1, age=3 * DAY, namespace="team-b", pods=4), by=by)
    assert [row.name for row in answer.rows] == names
    assert sum(row.schedulers for row in answer.rows) == answer.total.schedulers


def test_only_observed_plans_of_the_time_and_the_namespace_count() -> None:
    old, other = plan(1, age=8 * DAY), plan(2, namespace="team-b")
    enforced = plan(3)
    enforced.spec = msgspec.structs.replace(enforced.spec, mode=msgspec.UNSET)
    silent = plan(4)
    silent.status = PreemptionPlanStatus(phase="Observed")
    answer = reported(plan(0), old, other, enforced, silent, namespace="team-a")
    assert answer.total.decisions == 1


def invoke(plans: list[PreemptionPlan], tmp_path: Path, *arguments: str) -> Result:
    path = tmp_path / "plans.json"
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": plans}))
    return CliRunner().invoke(reprieve, ["report", "-f", str(path), "--since", "366d", *arguments])


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.clock._SystemClock.wall", lambda _self: NOW)


def test_what_is_not_known_stands_above_the_numbers(tmp_path: Path) -> None:
    result = invoke([plan(pods=3, ours=2)], tmp_path)
    assert result.exit_code == 0
    text = result.stdout
    assert text.startswith("For 1 decision, the scheduler preempted 3 pods")
    assert text.index("Sums are no forecast") < text.index("compared  ours") < text.index("2026-11-24")


def test_programs_get_the_same(tmp_path: Path) -> None:
    result = invoke(
        [plan(pods=3, ours=2, seconds_until_bound=9, bound=True)], tmp_path, "-o", "json", "--by", "gang"
    )
    data = json.loads(result.stdout)
    assert data["total"]["ours"] == {"pods": 2}
    assert data["total"]["scheduler"]["pods"] == 3
    assert data["total"]["scheduler"]["medianSecondsUntilBound"] == 9
    assert [row["name"] for row in data["rows"]] == ["team-a/gang-0"]
    assert data["answer"].startswith("For 1 decision")


def test_the_status_says_that_there_is_nothing(tmp_path: Path) -> None:
    result = invoke([], tmp_path)
    assert (result.exit_code, result.stdout) == (
        3,
        "No observed plan says yet what the scheduler did instead.\n",
    )


def test_a_wrong_time_is_bad_input(tmp_path: Path) -> None:
    assert invoke([], tmp_path, "--since", "soon").exit_code == 2
