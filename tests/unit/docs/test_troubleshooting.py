"""docs/troubleshooting.md names what the command says."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
CELL = re.compile(r"^\|([^|]*)\|", re.MULTILINE)
WORD = re.compile(r"`(\w+)`")


def words(text: str) -> set[str]:
    """Those in the first column of its tables."""
    return {word for cell in CELL.findall(text) for word in WORD.findall(cell)}


def section(page: str, heading: str) -> str:
    """The text below a heading, until the next one."""
    return page.partition(f"\n{heading}\n")[2].partition("\n#")[0]


def test_it_names_only_states_that_there_are() -> None:
    states = words((DOCS / "why.md").read_text()) | words((DOCS / "nodes.md").read_text())
    named = words(section((DOCS / "troubleshooting.md").read_text(), "### A gang waits"))
    assert "Gathering" in named
    assert named <= states
