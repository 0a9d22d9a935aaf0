"""What the pages in docs/ and the comments in examples/ show, and what a command prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from cli.main import reprieve

__all__ = ["COMMENT", "ROOT", "blocks", "commands_in", "run"]

ROOT: Final = Path(__file__).parents[2]
BLOCK: Final = re.compile(r"^```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
COMMENT: Final = re.compile(r"^#   (?P<command>reprieve .*)$", re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    """(command, what it prints) of each console block of a page. AssertionError: a block has no command."""
    shown = [(block["command"], block["output"]) for block in BLOCK.finditer(page)]
    assert len(shown) == page.count("```console") > 0
    return shown


def commands_in(example: Path) -> Iterable[str]:
    """The commands that the comments of an example name. Raises AssertionError if there is none."""
    commands: list[str] = COMMENT.findall(example.read_text())
    assert commands
    return commands


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """(exit code, output) of a command line that starts with `reprieve`, in the checkout."""
    program, *arguments = shlex.split(command)
    assert program == "reprieve"
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(reprieve, arguments)
    return result.exit_code, result.output
