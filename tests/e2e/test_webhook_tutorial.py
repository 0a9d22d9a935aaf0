"""kubectl with the webhooks: docs/tutorial-webhooks.md shows what it prints, and examples for Kueue are applied."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.pages import ROOT, run, sessions

PAGE: Final = (ROOT / "docs" / "tutorial-webhooks.md").read_text()
KUEUE: Final = sorted((ROOT / "examples" / "webhooks").glob("kueue-*.yaml"))
SETTINGS: Final = re.compile(r"^```yaml\n(?P<settings>webhooks:\n(?:.*\n)*?)```$", re.MULTILINE)
SESSIONS: Final = sessions(PAGE)


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """With the settings that the page has."""
    match = SETTINGS.search(PAGE)
    assert match is not None
    settings = yaml.safe_load(match["settings"])
    return start_plane(Options(api_only=True, webhooks=True, webhooks_settings=settings))


def test_it_has_the_four_scenarios_and_cleans_up() -> None:
    assert [title[:1] for title in SESSIONS] == ["I", "1", "2", "3", "4", "A"]


def kubectl(plane: ControlPlane, *arguments: str) -> list[str]:
    """The lines that it prints. Fails the test with what it complains of."""
    result = run(plane, "kubectl", *arguments)
    assert result.returncode == 0, result.stdout
    return result.stdout.splitlines()


@pytest.mark.parametrize("title", SESSIONS)
def test_it_shows_what_kubectl_prints(plane: ControlPlane, title: str) -> None:
    for command, output in SESSIONS[title]:
        result = run(plane, "bash", "-c", command)
        assert result.stdout == output, command
        assert (result.returncode != 0) == ("is invalid:" in output)


@pytest.mark.parametrize("file", KUEUE, ids=lambda file: file.stem)
def test_what_is_written_for_kueue_is_applied(plane: ControlPlane, file: Path) -> None:
    """As a whole, then again without a change; nothing is warned of, and nothing is left."""
    bodies = list(yaml.safe_load_all(file.read_text()))
    created = kubectl(plane, "apply", "-f", str(file))
    assert [line.rpartition(" ")[2] for line in created] == ["created"] * len(bodies), created
    again = kubectl(plane, "apply", "-f", str(file))
    assert [line.rpartition(" ")[2] for line in again] == ["unchanged"] * len(bodies), again
    kubectl(plane, "delete", "-f", str(file))
