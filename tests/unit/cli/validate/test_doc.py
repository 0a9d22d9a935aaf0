"""What docs/validate.md shows is what the command prints, and our examples are what it allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.unit.cli.quota.test_doc import BLOCK, COMMENT, ROOT, run

PAGE = (ROOT / "docs" / "validate.md").read_text()
SHOWN = [(block["command"], block["output"]) for block in BLOCK.finditer(PAGE)]
SETTINGS = sorted((ROOT / "examples").glob("settings*.yaml"))
GOOD = sorted(
    {*(ROOT / "examples").glob("*.yaml"), ROOT / "tests" / "e2e" / "kueue_examples.yaml"} - set(SETTINGS)
)


def test_every_console_block_is_one_command() -> None:
    assert len(SHOWN) == PAGE.count("```console") > 0


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = run(command, monkeypatch)
    assert printed == output
    assert code == 3


@pytest.mark.parametrize("path", SETTINGS, ids=[path.name for path in SETTINGS])
def test_the_commands_in_an_example_are_on_the_page(path: Path) -> None:
    commands = COMMENT.findall(path.read_text())
    assert commands
    assert set(commands) <= {command for command, _ in SHOWN}


@pytest.mark.parametrize("path", GOOD, ids=[path.name for path in GOOD])
def test_what_is_written_to_work_is_allowed(path: Path) -> None:
    result = CliRunner().invoke(reprieve, ["validate", "-f", str(path)])
    assert result.exit_code == 0, result.output
