"""What docs/validate.md shows is what the command prints, and the command allows our examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.pages import ROOT, blocks, commands_in, run

SHOWN = blocks((ROOT / "docs" / "validate.md").read_text())
SETTINGS = sorted((ROOT / "examples").glob("settings*.yaml"))
GOOD = sorted(
    {*(ROOT / "examples").glob("*.yaml"), ROOT / "tests" / "e2e" / "kueue_examples.yaml"} - set(SETTINGS)
)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = run(command, monkeypatch)
    assert printed == output
    assert code == 3


@pytest.mark.parametrize("path", SETTINGS, ids=[path.name for path in SETTINGS])
def test_the_commands_in_an_example_are_on_the_page(path: Path) -> None:
    assert set(commands_in(path)) <= {command for command, _ in SHOWN}


@pytest.mark.parametrize("path", GOOD, ids=[path.name for path in GOOD])
def test_what_is_written_to_work_is_allowed(path: Path) -> None:
    result = CliRunner().invoke(reprieve, ["validate", "-f", str(path)])
    assert result.exit_code == 0, result.output
