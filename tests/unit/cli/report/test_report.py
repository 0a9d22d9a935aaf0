"""`reprieve report`: what it says, and what it says that it cannot know."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from api.instead import MOST_SECONDS, Costs
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
        ({}, "upper bound: whether the work of a pod was in a checkpoint is not known"),
        ({"costs": Costs(unknown=2), "pods": 4}, "What 2 pods (50 %) of the scheduler's lost is not known"),
        ({"costs": Costs(unknown_ours=1)}, "What 1 pod (100 %) of ours would have lost is not known"),
        ({"state": "Changed"}, "1 were not made on the state before the scheduler began"),
        ({"state": "Unknown"}, "not all was seen"),
        ({"pods": 1, "unattributed": 1}, "1 pod (50 %) were preempted for somebody who is not known"),
        ({"concluded": False}, "1 decision may still change"),
    ],
)
def test_each_sentence_on_what_is_not_known_appears(fields: dict[str, Any], says: str) -> None:
    assert any(says in each for each in reported(plan(**fields)).unknown)


def test_sentences_that_do_not_hold_do_not_appear() -> None:
    said = " ".join(reported(plan(costs=Costs())).unknown)
    assert "of ours would have" not in said
    assert "of the scheduler's lost" not in said
    assert "Without a price" not in said
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


GPU = "nvidia.com/gpu"
DEAR = Costs(
    served_nobody={GPU: 3600, "cpu": 7200},
    idle_remainders={GPU: 1800},
    held_in_pieces={GPU: 18, "memory": 7200},
    victims={GPU: 36_000, "cpu": 72_000},
    ours={GPU: 7200},
)


def lines_of(answer: Any) -> dict[str, tuple[str, str]]:
    return {each.key: (each.shown_hours, each.shown_money) for each in answer.costs}


def test_the_lines_have_nothing_in_common_and_add_up() -> None:
    """Of 10 hours that victims lost, one served nobody, and ours would have lost two."""
    assert lines_of(reported(plan(costs=DEAR))) == {
        "servedNobody": ("1.00", ""),
        "idleRemainders": ("0.50", ""),
        "heldInPieces": ("0.01", ""),
        "beyondOurs": ("7.00", ""),
        "sum": ("8.51", ""),
    }


def test_what_ours_would_lose_more_in_one_decision_counts_in_the_sum() -> None:
    """Otherwise the decisions in which reprieve is dearer would be left out."""
    cheap = Costs(victims={GPU: 3600}, ours={GPU: 18_000})
    assert lines_of(reported(plan(0, costs=DEAR), plan(1, costs=cheap)))["beyondOurs"] == ("3.00", "")


def test_hours_are_of_cpu_where_there_is_no_device() -> None:
    answer = reported(plan(costs=Costs(victims={"cpu": 5400})))
    assert (answer.bill.resource, lines_of(answer)["sum"]) == ("cpu", ("1.50", ""))


def test_prices_add_up_all_resources_that_have_one() -> None:
    prices = {GPU: Decimal("2.5"), "cpu": Decimal("0.04"), "memory": Decimal("0.01")}
    lines = lines_of(reported(plan(costs=DEAR), prices=prices))
    assert lines["servedNobody"] == ("1.00", "2.58")
    assert lines["heldInPieces"] == ("0.01", "0.03")
    assert lines["beyondOurs"] == ("7.00", "18.22")
    assert lines["sum"] == ("8.51", "22.08")
    unpriced = reported(plan(costs=DEAR), prices={"cpu": Decimal(1)})
    assert "Without a price, and not in the money: memory, nvidia.com/gpu." in unpriced.unknown
    many = Costs(victims={f"a/b{each}": 1 for each in range(9)})
    assert any(each.endswith("a/b4, 4 others.") for each in reported(plan(costs=many), prices=prices).unknown)


def test_money_is_exact_however_large() -> None:
    most = Costs(idle_remainders={"cpu": MOST_SECONDS})
    answer = reported(plan(costs=most), prices={"cpu": Decimal("999999999999.999999999999")})
    assert lines_of(answer)["sum"] == ("2501999792983.61", "2501999792983608611111108.61")


def test_the_dearest_decision_is_the_one_that_costs_most() -> None:
    plans = [
        plan(0, pods=9),
        plan(1, pods=5, costs=Costs(victims={"cpu": 10})),
        plan(2, pods=1, costs=Costs(victims={"cpu": 10, GPU: 5})),
        plan(3, pods=2, costs=Costs(victims={GPU: 5}, ours={GPU: 5})),
        plan(4, pods=2, costs=Costs(victims={GPU: 4})),
    ]
    assert [each.plan[-1] for each in reported(*plans).dearest] == ["2", "4", "0", "1", "3"]
    by_money = reported(*plans, prices={"cpu": Decimal(1)})
    assert [each.plan[-1] for each in by_money.dearest] == ["1", "2", "0", "3", "4"]


def test_costs_that_somebody_wrote_by_hand_break_nothing() -> None:
    odd = Costs(victims={"cpu": -10, "x" * 317: 5}, served_nobody={GPU: 10}, ours={"cpu": -7}, unknown=7)
    answer = reported(plan(pods=0, ours=0, costs=odd))
    assert lines_of(answer)["beyondOurs"] == ("0.00", "")
    assert any("7 pods (100 %)" in each for each in answer.unknown)


def test_the_costs_are_printed(tmp_path: Path) -> None:
    stored = [plan(pods=3, costs=DEAR)]
    text = invoke(stored, tmp_path).stdout
    assert "lost work of victims that served nobody" in text
    assert "hours of nvidia.com/gpu" in text
    assert "money" not in text
    arguments = "--price", "nvidia.com/gpu=2.5", "--price", "cpu=0.04"
    priced = invoke(stored, tmp_path, *arguments)
    assert "22.06" in priced.stdout
    changed = [plan(pods=3, state="Changed", costs=DEAR)]
    assert "lost work" not in invoke(changed, tmp_path).stdout, "nothing is compared"
    data = json.loads(invoke(stored, tmp_path, "-o", "json", *arguments).stdout)
    assert data["costs"]["sum"] == {"name": "sum", "hours": 8.51, "money": "22.06"}
    assert data["costs"]["prices"] == {"nvidia.com/gpu": "2.5", "cpu": "0.04"}
    assert data["costs"]["withoutPrice"] == ["memory"]
    assert data["rows"][0]["costs"]["beyondOurs"] == {GPU: 25_200, "cpu": 64_800}
    assert data["dearest"][0]["cost"]["money"] == "22.06"


@pytest.mark.parametrize(
    ("price", "says"),
    [
        ("cpu", "is no price such as nvidia.com/gpu=2.5"),
        ("=1", "is neither cpu, memory nor a device"),
        ("gpu=1", "is neither cpu, memory nor a device"),
        ("pods=1", "is neither cpu, memory nor a device"),
        ("nvidia.com/gpu=", "is no amount such as 2.5"),
        ("cpu=-1", "is no amount such as 2.5"),
        ("cpu=nan", "is no amount such as 2.5"),
        ("cpu=inf", "is no amount such as 2.5"),
        ("cpu=1e400", "is no amount such as 2.5"),
        ("cpu=1,5", "is no amount such as 2.5"),
        ("cpu=1=2", "is no amount such as 2.5"),
    ],
)
def test_a_wrong_price_is_bad_input(tmp_path: Path, price: str, says: str) -> None:
    result = invoke([], tmp_path, "--price", price)
    assert result.exit_code == 2
    assert says in result.stderr


def test_two_prices_of_one_resource_are_bad_input(tmp_path: Path) -> None:
    result = invoke([], tmp_path, "--price", "cpu=1", "--price", "cpu=1.0")
    assert result.exit_code == 2
    assert "cpu has two prices" in result.stderr
