"""What would happen, on the page: what the commands say, as far as the reader may know it."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from click.testing import CliRunner

import web.views.what_if
from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from cli.main import reprieve
from tests.unit.web.page_stage import Api, Page, cluster_page, files_page
from web.sources.files import Files
from web.wire.what_if import PlanFor, WhatIf

ROOT: Final = Path(__file__).parents[3]
EXAMPLES: Final = ROOT / "examples"
NOW: Final = "2026-03-01T12:00:00Z"
TOKEN: Final = "header.payload.signature"
YAML: Final = {"Content-Type": "application/yaml"}
CLUSTERS: Final = ("training-cluster.yaml", "what-if/cluster.yaml", "quota-teams.yaml")
SUBMITTED: Final = sorted((EXAMPLES / "what-if").glob("*.yaml")) + sorted((EXAMPLES / "jobs").glob("*.yaml"))


def files_of(*names: str) -> Files:
    objects = PageObjects(read_time(NOW, "now"))
    for name in names:
        objects.add_file((EXAMPLES / name).read_bytes(), name)
    return Files(objects)


def printed(*arguments: str) -> Any:
    """What the command prints; None if it refuses."""
    run = CliRunner().invoke(reprieve, [*arguments, "-o", "json"], env={"HOME": "/none"})
    return json.loads(run.stdout) if run.exit_code in (0, 3) else None


async def submit(page: Page, secret: str, text: bytes | str, query: str = "") -> tuple[int, Any]:
    body = BytesIO(text if isinstance(text, bytes) else text.encode())
    status, answer, _ = await page.ask(f"what-if{query}", secret, "POST", headers=YAML, data=body)
    return status, answer


@pytest.mark.parametrize("cluster", CLUSTERS)
async def test_the_page_says_of_examples_what_the_command_prints(cluster: str) -> None:
    said = 0
    async with files_page(files=files_of(cluster)) as page:
        secret = await page.log_in(code=page.code)
        for path in SUBMITTED:
            known = printed("what-if", str(path), "-f", str(EXAMPLES / cluster), "--now", NOW)
            status, answer = await submit(page, secret, path.read_bytes())
            if status == 400 and "aliases" in answer["message"]:
                continue
            assert (status, answer if status == 200 else None) == (200 if known else 400, known), path
            if status == 200:
                said += 1
                assert msgspec.to_builtins(msgspec.convert(answer, WhatIf)) == answer
    assert said > 3


async def test_a_plan_for_an_object_is_that_of_the_command() -> None:
    cluster = "training-cluster.yaml"
    things = [
        item
        for each in yaml.safe_load_all((EXAMPLES / cluster).read_text())
        for item in (each.get("items") or [each])
    ]
    async with files_page(files=files_of(cluster)) as page:
        secret = await page.log_in(code=page.code)
        for each in things:
            if each["kind"] not in ("PodGroup", "Pod"):
                continue
            name = f"{each['metadata'].get('namespace', 'default')}/{each['metadata']['name']}"
            pod = ["--pod"] if each["kind"] == "Pod" else []
            known = printed("plan", "-f", str(EXAMPLES / cluster), "--for", name, *pod)
            status, answer, _ = await page.ask(f"plan-for/{each['kind'].lower()}/{name}", secret)
            assert (status, answer if status == 200 else None) == (200 if known else 404, known), name
            if status == 200:
                assert msgspec.to_builtins(msgspec.convert(answer, PlanFor)) == answer


@pytest.mark.parametrize(
    ("path", "status"),
    [("podgroup/a/none", 404), ("job/a/b", 400), ("workload/a/b", 400), ("pod/a/b%2Fc", 400)],
)
async def test_a_plan_for_nothing_is_refused(path: str, status: int) -> None:
    async with files_page(files=files_of("training-cluster.yaml")) as page:
        secret = await page.log_in(code=page.code)
        assert (await page.ask(f"plan-for/{path}", secret))[0] == status


JOB: Final = """
apiVersion: batch/v1
kind: Job
metadata: {name: MARKED, namespace: research}
spec:
  parallelism: 1
  template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
"""
MANY: Final = JOB.replace("parallelism: 1", "parallelism: 9000")


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("a: &x 1\nb: *x\n", 400, "aliases are not accepted here"),
        ("[" * 5000, 400, "nested deeper"),
        ('{"a":' * 5000, 400, "nested deeper"),
        (b"\xff", 400, "not UTF-8"),
        ("hello", 400, "text in place of objects"),
        (JOB.replace("c, image", "3, image"), 400, "containers[0].name"),
        (JOB.replace("parallelism: 1", "parallelism: 10001"), 400, "10000"),
        (MANY + "---" + MANY.replace("MARKED", "b"), 413, "10000"),
        ("\n---\n".join(JOB.replace("MARKED", f"j{each}") for each in range(101)), 413, "100 objects"),
        ("x" * (1024 * 1024 + 1), 413, "larger than 1048576 bytes"),
        ("#" * (1024 * 1024), 200, ""),
        ("", 200, ""),
    ],
)
async def test_what_is_posted_has_limits_and_errors_name_the_place(
    text: str | bytes, status: int, says: str
) -> None:
    async with files_page(files=files_of("training-cluster.yaml")) as page:
        found, answer = await submit(page, await page.log_in(code=page.code), text)
    assert (found, says in json.dumps(answer)) == (status, True), answer


async def test_only_manifests_are_read() -> None:
    async with files_page(files=files_of("training-cluster.yaml")) as page:
        secret = await page.log_in(code=page.code)
        for headers in ({"Content-Type": "application/octet-stream"}, {**YAML, "Content-Encoding": "gzip"}):
            status, _, _ = await page.ask("what-if", secret, "POST", headers=headers, data=JOB)
            assert status == 415
        status, body, _ = await page.ask(
            "what-if", secret, "POST", headers={**YAML, "Origin": "http://evil.example"}, data=JOB
        )
        assert (status, body["reason"]) == (403, "Misdirected")
        assert (await page.ask("what-if", "", "POST", headers=YAML, data=JOB))[0] == 401


async def test_a_body_without_a_length_has_the_same_limit() -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b"#" * 65536

    async with files_page(files=files_of("training-cluster.yaml")) as page:
        secret = await page.log_in(code=page.code)
        status, _, _ = await page.ask("what-if", secret, "POST", headers=YAML, data=pieces())
    assert status == 413


NODES: Final = ("list nodes", "list pods in research", "list podgroups in research")


@pytest.mark.parametrize(
    ("rights", "text", "lacks"),
    [
        ((), JOB, "list pods in research"),
        (("list pods in research",), JOB, "list podgroups in research"),
        (
            NODES,
            JOB.replace("namespace: research", "namespace: research, labels: {kueue.x-k8s.io/queue-name: q}"),
            "list workloads in research",
        ),
    ],
)
async def test_the_namespaces_of_the_objects_have_to_be_seen(
    rights: tuple[str, ...], text: str, lacks: str
) -> None:
    api = Api()
    api.add(TOKEN, "anna", *rights)
    async with cluster_page(api, files=files_of("training-cluster.yaml")) as page:
        status, body = await submit(page, TOKEN, text)
    assert (status, body["right"]) == (403, lacks)


async def test_a_tenant_learns_no_name_of_a_victim_elsewhere() -> None:
    api = Api()
    api.add(TOKEN, "anna", *NODES)
    text = (EXAMPLES / "what-if" / "train.yaml").read_text()
    async with cluster_page(api, files=files_of("training-cluster.yaml")) as page:
        status, answer = await submit(page, TOKEN, text)
        code, plan, _ = await page.ask("plan-for/podgroup/research/llama-train", TOKEN)
        (await page.ask("plan-for/podgroup/batch/x", TOKEN))
    assert (status, code) == (200, 200)
    assert "notebook" not in json.dumps([answer, plan])
    assert any("of another namespace" in each for each in answer["steps"][0]["evicted"])
    assert "list pods in all namespaces" in answer["missing"]
    assert "list pods in all namespaces" in plan["missing"]


async def test_without_nodes_nobody_is_asked() -> None:
    api = Api()
    api.add(TOKEN, "anna", *NODES[1:])
    async with cluster_page(api, files=files_of("training-cluster.yaml")) as page:
        _, answer = await submit(page, TOKEN, JOB)
        status, body, _ = await page.ask("plan-for/podgroup/research/llama-train", TOKEN)
    assert [each["outcome"] for each in answer["steps"]] == ["NotAsked"]
    assert (status, body["right"]) == (403, "list nodes")


async def test_what_is_posted_is_kept_nowhere(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with files_page(files=files_of("training-cluster.yaml")) as page:
        secret = await page.log_in(code=page.code)
        assert (await submit(page, secret, JOB))[0] == 200
        assert (await submit(page, secret, JOB.replace("name: c", "name: 3")))[0] == 400
    captured = capsys.readouterr()
    assert "MARKED" not in captured.out + captured.err + caplog.text


async def test_an_answer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for the same thread."""
    monkeypatch.setattr(web.views.what_if, "MOST_SECONDS", -1.0)
    async with files_page(files=files_of("training-cluster.yaml")) as page:
        status, body = await submit(page, await page.log_in(code=page.code), JOB)
    assert (status, body["reason"]) == (503, "Unavailable")
    assert "submit less at once" in body["message"]
