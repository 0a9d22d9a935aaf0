"""`reprieve pause` and `reprieve resume`: what they write, print, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from api.clock import SYSTEM_CLOCK
from api.pauses import PAUSED, PAUSED_UNTIL, RESUMED
from api.published import NAMESPACE
from api.times import parse_rfc3339
from cli.main import reprieve
from kube.client import MERGE_PATCH
from kube.errors import ApiError
from tests.kit.answering_all import answer_all

Invoke = Callable[..., Result]


class Namespaces:
    """An API server that has Namespaces, and merges patches."""

    def __init__(self) -> None:
        self.annotations: dict[str, dict[str, str]] = {NAMESPACE: {"mine": "stays"}, "team-a": {}}
        self.refusal: ApiError | None = None

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        name = path.removeprefix("/api/v1/namespaces/")
        if self.refusal is not None:
            raise self.refusal
        if name not in self.annotations:
            raise ApiError(404, "NotFound", "gone")
        said = self.annotations[name]
        if method == "PATCH":
            assert options["content_type"] == MERGE_PATCH
            for key, value in json.loads(options["body"])["metadata"]["annotations"].items():
                said.pop(key, None)
                if value is not None:
                    said[key] = value
        return json.dumps({"metadata": {"name": name, "annotations": said}}).encode()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Namespaces:
    """The API server of every kubeconfig."""
    made = Namespaces()
    answer_all(monkeypatch, made)
    return made


@pytest.fixture
def invoke(tmp_path: Path) -> Invoke:
    """`invoke("pause", ...)` calls the command with a kubeconfig."""
    (tmp_path / "config").touch()
    environment = {"KUBECONFIG": str(tmp_path / "config")}
    return lambda *arguments: CliRunner().invoke(reprieve, list(arguments), env=environment)


def test_the_whole_cluster_is_paused_until_it_is_resumed(cluster: Namespaces, invoke: Invoke) -> None:
    result = invoke("pause", "storage is moved")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "Evictions are paused in the whole cluster: storage is moved\n"
    assert cluster.annotations[NAMESPACE] == {"mine": "stays", PAUSED: "storage is moved"}
    assert invoke("resume").stdout == f"Namespace {NAMESPACE} is not paused any longer.\n"
    resumed = parse_rfc3339(cluster.annotations[NAMESPACE].pop(RESUMED))
    assert abs(resumed - SYSTEM_CLOCK.wall()) < 60.0
    assert cluster.annotations[NAMESPACE] == {"mine": "stays"}
    assert invoke("resume").stdout == f"Namespace {NAMESPACE} was not paused.\n"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2h", 7200), ("1h30m", 5400), ("7d", 604800)])
def test_a_pause_has_an_end(cluster: Namespaces, invoke: Invoke, text: str, seconds: int) -> None:
    before = SYSTEM_CLOCK.wall()
    result = invoke("pause", "-n", "team-a", "--for", text, "deadline")
    until = parse_rfc3339(cluster.annotations["team-a"][PAUSED_UNTIL])
    assert before + seconds <= until <= SYSTEM_CLOCK.wall() + seconds + 1
    end = cluster.annotations["team-a"][PAUSED_UNTIL]
    assert result.stdout == f"Evictions for namespace team-a and in it are paused until {end}: deadline\n"


def test_a_pause_without_an_end_takes_the_end_of_the_one_before_away(
    cluster: Namespaces, invoke: Invoke
) -> None:
    invoke("pause", "--for", "1h", "first")
    invoke("pause", "second")
    assert cluster.annotations[NAMESPACE] == {"mine": "stays", PAUSED: "second"}


def test_it_prints_data(cluster: Namespaces, invoke: Invoke) -> None:
    found = json.loads(invoke("pause", "-o", "json", "--for", "1h", "why").stdout)
    end = cluster.annotations[NAMESPACE][PAUSED_UNTIL]
    assert found == {"namespace": NAMESPACE, "paused": True, "why": "why", "until": end}
    assert "until: null" in invoke("resume", "-o", "yaml").stdout


@pytest.mark.parametrize("text", ["", "2", "2 h", "-1h", "0s", "1000d", "tomorrow"])
def test_a_wrong_duration_is_bad_input(cluster: Namespaces, invoke: Invoke, text: str) -> None:
    result = invoke("pause", "--for", text, "why")
    assert result.exit_code == 2
    assert "--for" in result.stderr
    assert PAUSED not in cluster.annotations[NAMESPACE]


@pytest.mark.parametrize("arguments", [["pause"], ["pause", "  "], ["resume", "x"]])
def test_a_reason_is_needed_to_pause_and_none_to_resume(
    cluster: Namespaces, invoke: Invoke, arguments: list[str]
) -> None:
    assert invoke(*arguments).exit_code == 2
    assert PAUSED not in cluster.annotations[NAMESPACE]


@pytest.mark.parametrize("arguments", [["pause", "-n", "none", "why"], ["resume", "-n", "none"]])
def test_a_namespace_that_is_not_there_is_named(
    cluster: Namespaces, invoke: Invoke, arguments: list[str]
) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stderr) == (1, "Error: there is no Namespace none\n")
    assert cluster.annotations.keys() == {NAMESPACE, "team-a"}


@pytest.mark.parametrize("arguments", [["pause", "why"], ["resume"]])
def test_a_right_that_is_missing_is_named(cluster: Namespaces, invoke: Invoke, arguments: list[str]) -> None:
    cluster.refusal = ApiError(403, "Forbidden", 'cannot patch resource "namespaces"')
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert 'cannot patch resource "namespaces"' in result.stderr


def test_a_kubeconfig_that_is_not_there_is_bad_input(cluster: Namespaces, invoke: Invoke) -> None:
    result = invoke("pause", "--kubeconfig", "none", "why")
    assert (result.exit_code, result.stderr) == (2, "Error: --kubeconfig: none: no such file\n")
    assert PAUSED not in cluster.annotations[NAMESPACE]
