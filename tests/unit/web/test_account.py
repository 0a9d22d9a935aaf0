"""The report and the findings of the page: what the commands print, as far as the reader may know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner

from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from api.plans import PreemptionPlan
from api.reports import PreemptionReport
from api.times import rfc3339
from cli.main import reprieve
from tests.kit.observed_plans import DAY, days_of, objects_of, plan
from tests.kit.observed_plans import NOW as MOMENT
from tests.unit.web.page_stage import Api, cluster_page, files_page
from web.sources.files import Files
from web.wire.base import Wire
from web.wire.doctor import Findings
from web.wire.report import Report

ROOT: Final = Path(__file__).parents[3]
NOW: Final = rfc3339(MOMENT)
TOKEN: Final = "header.payload.signature"
EXAMPLES: Final = sorted((ROOT / "examples").rglob("*.yaml"))
QUESTIONS: Final = (
    ("", ()),
    ("by=namespace", ("--by", "namespace")),
    ("by=priority&since=36h", ("--by", "priority", "--since", "36h")),
    (
        "by=gang&price=nvidia.com/gpu%3D2.5&price=cpu%3D0.04",
        ("--by", "gang", "--price", "nvidia.com/gpu=2.5", "--price", "cpu=0.04"),
    ),
    ("preemptorNamespace=quebec-space", ("-n", "quebec-space")),
)
NAMESPACES: Final = ("papa-space", "quebec-space")


def history() -> list[PreemptionPlan]:
    """Plans of two namespaces, each with marks of its own in every name."""
    plans = [
        plan(0, pods=3, served_nobody=2, ours=2, bound=True, seconds_until_bound=70, namespace="papa-space"),
        plan(
            1, pods=1, age=DAY, groups_broken=1, bound=True, seconds_until_bound=7, namespace="quebec-space"
        ),
        plan(2, pods=5, state="Changed", unattributed=2, namespace="quebec-space"),
        plan(3, pods=4, in_pieces=True, in_pieces_seconds=9, priority=777, namespace="quebec-space", age=600),
        plan(4, pods=9, concluded=False, namespace="papa-space", priority=333, age=60),
    ]
    for each in plans:
        mark = each.metadata.namespace.removesuffix("-space")
        each.metadata.name = f"{mark}-{each.metadata.name}"
        each.spec.preemptor.name = f"{mark}-gang"
    return plans


def reports_of(plans: list[PreemptionPlan]) -> list[PreemptionReport]:
    """Of all days but today."""
    old = [each for each in plans if (each.metadata.creation_timestamp or "") < NOW[:10]]
    return days_of(old)


def written(folder: Path, *things: Any) -> Path:
    path = folder / "account.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects_of(*things)}))
    return path


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """A file with plans and reports."""
    plans = history()
    return written(tmp_path, *plans, *reports_of(plans))


def files_of(path: Path) -> Files:
    objects = PageObjects(read_time(NOW, "now"))
    objects.add_file(path.read_bytes(), str(path))
    return Files(objects)


def printed(command: str, path: Path, *options: str) -> Any:
    """What the command prints; None if it does not take the file."""
    arguments = [command, "-f", str(path), "--now", NOW, "-o", "json", *options]
    run = CliRunner().invoke(reprieve, arguments, env={"HOME": "/none"})
    return json.loads(run.stdout) if run.exit_code in (0, 3) else None


def strictly(answer: Any, kind: type[Wire]) -> Any:
    """The answer as the struct says it."""
    return msgspec.to_builtins(msgspec.convert(answer, kind))


# ---- what the commands print


@pytest.mark.parametrize(("query", "options"), QUESTIONS)
async def test_the_report_is_that_of_the_command(account: Path, query: str, options: tuple[str, ...]) -> None:
    async with files_page(files=files_of(account)) as page:
        status, answer, _ = await page.ask(f"report?{query}", await page.log_in(code=page.code))
    assert status == 200
    assert answer == printed("report", account, *options)
    assert answer["total"]["decisions"]
    assert strictly(answer, Report) == answer


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
async def test_of_an_example_both_say_what_the_commands_print(path: Path) -> None:
    try:
        source = files_of(path)
    except ValueError:
        pytest.skip("no cluster")
    async with files_page(files=source) as page:
        secret = await page.log_in(code=page.code)
        for name, kind in (("report", Report), ("doctor", Findings)):
            status, answer, _ = await page.ask(name, secret)
            assert (status, answer) == (200, printed(name, path))
            assert strictly(answer, kind) == answer


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("since=a+week", "since: 'a week' is no duration"),
        ("since=0s", "since: '0s' is not between a second and a year"),
        ("since=" + "1d" * 99, "is no duration"),
        ("by=weather", "by: must be one of day, namespace, priority, gang"),
        ("price=gold", "price: 'gold' is no price"),
        ("price=cpu%3D1&price=cpu%3D2", "price: cpu has two prices"),
        ("price=cpu%3D-1", "price: '-1' is no amount"),
        ("&".join(["price=cpu%3D1"] * 51), "price: at most 50 can be given"),
        ("preemptorNamespace=" + "x" * 254, "preemptorNamespace: is no name of a namespace"),
    ],
)
async def test_a_question_that_is_none_is_refused(account: Path, query: str, says: str) -> None:
    async with files_page(files=files_of(account)) as page:
        status, answer, _ = await page.ask(f"report?{query}", await page.log_in(code=page.code))
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert says in answer["message"]


# ---- rights


async def test_a_report_needs_the_right_to_list_reports(account: Path) -> None:
    api = Api()
    api.add(TOKEN, "ann", "list preemptionplans", "list pods")
    async with cluster_page(api, files=files_of(account)) as page:
        status, answer, _ = await page.ask("report", TOKEN)
    assert (status, answer["right"]) == (403, "list preemptionreports")


async def test_who_may_list_everything_gets_all_of_the_report(account: Path) -> None:
    api = Api()
    api.add(TOKEN, "ann", "list preemptionplans", "list preemptionreports")
    async with cluster_page(api, files=files_of(account)) as page:
        assert (await page.ask("report?by=gang", TOKEN))[1] == printed("report", account, "--by", "gang")


@pytest.mark.parametrize("by", ["day", "namespace", "priority", "gang"])
async def test_decisions_of_other_namespaces_have_no_names_and_no_priority(account: Path, by: str) -> None:
    api = Api()
    api.add(TOKEN, "ann", "list preemptionreports", "list preemptionplans in papa-space")
    async with cluster_page(api, files=files_of(account)) as page:
        _, answer, _ = await page.ask(f"report?by={by}&namespace=papa-space", TOKEN)
    whole = printed("report", account, "--by", by)
    text = json.dumps(answer)
    assert "papa-gang" in text
    for mark in ("quebec-gang", "quebec-plan", "777"):
        assert mark not in text
        assert mark in json.dumps(whole) or by == "day"
    assert answer["total"] == whole["total"], "the sums are those of all: reports have them"
    assert len(answer["dearest"]) == len(whole["dearest"])
    right = "The right that would show more: list preemptionplans in all namespaces."
    assert any(right in each for each in answer["notKnown"])
    if by in ("priority", "gang"):
        assert {row["name"] for row in answer["rows"]} < {row["name"] for row in whole["rows"]}
