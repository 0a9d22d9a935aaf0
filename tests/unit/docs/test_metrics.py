"""docs/metrics.md is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hack.metrics import main, metrics, page

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "make docs"


REGISTERED = """
from prometheus_client import REGISTRY
import cli.serve.process
print(*(family.name for family in REGISTRY.collect()))
"""
"""Other tests register metrics of their own, so a process of its own is asked."""


def test_every_metric_that_a_process_registers_is_on_the_page() -> None:
    said = subprocess.run(
        [sys.executable, "-c", REGISTERED], cwd=ROOT, check=True, capture_output=True, text=True
    )
    registered = {name for name in said.stdout.split() if name.startswith(("reprieve_", "kueue_"))}
    assert registered
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


OF_QUEUES = {"cluster_queue", "cohort", "preempting_cluster_queue"}
"""Labels whose values are names that users choose."""
BOUNDED = {
    "agrees", "answer", "by", "cause", "cluster", "code", "end", "evictor", "kind", "lease", "limit", "method", "name",
    "outcome", "phase", "plane", "purpose", "reason", "replica_role", "result", "route", "scope", "served", "state",
    "status", "underlying_cause",
    "verb", "what", "which", "why",
}  # fmt: skip
"""Labels whose values the code chooses, or whoever may write the status of a Workload (`reason`, `underlying_cause`).
`name` is that of a check, and `lease` that of our own Lease."""


def test_no_label_is_the_name_of_an_object_but_of_queues() -> None:
    """Whoever may read metrics would read it. Look at a new label before you add it here."""
    labels = {label: each.name for each in metrics() for label in each.labels}
    assert labels.keys() == BOUNDED | OF_QUEUES
    with_names = {each.name for each in metrics() if OF_QUEUES & {*each.labels}}
    assert {name for name in with_names if not name.startswith("kueue_")} == set()
