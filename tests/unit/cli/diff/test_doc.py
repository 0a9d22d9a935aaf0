"""What docs/diff.md shows is what the command prints."""

from __future__ import annotations

import pytest

from tests.kit.pages import ROOT, blocks, commands_in, run

SHOWN = blocks((ROOT / "docs" / "diff.md").read_text())


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = run(command, monkeypatch)
    assert printed == output
    assert code in (0, 3)


def test_the_commands_in_the_examples_are_on_the_page() -> None:
    for example in (ROOT / "examples" / "diff").iterdir():
        assert set(commands_in(example)) <= {command for command, _ in SHOWN}
