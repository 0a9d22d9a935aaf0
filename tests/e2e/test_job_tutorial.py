"""docs/tutorial-jobs.md shows what kubectl prints."""

from __future__ import annotations

from typing import Final

import pytest

from hack.controlplane import objects
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import ROOT, run, sessions

SESSIONS: Final = sessions((ROOT / "docs" / "tutorial-jobs.md").read_text())


@pytest.fixture(scope="module", autouse=True)
def _node(quota_plane: ControlPlane) -> None:
    """The flavor of the page has no labels, so its pods run on any node that has no taint."""
    quota_plane.client.create(objects.node("campus-0", cpu="10"))
    wait_for_nodes(quota_plane.client, "campus-0")


def test_it_has_the_four_parts_and_cleans_up() -> None:
    assert [title[:1] for title in SESSIONS] == ["I", "1", "2", "3", "4", "A"]


@pytest.mark.parametrize("title", SESSIONS)
def test_it_shows_what_kubectl_prints(quota_plane: ControlPlane, title: str) -> None:
    """In this order: each part goes on from the one before."""
    for command, output in SESSIONS[title]:
        result = run(quota_plane, "bash", "-c", command)
        assert result.stdout == output, command
        assert result.returncode == 0, command
