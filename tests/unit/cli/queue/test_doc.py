"""What docs/queue.md shows is what the command prints, and its tables name the fields that there are."""

from __future__ import annotations

import json

import pytest

from tests.kit.pages import ROOT, blocks, run

PAGE = (ROOT / "docs" / "queue.md").read_text()
SHOWN = blocks(PAGE)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(command, monkeypatch) == (0, output)
    _, data = run(f"{command} -o json", monkeypatch)
    for name in json.loads(data):
        assert f"`{name}`" in PAGE or f"`{name}[]`" in PAGE, name
