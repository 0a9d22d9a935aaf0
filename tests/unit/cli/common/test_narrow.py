"""On a terminal of 80 columns every name is whole, however long the names are."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
REPRIEVE = [sys.executable, "-c", "from cli.main import main; main()"]
LONG = "with-a-name-that-is-as-long-as-a-name-may-be-in-a-cluster"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(*arguments: str) -> str:
    """What a terminal of 80 columns shows."""
    main, side = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "xterm"}
    process = subprocess.Popen([*REPRIEVE, *arguments], stdout=side, cwd=ROOT, env=environment)
    os.close(side)
    shown = b""
    try:
        while piece := os.read(main, 1 << 16):
            shown += piece
    except OSError:  # the terminal is closed
        pass
    finally:
        os.close(main)
    assert process.wait() in (0, 3)
    return ESCAPES.sub("", shown.decode())


def longer(example: str, names: str, into: Path) -> str:
    """The example with longer names. `names`: an expression for those that become longer."""
    path = into / "long.yaml"
    path.write_text(re.sub(names, rf"\g<0>-{LONG}", (ROOT / "examples" / example).read_text()))
    return str(path)


@pytest.mark.parametrize(
    ("example", "names", "arguments"),
    [
        ("quota-teams.yaml", r"\b(nightly|train|b-best-effort)\b(?!-)", ("queue",)),
        ("quota-teams.yaml", r"\b(nightly|train|a-standard)\b(?!-)", ("queue", f"a-standard-{LONG}")),
        ("quota-teams.yaml", r"\b(nightly|train|report)\b(?!-)", ("quota", "--for", f"team-a/train-{LONG}")),
        ("training-cluster.yaml", r"\bsweep\b(?!-)", ("plan", "--for", "research/llama-train")),
    ],
)
def test_names_are_whole(example: str, names: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    path = longer(example, names, tmp_path)
    shown = on_terminal(*arguments, "-f", path)
    assert shown.count(LONG) > 0
    assert shown.count(LONG[:12]) == shown.count(LONG) == shown.count(LONG[-12:])
    # Only a word that is longer than a line makes a line longer.
    assert all(len(line.rstrip()) <= 80 or LONG in line for line in shown.splitlines())
