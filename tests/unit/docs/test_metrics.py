"""docs/metrics.md is what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

import cli.serve.process
from hack.metrics import main, metrics, page

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "make docs"


def test_every_metric_that_a_process_registers_is_on_the_page() -> None:
    assert cli.serve.process.__all__ == ["run"]  # whatever a process imports is imported
    ours = ("reprieve_", "kueue_")
    registered = {family.name for family in REGISTRY.collect() if family.name.startswith(ours)}
    assert registered <= {each.name.removesuffix("_total") for each in metrics()}


def test_no_metric_is_described_twice() -> None:
    names = [each.name for each in metrics()]
    assert len(names) == len(set(names))


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == page()
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_pages_name_only_metrics_that_there_are() -> None:
    served = {name for each in metrics() for name in (each.name, *each.samples)}
    for each in (*PAGE.parent.glob("*.md"), *PAGE.parent.parent.glob("*.md")):
        if each.name != "CHANGELOG.md":
            assert set(re.findall(r"`(reprieve_[a-z_]+)", each.read_text())) <= served, each.name
