"""What docs/quota.md shows is what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import reprieve

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "quota.md").read_text()
BLOCK = re.compile(r"^```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
SHOWN = [(block["command"], block["output"]) for block in BLOCK.finditer(PAGE)]
EXAMPLES = sorted((ROOT / "examples").glob("quota-*.yaml"))
COMMENT = re.compile(r"^#   (?P<command>reprieve .*)$", re.MULTILINE)


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    assert program == "reprieve"
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(reprieve, arguments)
    return result.exit_code, result.output


def test_every_console_block_is_one_command() -> None:
    assert len(SHOWN) == PAGE.count("```console") > 0


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = run(command, monkeypatch)
    assert printed == output
    # A workload that gets no quota is an answer, too.
    assert code in (0, 3)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_commands_in_an_example_are_on_the_page(path: Path) -> None:
    commands = COMMENT.findall(path.read_text())
    assert commands
    assert set(commands) <= {command for command, _ in SHOWN}
