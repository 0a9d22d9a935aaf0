"""What docs/tutorial-webhooks.md shows is what kubectl prints, on a real API server with the webhooks."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.plane import ControlPlane, Options

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial-webhooks.md").read_text()
SETTINGS: Final = re.compile(r"^```yaml\n(?P<settings>webhooks:\n(?:.*\n)*?)```$", re.MULTILINE)
SECTION: Final = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```console\n(?P<lines>(?:.*\n)*?)```$", re.MULTILINE)


def sessions() -> dict[str, list[tuple[str, str]]]:
    """By section: the commands, each with what it prints."""
    head, *rest = SECTION.split(PAGE)
    sections = {"Introduction": head} | dict(zip(rest[::2], rest[1::2], strict=True))
    shown = {title: "".join(BLOCK.findall(text)) for title, text in sections.items()}
    found: dict[str, list[tuple[str, str]]] = {}
    for title, lines in shown.items():
        for each in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]:
            command, _, output = each.partition("\n")
            found.setdefault(title, []).append((command, output))
    return found


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """With the settings that the page has."""
    match = SETTINGS.search(PAGE)
    assert match is not None
    settings = yaml.safe_load(match["settings"])
    return start_plane(Options(api_only=True, webhooks=True, webhooks_settings=settings))


def test_it_has_the_four_scenarios_and_cleans_up() -> None:
    assert [title[:1] for title in sessions()] == ["I", "1", "2", "3", "4", "A"]


@pytest.mark.parametrize("title", sessions())
def test_it_shows_what_kubectl_prints(plane: ControlPlane, title: str) -> None:
    folder = binaries(["kubectl"])["kubectl"].parent
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig),
        "KUBECACHEDIR": str(plane.directory / "kubectl"),
    }
    for command, output in sessions()[title]:
        result = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.stdout == output, command
        assert (result.returncode != 0) == ("is invalid:" in output)
