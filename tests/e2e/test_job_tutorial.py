"""The tutorials about Jobs show what kubectl prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from hack.controlplane import objects
from hack.controlplane.client import ApiError
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import ROOT, run, sessions
from tests.e2e.support import wait_for

PAGES: Final = {
    page: sessions((ROOT / "docs" / f"tutorial-{page}.md").read_text()) for page in ("jobs", "administrator")
}
PARTS: Final = [(page, title) for page, found in PAGES.items() for title in found]


@pytest.fixture(scope="module", autouse=True)
def _node(quota_plane: ControlPlane) -> Iterator[None]:
    """The flavor of the pages has no labels, so its pods run on any node that has no taint."""
    quota_plane.client.create(objects.node("campus-0", cpu="10"))
    wait_for_nodes(quota_plane.client, "campus-0")
    yield
    quota_plane.client.delete("v1", "Node", "campus-0")


def test_they_have_all_parts_and_clean_up() -> None:
    assert [title[:1] for title in PAGES["jobs"]] == ["I", "1", "2", "3", "4", "A"]
    assert [title[:1] for title in PAGES["administrator"]] == ["1", "2", "3", "4", "A"]


@pytest.mark.parametrize(("page", "title"), PARTS)
def test_they_show_what_kubectl_prints(quota_plane: ControlPlane, page: str, title: str) -> None:
    """In this order: each part begins where the one before ends."""
    if title.startswith(("Introduction", "1. Set up")):
        wait_for(lambda: is_gone(quota_plane), what="the namespace of the other page stays")
    for command, output in PAGES[page][title]:
        result = run(quota_plane, "bash", "-c", command)
        assert result.stdout == output, command
        assert result.returncode == 0, command


def is_gone(plane: ControlPlane) -> bool:
    try:
        plane.client.get("v1", "Namespace", "campus")
    except ApiError as error:
        return error.status == 404
    return False
