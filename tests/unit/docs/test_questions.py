"""docs/questions.md: ten questions, and what the command answers to each."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.pages import ROOT, blocks, commands_in

PAGE = (ROOT / "docs" / "questions.md").read_text()
SHOWN = blocks(PAGE)
EXAMPLES = sorted((ROOT / "examples" / "questions").glob("*.yaml"))
LEFT_OUT = "...\n"
"""A line that stands for one or more lines of the output."""


def shows(shown: str, printed: str) -> bool:
    """Whether this is the output, apart from lines that are left out."""
    parts = [re.escape(part) for part in shown.split(LEFT_OUT)]
    return re.fullmatch("(?:.*\n)+".join(parts), printed) is not None


def test_there_are_ten_questions_and_each_has_a_command() -> None:
    questions = re.findall(r"^## (\d+)\. .*\?$", PAGE, re.MULTILINE)
    assert questions == [str(number) for number in range(1, 11)]
    assert len(SHOWN) == len(questions)


def test_each_question_says_where_the_page_has_the_answer() -> None:
    _, *questions = re.split(r"^## (?=\d+\.)", PAGE, flags=re.MULTILINE)
    assert [each.splitlines()[0] for each in questions if "page](page.md)" not in each] == []


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(reprieve, shlex.split(command)[1:])
    assert shows(shown, result.stdout), result.output
    assert result.exit_code in (0, 3)


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        ("a\nb\nc\n", True),
        ("a\n...\n", True),
        ("a\n...\nc\n", True),
        ("a\n...\nb\n", False),
        ("a\nb\n", False),
    ],
)
def test_only_lines_that_are_marked_may_be_left_out(shown: str, is_it: bool) -> None:
    assert shows(shown, "a\nb\nc\n") == is_it


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_commands_in_an_example_are_on_the_page(path: Path) -> None:
    assert set(commands_in(path)) <= {command for command, _ in SHOWN}
