"""What docs/command.md says of all commands is true of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from cli.main import COMMANDS, reprieve
from tests.kit.pages import ROOT, run

PAGE = (ROOT / "docs" / "command.md").read_text()
STATUS = re.compile(r"^  (\d)  ", re.MULTILINE)
SHOWN = {
    "plan": "reprieve plan -f examples/training-cluster.yaml --for research/llama-train",
    "quota": "reprieve quota -f examples/quota-teams.yaml --for team-a/train --now 2026-03-01T12:00:00Z",
    "validate": "reprieve validate -f examples/settings.yaml",
    "who-evicted": "reprieve who-evicted a/b -f examples/quota-teams.yaml",
    "doctor": "reprieve doctor -f examples/training-cluster.yaml",
    "report": "reprieve report -f examples/training-cluster.yaml",
}
MORE_FORMATS = {"report": ("html",)}


def rows(section: str) -> Iterator[tuple[list[str], list[str]]]:
    """Of the table in a section: (the commands of the first cell, the other cells)."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    for line in text.splitlines():
        if line.startswith("| `"):
            first, *others = [cell.strip() for cell in line.strip("|").split("|")]
            yield re.findall(r"`([a-z-]+)`", first), others


def command(name: str) -> click.Command:
    found = reprieve.get_command(click.Context(reprieve), name)
    assert found is not None
    return found


STATUSES = {name: cells for names, cells in rows("How a command ends") for name in names}
FIELDS = {name: cells[0] for names, cells in rows("What is printed") for name in names}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_statuses_that_help_has(name: str) -> None:
    epilog = command(name).epilog or ""
    said = set(STATUS.findall(epilog.partition("Exit status:")[2]))
    assert {str(status) for status, meaning in enumerate(STATUSES[name]) if meaning} == said


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("serve", "page")])
def test_every_command_prints_json_and_yaml(name: str) -> None:
    (option,) = [each for each in command(name).params if each.name == "output"]
    assert isinstance(option.type, click.Choice)
    assert option.type.choices == ("text", "json", "yaml", *MORE_FORMATS.get(name, ()))
    assert name in FIELDS


@pytest.mark.parametrize("name", SHOWN)
def test_the_fields_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, printed = run(f"{SHOWN[name]} -o json", monkeypatch)
    assert status in (0, 3)
    for field in json.loads(printed):
        assert f"`{field}`" in FIELDS[name] or f"`{field}[]`" in FIELDS[name], field


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_option_is_bad_input(name: str) -> None:
    assert CliRunner().invoke(reprieve, [name, "--nonsense"]).exit_code == 2
