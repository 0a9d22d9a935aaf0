"""The check of printing finds a planted fault, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.lint.printing import faults


def planted(root: Path, line: str) -> Path:
    """A checkout with this line in a command."""
    (root / "cli" / "queue").mkdir(parents=True)
    (root / "cli" / "queue" / "command.py").write_text(f"import sys\n{line}\n")
    return root


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("print('a')", "print"),
        ("click.echo('a')", "click.echo"),
        ("click.secho('a')", "click.secho"),
        ("sys.stdout.write('a')", "sys.stdout.write"),
        ("sys.stderr.writelines(['a'])", "sys.stderr.writelines"),
        ("out = sys.stdout.buffer", "sys.stdout.buffer"),
    ],
)
def test_whoever_prints_is_found(tmp_path: Path, line: str, what: str) -> None:
    [fault] = faults(planted(tmp_path, line), {})
    assert fault.startswith(f"cli/queue/command.py:2: {what}: ")


@pytest.mark.parametrize("line", ["say('a')", "sys.stderr.isatty()", "data = sys.stdin.buffer"])
def test_others_are_not(tmp_path: Path, line: str) -> None:
    assert list(faults(planted(tmp_path, line), {})) == []


def test_an_exception_is_a_file_that_needs_it(tmp_path: Path) -> None:
    root = planted(tmp_path, "print('a')")
    known = {"cli/queue/command.py": "a reason", "cli/queue/other.py": "another one"}
    assert list(faults(root, known)) == ["hack/lint/printing.py: cli/queue/other.py needs no exception"]
