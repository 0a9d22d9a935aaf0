"""What docs/clusters.md shows is what the command prints, and its tables name the fields that there are."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.pages import ROOT, blocks

PAGE = (ROOT / "docs" / "clusters.md").read_text()
SHOWN = blocks(PAGE)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(reprieve, command.split()[1:])
    assert (result.exit_code, result.stdout) == (0, output)


def test_the_page_names_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["clusters", "-f", "examples/multikueue/manager.yaml", "-o", "json"]
    found = json.loads(CliRunner().invoke(reprieve, arguments).stdout)["clusters"]
    names = {name for each in found for name in (*each, *(field for turn in each["turns"] for field in turn))}
    assert names >= {"state", "until"}
    assert {name for name in names if f"`{name}`" not in PAGE and f"`{name}[]`" not in PAGE} == set()
