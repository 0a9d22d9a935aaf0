"""docs/tutorial-multikueue.md shows what is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.pages import ROOT, run, sessions
from tests.kit.often import SELDOM
from tests.multicluster.trio import MANAGER, WORKERS, Trio

PAGE: Final = sessions((ROOT / "docs" / "tutorial-multikueue.md").read_text())
USUAL: Final[dict[str, Any]] = {"nonPreemptingWindowSeconds": 5, "singleClusterPreemptionTimeoutSeconds": 300}
"""The tests of this folder have shorter times. On a slow machine a turn would be over."""


@pytest.fixture(scope="module")
def fleet(whole_trio: Trio) -> Iterator[Trio]:
    """The trio, as `hack/cluster fleet` starts one. The parts of the page share it."""
    whole_trio.rest()
    whole_trio.restart_manager(**USUAL)
    yield whole_trio
    whole_trio.rest()


def test_it_has_all_parts_and_cleans_up() -> None:
    assert [title[:1] for title in PAGE] == ["1", "2", "3", "4", "5", "6", "A"]


@SELDOM
def test_it_shows_what_is_printed(fleet: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part begins where the one before ends, so all of them are one test: tests are given to several processes."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for command, output in [each for part in PAGE.values() for each in part]:
        there = command
        for name in WORKERS:
            there = there.replace(f"/tmp/fleet/{name}/kubeconfig", str(fleet.plane(name).kubeconfig))  # noqa: S108 - the page's
        result = run(fleet.plane(MANAGER), "bash", "-c", f"set -o pipefail; {there}")
        assert result.stdout == output, command
        assert result.returncode == 0, command
