"""The queues of the page: what the command says, as far as the reader may know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner

from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from cli.main import reprieve
from tests.unit.web.page_stage import Api, cluster_page, files_page
from web.sources.files import Files
from web.wire.base import Wire
from web.wire.queues import QueueAnswer, Queues

ROOT: Final = Path(__file__).parents[3]
NOW: Final = "2026-03-01T12:00:00Z"
TOKEN: Final = "header.payload.signature"
TEAMS: Final = ROOT / "examples" / "quota-teams.yaml"
EXAMPLES: Final = sorted(
    path for path in (ROOT / "examples").rglob("*.yaml") if "kind: ClusterQueue" in path.read_text()
)


def files_of(path: Path) -> Files:
    objects = PageObjects(read_time(NOW, "now"))
    objects.add_file(path.read_bytes(), str(path))
    return Files(objects)


def printed(path: Path, *name: str) -> Any:
    """What the command prints; None if it does not take the file."""
    arguments = ["queue", *name, "-f", str(path), "--now", NOW, "-o", "json"]
    run = CliRunner().invoke(reprieve, arguments, env={"HOME": "/none"})
    return json.loads(run.stdout) if run.exit_code == 0 else None


def strictly(answer: Any, kind: type[Wire]) -> Any:
    """The answer as the struct says it."""
    return msgspec.to_builtins(msgspec.convert(answer, kind))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
async def test_the_page_says_of_an_example_what_the_command_prints(path: Path) -> None:
    whole = printed(path)
    if whole is None:
        pytest.skip("no cluster")
    source = files_of(path)
    quota = source.picture().picture.quota
    async with files_page(files=source) as page:
        secret = await page.log_in(code=page.code)
        status, answer, _ = await page.ask("queues", secret)
        assert (status, answer) == (200, whole)
        assert strictly(answer, Queues) == answer
        for name in (*quota.cluster_queues, *quota.local_queues):
            status, answer, _ = await page.ask(f"queues/{name}", secret)
            assert (status, answer) == (200, printed(path, name)), name
            assert strictly(answer, QueueAnswer) == answer


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("queues/none", 404, "NotFound"),
        ("queues/team-a/none", 404, "NotFound"),
        ("queues/a%2Fb", 400, "BadRequest"),
        ("queues/a/b/c", 404, "NotFound"),
    ],
)
async def test_what_is_not_there_is_said(path: str, status: int, reason: str) -> None:
    async with files_page(files=files_of(TEAMS)) as page:
        found, body, _ = await page.ask(path, await page.log_in(code=page.code))
    assert (found, body["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("rights", "path", "lacks"),
    [
        ((), "queues", "list clusterqueues and cohorts"),
        (("list clusterqueues",), "queues", "list clusterqueues and cohorts"),
        (("list cohorts", "list pods", "list workloads"), "queues/none", "list clusterqueues and cohorts"),
        (("list clusterqueues", "list cohorts"), "queues/team-a/none", "list localqueues in team-a"),
        (("list localqueues in team-b",), "queues/team-a/standard", "list localqueues in team-a"),
    ],
)
async def test_a_right_that_is_missing_comes_before_any_look(
    rights: tuple[str, ...], path: str, lacks: str
) -> None:
    api = Api()
    api.add(TOKEN, "anna", *rights)
    async with cluster_page(api, files=files_of(TEAMS)) as page:
        status, body, _ = await page.ask(path, TOKEN)
    assert (status, body["right"]) == (403, lacks)


async def test_a_tree_that_may_be_old_says_so() -> None:
    source = files_of(TEAMS)
    async with files_page(files=source) as page:
        secret = await page.log_in(code=page.code)
        _, fresh, _ = await page.ask("queues", secret)
        source.trouble = "the watch of workloads stands still"
        _, old, _ = await page.ask("queues", secret)
    assert old == {**fresh, "trouble": "the watch of workloads stands still"}
    assert strictly(old, Queues) == old


async def test_a_tenant_sees_the_tree_and_the_workloads_of_its_namespace() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list clusterqueues", "list cohorts", "list workloads in team-a")
    async with cluster_page(api, files=files_of(TEAMS)) as page:
        _, tree, _ = await page.ask("queues?namespace=team-a", TOKEN)
        _, mine, _ = await page.ask("queues/a-standard?namespace=team-a", TOKEN)
        _, theirs, _ = await page.ask("queues/b-standard?namespace=team-a", TOKEN)
    whole = printed(TEAMS)
    assert tree["trees"] == whole["trees"]
    assert tree["missing"] == ["list workloads in all namespaces"]
    assert [each["amount"] for each in tree["reclaims"]] == [each["amount"] for each in whole["reclaims"]]
    assert not any("abovePriority" in each for each in tree["reclaims"])
    hidden = {"clusterQueue": "b-best-effort", "reason": "InCohortReclaimWhileBorrowing"}
    assert [victim for each in tree["reclaims"] for victim in each["victims"]] == [hidden] * 3
    known = printed(TEAMS, "a-standard")
    assert [each["workload"] for each in mine["waiting"]] == [each["workload"] for each in known["waiting"]]
    assert "othersWaiting" not in mine
    assert theirs["waiting"] == []
    assert "nightly" not in json.dumps([tree, mine, theirs])


async def test_a_tenant_without_clusterqueues_sees_its_localqueue_alone() -> None:
    api = Api()
    api.add(TOKEN, "anna", "list localqueues in team-a", "list workloads in team-a")
    source = files_of(TEAMS)
    name = next(each for each in source.picture().picture.quota.local_queues if each.startswith("team-a/"))
    async with cluster_page(api, files=source) as page:
        status, answer, _ = await page.ask(f"queues/{name}", TOKEN)
    assert status == 200
    assert set(answer) == {"clusterQueue", "localQueue", "waiting", "missing"}
    assert answer["localQueue"] == printed(TEAMS, name)["localQueue"]
    assert "list clusterqueues and cohorts" in answer["missing"]
    assert strictly(answer, QueueAnswer) == answer
