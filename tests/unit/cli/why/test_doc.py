"""What docs/why.md shows is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.pages import ROOT, blocks, commands_in, run

SHOWN = blocks((ROOT / "docs" / "why.md").read_text())
EXAMPLES = sorted((ROOT / "examples" / "why").glob("*.yaml"))


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = run(command, monkeypatch)
    assert printed == output
    assert code == 3


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_commands_in_an_example_are_on_the_page(path: Path) -> None:
    assert set(commands_in(path)) <= {command for command, _ in SHOWN}
