"""Every command of README.md and docs/ is run by a test: here without a cluster, or by a test that is named."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.main import reprieve
from hack.controlplane.__main__ import main as cluster
from tests.kit.page_commands import LIVE, OFFLINE, READS, REASONS, Command, commands, inline, run_by
from tests.kit.pages import COMMENT, ROOT, run

COMMANDS = commands()
TAKEN = {each.text for each in COMMANDS if run_by(each)}
"""Commands that tests take from their page. The same command on another page is that command."""
IN_EXAMPLES = sorted(
    {
        command.partition("  ")[0]
        for example in (ROOT / "examples").rglob("*.yaml")
        for command in COMMENT.findall(example.read_text())
    }
)

AMBIGUOUS = re.compile(
    r"kubectl (?:\S+ )*?(?:delete|describe|get|patch|wait) (?:[\w.-]+,)*(?:workload|podgroup)s?(?![\w.-])"
)
"""kubectl takes Kubernetes' own kinds of these names, where the API server serves them."""


def run_how(command: Command) -> list[str]:
    """In which ways the command is run."""
    ways = {
        "taken from its page": command.text in TAKEN,
        "offline": command.text in OFFLINE,
        "on a control plane": command.text in LIVE
        or (bool(READS.match(command.text)) and command.text not in TAKEN),
        "not at all": command.text in REASONS,
    }
    return [way for way, is_it in ways.items() if is_it]


def test_every_command_is_run() -> None:
    assert len(COMMANDS) > 100
    nobody = [f"{each.page}: {each.text}" for each in COMMANDS if not run_how(each)]
    assert nobody == [], "say in tests/kit/page_commands.py how they are run"


def test_a_command_that_nobody_runs_is_found() -> None:
    assert run_how(Command("docs/new.md", "New", False, "reprieve plan --for a/b")) == []
    assert run_how(Command("docs/new.md", "New", True, "kubectl delete pod p")) == []


def test_nothing_is_listed_that_no_page_has() -> None:
    listed = OFFLINE.keys() | LIVE.keys() | REASONS.keys()
    assert listed <= {each.text for each in COMMANDS}


@pytest.mark.parametrize(
    "command",
    [each for each in COMMANDS if run_by(each)],
    ids=lambda command: f"{command.page}: {command.text}"[:80],
)
def test_the_test_that_is_named_takes_it_from_its_page(command: Command) -> None:
    named = run_by(command)
    assert named is not None
    assert named.needle in (ROOT / "tests" / named.test).read_text()


@pytest.mark.parametrize("text", OFFLINE)
def test_it_runs_without_a_cluster(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, example in OFFLINE[text].files:
        (tmp_path / name).symlink_to(ROOT / "examples" / example)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(reprieve, shlex.split(f"{text} {OFFLINE[text].options}")[1:])
    assert result.exit_code in (0, 3), result.output
    assert result.stdout


@pytest.mark.parametrize("text", IN_EXAMPLES)
def test_the_commands_in_examples_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(text, monkeypatch)
    assert code in (0, 3), output


@pytest.mark.parametrize("text", [text for text in REASONS if text.startswith("hack/cluster")])
def test_the_options_of_a_control_plane_are_read(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path)
    name, *arguments = shlex.split(text)[1:]
    folder = {"up": "/tmp/plane", "fleet": "/tmp/fleet"}  # noqa: S108 - the pages'
    command = cluster.commands[name]
    assert command.make_context(name, arguments).params["directory"] == Path(folder[name])


def test_the_targets_of_make_are_there() -> None:
    lines = [each.text for each in COMMANDS] + [text for _, text in inline()]
    targets = {line.split()[1] for line in lines if line.startswith("make ")}
    assert targets
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert targets <= set(re.findall(r"^ +make (\S+)", said, re.MULTILINE))


@pytest.mark.parametrize(("page", "text"), [each for each in inline() if each[1].startswith("reprieve ")])
def test_a_command_within_a_sentence_has_options_that_there_are(page: str, text: str) -> None:
    _, name, *words = shlex.split(text.replace("\\|", "|"))
    command = reprieve.get_command(click.Context(reprieve), name)
    assert command is not None, page
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options | {"--help"}


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        ("kubectl get workloads -A", True),
        ("kubectl get pods,podgroups.reprieve.dev,workload,queues", True),
        ("kubectl -n lab wait podgroup train", True),
        ("kubectl get wl,podgroups.reprieve.dev,workloads.kueue.x-k8s.io", False),
        ("kubectl get podgroups.scheduling.k8s.io train", False),
    ],
)
def test_a_name_that_two_kinds_have_is_found(text: str, is_it: bool) -> None:
    assert bool(AMBIGUOUS.search(text)) is is_it


def test_kubectl_is_given_names_that_one_kind_has() -> None:
    """On all pages, and in the help."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "cli").rglob("*.py")]
    found = {str(each.relative_to(ROOT)): AMBIGUOUS.findall(each.read_text()) for each in files}
    assert {name: each for name, each in found.items() if each} == {}
