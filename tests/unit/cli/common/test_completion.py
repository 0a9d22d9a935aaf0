"""What a shell is offered: by click for `reprieve`, by kubectl for the plugin."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
import yaml
from click.testing import CliRunner

import cli.common.names
from cli.common.cluster import Connection
from cli.main import COMMANDS, reprieve
from cli.plugin import complete, main

OBJECTS: Final = {
    "/api/v1/namespaces": [("", "team-a"), ("", "team-b"), ("", "default")],
    "/api/v1/namespaces/team-a/pods": [("team-a", "web-0"), ("team-a", "web-1"), ("team-a", "db-0")],
    "/api/v1/namespaces/home/pods": [("home", "web-9")],
    "/apis/reprieve.dev/v1alpha1/namespaces/team-a/podgroups": [("team-a", "train")],
    "/apis/batch/v1/namespaces/team-a/jobs": [("team-a", "nightly")],
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads": [("team-a", "job-train")],
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues": [("", "research")],
    "/apis/kueue.x-k8s.io/v1beta2/localqueues": [("team-a", "main")],
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues": [("team-a", "main")],
}


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config"
    config = {
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"namespace": "home"}},
            {"name": "there", "context": {}},
        ],
    }
    path.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def asked(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """A cluster with OBJECTS, and the connections with which it is asked."""
    connections: list[Connection] = []

    def listed(connection: Connection, paths: Sequence[str]) -> list[tuple[str, str]]:
        connections.append(connection)
        return [each for path in paths for each in OBJECTS.get(path, ())]

    monkeypatch.setattr(cli.common.names, "listed", listed)
    return connections


def offered(
    words: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], str]:
    """What kubectl gets: the words without their help, and the last line."""
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-reprieve", *words])
    monkeypatch.setattr("cli.plugin.writing", _nothing)
    complete()
    *lines, last = capsys.readouterr().out.splitlines()
    return [line.partition("\t")[0] for line in lines], last


class _nothing:
    """In place of `writing`, which replaces standard output for good."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["wh"], ["who-evicted", "why", "what-if"]),
        (["why", ""], ["pod", "podgroup", "job", "workload"]),
        (["why", "pod", "-n", "team-a", ""], ["db-0", "web-0", "web-1"]),
        (["why", "pod", "-n", "team-a", "web-"], ["web-0", "web-1"]),
        (["why", "pod", ""], ["web-9"]),
        (["why", "pod", "team-a/w"], ["team-a/web-0", "team-a/web-1"]),
        (["why", "podgroup", "-n", "team-a", ""], ["train"]),
        (["why", "job", "-n", "team-a", ""], ["nightly"]),
        (["why", "workload", "-n", "team-a", ""], ["job-train"]),
        (["why", "-n", "team-"], ["team-a", "team-b"]),
        (["why", "--context", ""], ["here", "there"]),
        (["plan", "-n", "team-a", "--for", ""], ["train"]),
        (["plan", "-n", "team-a", "--pod", "--for", "db"], ["db-0"]),
        (["quota", "-n", "team-a", "--for", ""], ["job-train"]),
        (["queue", ""], ["research", "team-a/main"]),
        (["queue", "-n", "team-a", ""], ["main"]),
        (["who-evicted", "team-a/"], [f"team-a/{n}" for n in ("db-0", "job-train", "train", "web-0", "web-1")]),
        (["queue", "--as-"], ["--as-group"]),
        (["queue", "-o", ""], ["text", "json", "yaml"]),
    ],
)  # fmt: skip
def test_words(
    words: list[str],
    expected: list[str],
    asked: list[Connection],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, last = offered(words, monkeypatch, capsys)
    assert (sorted(found), last) == (sorted(expected), ":4")


@pytest.mark.parametrize("words", [["plan", "-f", "ex"], ["what-if", ""], ["validate", "--old", "a"]])
def test_files_are_left_to_the_shell(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offered(words, monkeypatch, capsys) == ([], ":0")


def test_the_cluster_is_asked_as_the_options_say(
    asked: list[Connection], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["why", "pod", "--context", "there", "--as", "jane", "--as-group", "a", "--kubeconfig", "f", ""]
    offered(words, monkeypatch, capsys)
    assert asked == [Connection("f", "there", "jane", ("a",))]


def test_a_cluster_is_not_asked_about_files(
    asked: list[Connection], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offered(["why", "-f", "cluster.json", "pod", ""], monkeypatch, capsys) == ([], ":4")
    assert asked == []


def test_every_command_is_offered_without_being_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.main.import_module", lambda name: pytest.fail(f"{name} is imported"))
    assert offered([""], monkeypatch, capsys) == (list(COMMANDS), ":4")


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("what", ["silent", "refused", "wrong", "missing"])
def test_a_cluster_that_does_not_answer_has_no_names(
    what: str, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.common.names, "ANSWER_SECONDS", 0.2)
    path = tmp_path / "config"
    if what == "wrong":
        path.write_text("contexts: 7")
    elif what != "missing":
        server = silent if what == "silent" else "http://127.0.0.1:1"
        config = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "c", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }
        path.write_text(yaml.safe_dump(config))
    assert cli.common.names.listed(Connection(str(path)), ["/api/v1/pods"]) == []
    assert capfd.readouterr() == ("", "")


def test_the_plugin_has_its_own_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.plugin.writing", _nothing)
    monkeypatch.setattr(sys, "argv", ["kubectl-reprieve", "validate", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert said.startswith("Usage: kubectl reprieve validate ")
    assert "\n    kubectl reprieve validate -f queues.yaml\n" in said
    assert "| kubectl reprieve validate -f queues.yaml --old -" in said
    usual = CliRunner().invoke(reprieve, ["validate", "--help"], prog_name="reprieve").output
    assert said.replace("kubectl reprieve", "reprieve").split() == usual.split()
    monkeypatch.setattr(sys, "argv", ["kubectl-reprieve", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert "_COMPLETE" not in capsys.readouterr().out
